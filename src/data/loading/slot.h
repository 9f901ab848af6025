// The memory of one micro-batch in a loader's ring.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/data/loader.h"
#include "data/loading/batch_planner.h"

namespace cnntrain::data {

enum class SlotState { free, filling, ready, leased };

struct Slot {
    SlotState state = SlotState::free;
    std::int64_t batch = -1;                         // number in the stream
    std::vector<HostTensor> tensors;                 // the filled fields, then the transform's
    std::vector<std::span<std::byte>> filled;        // written by the workers
    std::vector<std::span<const std::byte>> source;  // the same memory as `filled`, read by the transform
    std::vector<std::span<std::byte>> made;          // written by the transform
    std::vector<std::span<const std::byte>> fields;  // as delivered
    std::vector<PlannedSample> plan;
    std::chrono::steady_clock::time_point created;  // time at which it became ready
    std::int64_t claimed = 0;                       // samples claimed by workers
    std::int64_t finished = 0;                      // samples finished
    std::int64_t left_out = 0;                      // finished samples that were left out
    std::exception_ptr error;                       // of the first bad sample in batch order, for any thread count
    std::int64_t error_sample = 0;
};

/// Fields of a micro-batch as filled by the workers.
std::vector<Field> filled_fields(std::vector<Field> sample, std::int64_t micro_batch);

/// `sample`: the data set's fields.
void allocate(Slot& slot, const std::vector<Field>& sample, const LoaderSettings& settings);

}  // namespace cnntrain::data
