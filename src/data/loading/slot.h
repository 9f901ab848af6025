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
    std::vector<HostTensor> tensors;                 // the filled fields, then the made ones
    std::vector<std::span<std::byte>> filled;        // by the workers
    std::vector<std::span<const std::byte>> source;  // the same, for the transform
    std::vector<std::span<std::byte>> made;          // by the transform
    std::vector<std::span<const std::byte>> fields;  // as delivered
    std::vector<PlannedSample> plan;
    std::chrono::steady_clock::time_point created;  // when it became ready
    std::int64_t claimed = 0;                       // samples that a worker has taken on
    std::int64_t finished = 0;                      // and has done
    std::int64_t left_out = 0;                      // of those
    std::exception_ptr error;  // of the first bad sample, so that the message is the same at any thread count
    std::int64_t error_sample = 0;
};

/// Of a micro-batch as the workers fill it.
std::vector<Field> filled_fields(std::vector<Field> sample, std::int64_t micro_batch);

/// `sample`: the data set's fields.
void allocate(Slot& slot, const std::vector<Field>& sample, const LoaderSettings& settings);

}  // namespace cnntrain::data
