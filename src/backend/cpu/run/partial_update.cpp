// The sums of a weight update that was stopped, and an update that continues with them.
#include <cstring>

#include "backend/cpu/library.h"
#include "backend/cpu/run/executable.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain::cpu {

namespace {

/// Gradients of different nodes may have one name.
std::string name_of(std::size_t number, const Buffer& accumulator) {
    return std::to_string(number) + "/" + accumulator.name;
}

}  // namespace

/// Layouts without a name depend on the library, the instruction set and the number of threads only.
std::string CpuExecutable::partial_form() const {
    Digest digest;
    digest.add(library_text());
    digest.add(static_cast<std::uint64_t>(threads_));
    digest.add(static_cast<std::uint64_t>(plan_.lanes));
    digest.add(static_cast<std::uint64_t>(plan_.micro_batches));
    for (const Tensor& output : outputs_.front()) {
        if (output.is_sum()) digest.add(output.name);
    }
    for (const auto& [accumulator, layout] : program_.accumulators()) {
        digest.add(accumulator->name);
        digest.add(accumulator->bytes);
        digest.add(layout);
    }
    return digest.text();
}

void CpuExecutable::load_sums(const backend::PartialUpdate& partial) {
    const auto& accumulators = program_.accumulators();
    CNNTRAIN_CHECK(partial.accumulators.size() == accumulators.size(), "a partial update of another form");
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
        const Buffer& accumulator = *accumulators[i].first;
        const auto found = partial.accumulators.find(name_of(i, accumulator));
        CNNTRAIN_CHECK(found != partial.accumulators.end() && found->second.bytes().size() == accumulator.bytes,
                       "a partial update of another form: " + accumulator.name);
        std::memcpy(accumulator.data, found->second.bytes().data(), accumulator.bytes);
    }
    const std::vector<Tensor>& outputs = outputs_.front();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].is_sum()) continue;
        const auto found = partial.sums.find(outputs[i].name);
        CNNTRAIN_CHECK(found != partial.sums.end(), "a partial update without the sum of " + outputs[i].name);
        values_[i * contexts_.size()] = found->second;  // in the place of the first micro-batch
    }
}

void CpuExecutable::store_accumulators(backend::PartialUpdate& partial) const {
    const auto& accumulators = program_.accumulators();
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
        const Buffer& accumulator = *accumulators[i].first;
        HostTensor tensor({DType::f32, {static_cast<std::int64_t>(accumulator.bytes / sizeof(float))}});
        std::memcpy(tensor.bytes().data(), accumulator.data, accumulator.bytes);
        partial.accumulators.emplace(name_of(i, accumulator), std::move(tensor));
    }
}

}  // namespace cnntrain::cpu
