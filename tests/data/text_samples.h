// One sample of labelled texts, read from the data set.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

struct TextSample {
    std::vector<std::int32_t> ids, segments, mask;
    std::vector<std::int32_t> labels;  // the bits of a score
    std::optional<float> weight;       // of a score

    float score() const { return std::bit_cast<float>(labels.at(0)); }

    /// The tokens before the padding; all after them is zero.
    std::vector<std::int32_t> tokens() const {
        const auto used = static_cast<std::size_t>(std::accumulate(mask.begin(), mask.end(), 0));
        for (std::size_t i = 0; i < ids.size(); ++i) {
            EXPECT_EQ(mask[i], i < used ? 1 : 0);
            EXPECT_TRUE(i < used || (ids[i] == 0 && segments[i] == 0));
        }
        return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(used)};
    }
};

inline TextSample filled_text(const Dataset& data, const std::function<void(SampleView)>& fill) {
    TextSample sample;
    float weight = -9;
    std::vector<std::vector<std::int32_t>*> fields = {&sample.ids, &sample.segments, &sample.mask, &sample.labels};
    std::vector<std::span<std::byte>> views;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        fields[i]->assign(static_cast<std::size_t>(data.fields()[i].desc.elements()), -9);
        views.push_back(std::as_writable_bytes(std::span(*fields[i])));
    }
    if (data.fields().size() > fields.size()) views.push_back(std::as_writable_bytes(std::span(&weight, 1)));
    fill(views);
    if (views.size() > fields.size()) sample.weight = weight;
    return sample;
}

inline TextSample text_sample(const Dataset& data, std::int64_t index) {
    return filled_text(data, [&](SampleView view) {
        Workspace workspace;
        EXPECT_EQ(data.read(index, {}, view, workspace), SampleState::counted);
    });
}

}  // namespace cnntrain::data
