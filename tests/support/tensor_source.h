// Micro-batches of any fields, from host tensors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/data/batch.h"

namespace cnntrain::test {

/// Hands out the same tensors for ever, unless fill() of a derived class changes them.
class TensorSource : public data::BatchSource {
public:
    explicit TensorSource(std::vector<std::pair<std::string, HostTensor>> tensors) : tensors_(std::move(tensors)) {}

    std::vector<data::Field> fields() const override {
        std::vector<data::Field> fields;
        for (const auto& [name, tensor] : tensors_)
            fields.push_back({name, tensor.desc()});
        return fields;
    }

    data::Batch next() override {
        fill(pulls_);
        spans_.clear();
        for (const auto& [name, tensor] : tensors_)
            spans_.push_back(tensor.bytes());
        data::Batch batch;
        batch.fields = spans_;
        batch.valid_count = valid_count();
        batch.first_sample = pulls_++ * samples();
        return batch;
    }

    std::int64_t pulls() const { return pulls_; }

protected:
    virtual void fill(std::int64_t /*batch*/) {}

    HostTensor& tensor(std::size_t field) { return tensors_.at(field).second; }

private:
    std::int64_t samples() const { return tensors_.empty() ? 0 : tensors_.front().second.shape().at(0); }

    /// Labels below 0 do not count.
    std::int64_t valid_count() const {
        for (const auto& [name, tensor] : tensors_) {
            if (name != "labels" || tensor.shape().size() != 1 || tensor.dtype() != DType::i32) continue;
            return std::ranges::count_if(tensor.as<std::int32_t>(), [](std::int32_t label) { return label >= 0; });
        }
        return samples();
    }

    std::vector<std::pair<std::string, HostTensor>> tensors_;
    std::vector<std::span<const std::byte>> spans_;
    std::int64_t pulls_ = 0;
};

}  // namespace cnntrain::test
