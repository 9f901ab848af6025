#include "cnntrain/data/labelled_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/image_fields.h"
#include "data/sets/labelled_tokens.h"

namespace cnntrain::data {

LabelledText::LabelledText(std::shared_ptr<const LabelledTokens> tokens, std::vector<std::uint32_t> rows)
    : tokens_(std::move(tokens)), rows_(std::move(rows)) {}

const std::vector<std::string>& LabelledText::classes() const {
    return tokens_->classes;
}

std::int64_t LabelledText::truncated() const {
    return tokens_->truncated;
}

std::int64_t LabelledText::with_special_tokens() const {
    return tokens_->with_special_tokens;
}

std::string LabelledText::text(std::int64_t index) const {
    return tokens_->texts.empty() ? "" : tokens_->texts.at(rows_.at(static_cast<std::size_t>(index)));
}

std::vector<Field> LabelledText::fields() const {
    const TensorDesc tokens{DType::i32, {tokens_->length}};
    return {{"input_ids", tokens},
            {"segment_ids", tokens},
            {"input_mask", tokens},
            {std::string(kLabels), {DType::i32, {}}}};
}

SampleState LabelledText::read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const {
    tokens_->store(rows_[static_cast<std::size_t>(index)], out);
    return SampleState::counted;
}

void LabelledText::pad(SampleView out) const {
    store_empty_text(out);
}

std::uint64_t LabelledText::memory_bytes() const {
    return rows_.capacity() * sizeof rows_[0] + tokens_->memory_bytes();
}

Origin LabelledText::origin() const {
    return {.samples = size(), .parts = tokens_->parts};
}

std::string LabelledText::describe(std::int64_t index) const {
    return tokens_->parts.front().name + ", row " + std::to_string(row(index));
}

LabelledParts LabelledText::parts(double validation_share, std::uint64_t seed) const {
    if (!(validation_share > 0 && validation_share < 1)) {
        throw Error(ErrorKind::usage, "the share of samples for validation is " + std::to_string(validation_share) +
                                          ", not between 0 and 1");
    }
    std::vector<std::vector<std::uint32_t>> of_class(classes().size());
    for (const std::uint32_t row : rows_) {
        if (tokens_->labels[row] >= 0) of_class[static_cast<std::size_t>(tokens_->labels[row])].push_back(row);
    }
    // A separate key, because the loader shuffles with the seed itself.
    const std::uint64_t key = seed ^ hash_text("samples for validation");
    std::vector<std::uint32_t> training;
    std::vector<std::uint32_t> validation;
    double due = 0;  // fraction of a sample carried over from rounding
    for (std::size_t number = 0; number < of_class.size(); ++number) {
        const std::vector<std::uint32_t>& rows = of_class[number];
        if (rows.empty()) continue;
        const auto count = static_cast<std::uint32_t>(rows.size());
        const std::vector<std::uint32_t> order = shuffled_order(key, static_cast<std::uint32_t>(number), count);
        due += validation_share * count;
        const auto taken = static_cast<std::uint32_t>(std::clamp(std::round(due), 0.0, count - 1.0));
        due = std::min(due - taken, 0.5);
        for (std::uint32_t i = 0; i < count; ++i)
            (i < taken ? validation : training).push_back(rows[order[i]]);
    }
    if (training.empty() || validation.empty()) {
        throw Error(ErrorKind::data, formatted("%g %% of ", 100 * validation_share) + std::to_string(size()) +
                                         " samples leaves none for " + (training.empty() ? "training" : "validation") +
                                         "; give a --validation-file, or a " +
                                         (training.empty() ? "smaller" : "larger") + " --validation-fraction");
    }
    std::ranges::sort(training);
    std::ranges::sort(validation);
    return {std::make_shared<LabelledText>(tokens_, std::move(training)),
            std::make_shared<LabelledText>(tokens_, std::move(validation))};
}

std::shared_ptr<const LabelledText> open_labelled_text(const LabelledTextSettings& settings, int threads,
                                                       const std::vector<std::string>& classes,
                                                       const FileSystem& files) {
    auto tokens = std::make_shared<LabelledTokens>(read_labelled_tokens(settings, threads, classes, files));
    std::vector<std::uint32_t> rows(tokens->labels.size());
    std::iota(rows.begin(), rows.end(), 0U);
    return std::make_shared<LabelledText>(std::move(tokens), std::move(rows));
}

}  // namespace cnntrain::data
