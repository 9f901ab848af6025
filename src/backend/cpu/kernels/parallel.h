// Distributes kernels over the OpenMP threads. This file is plain C++: code inside an OpenMP region does not reliably
// get the instruction set of the surrounding function, so vector code is only called from here, never written here.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

/// Second sweeps over the same data run backward, to start with data that is still in the caches.
enum class Order : std::uint8_t { forward, backward };

/// Calls task(0) ... task(count - 1); each thread gets one contiguous range.
template <typename Task> void parallel_tasks(std::int64_t count, const Task& task, Order order = Order::forward) {
    if (count <= 1 || omp_get_max_threads() == 1) {
        for (std::int64_t i = 0; i < count; ++i)
            task(order == Order::forward ? i : count - 1 - i);
        return;
    }
#pragma omp parallel
    {
        const std::int64_t threads = omp_get_num_threads();
        const std::int64_t thread = omp_get_thread_num();
        const std::int64_t begin = count * thread / threads;
        const std::int64_t end = count * (thread + 1) / threads;
        for (std::int64_t i = begin; i < end; ++i)
            task(order == Order::forward ? i : end - 1 - (i - begin));
    }
}

/// A pointer into a part of an array; null stays null.
template <typename T> T* shifted(T* pointer, std::int64_t by) {
    return pointer == nullptr ? nullptr : pointer + by;
}

/// Calls body(begin, end) for ranges of `grain` in 0..count; multiples of `grain` keep vectors aligned.
template <typename Body> void parallel_ranges(std::int64_t count, const Body& body, std::int64_t grain = 1 << 15) {
    parallel_tasks(ceil_div(count, grain), [&](std::int64_t i) { body(i * grain, std::min(count, (i + 1) * grain)); });
}

/// True if streaming stores are faster for `bytes` written by all threads. They write whole lines without reading them
/// first. They pay off if a core's second-level cache could not hold its share until it is read.
inline bool goes_past_cache(std::int64_t bytes, const void* to) {
    constexpr std::int64_t kMostCachedBytes = std::int64_t{512} << 10;
    constexpr std::uintptr_t kLine = 64;
    return bytes > kMostCachedBytes * omp_get_max_threads() && reinterpret_cast<std::uintptr_t>(to) % kLine == 0;
}

/// True if an output that is written once is so large that it does not stay in a cache until it is read. An ordinary
/// store would first read the line. With streaming stores, copies of 51 MB took about half the time, copies of 1 MB
/// more time.
inline bool exceeds_caches(std::int64_t bytes, const void* to) {
    constexpr std::int64_t kPastCacheBytes = std::int64_t{12} << 20;
    return bytes >= kPastCacheBytes && goes_past_cache(bytes, to);
}

/// Rows of adjacent memory with the same channels (and the same sample, where required).
struct RowRange {
    std::int64_t sample = 0;
    std::int64_t channel = 0;  // of the first lane
    std::int64_t offset = 0;   // in elements
    std::int64_t rows = 0;
};

/// Calls body(RowRange) for the whole tensor, in ranges of at most about 32k elements.
template <typename Body>
void parallel_rows(const Blocks& shape, bool per_sample, const Body& body, Order order = Order::forward) {
    const bool one_slab = shape.is_one_slab() && !per_sample;
    const std::int64_t rows = shape.rows();
    const std::int64_t slab = one_slab ? std::max<std::int64_t>(rows, 1) : shape.pixels;
    const std::int64_t grain = std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, shape.lanes));
    parallel_tasks(
        ceil_div(rows, grain),
        [&](std::int64_t task) {
            const std::int64_t end = std::min(rows, (task + 1) * grain);
            for (std::int64_t row = task * grain; row < end;) {
                const std::int64_t stop = std::min(end, (row / slab + 1) * slab);
                const std::int64_t index = one_slab ? 0 : row / slab;
                const std::int64_t sample = index / shape.blocks;
                const std::int64_t block = index % shape.blocks;
                const std::int64_t offset = shape.offset(sample, block, row - index * slab);
                body(RowRange{sample, block * shape.lanes, offset, stop - row});
                row = stop;
            }
        },
        order);
}

/// Division of a sum over the rows of each channel; depends on the shape only.
struct ReductionPlan {
    std::int64_t results = 0;  // 1, or n if every sample has its own sums
    std::int64_t rows = 0;     // per channel and result
    std::int64_t group = 0;    // number of adjacent blocks that one task sums
    std::int64_t groups = 0;
    std::int64_t parts = 0;   // into which the rows are divided, so small that float sums of a part stay exact enough
    std::int64_t chunks = 0;  // of adjacent parts, each one task for a group

    std::int64_t tasks() const { return results * chunks * groups; }
};
ReductionPlan plan_reduction(const Blocks& shape, bool per_sample);
/// Scratch for the statistics and gradient sums, without the scratch of complete norm operations.
std::int64_t reduction_scratch_floats(const Blocks& shape, bool per_sample);

/// Calls begin(part, first_channel, channels) for each part, then body(part, RowRange) for its rows. `part` numbers
/// results and parts together: 0 .. results * parts - 1. No two tasks have the same channels of the same part.
/// `by_sample`: all rows of a call belong to one sample.
template <typename Begin, typename Body> void parallel_reduction(const Blocks& shape, const ReductionPlan& plan,
                                                                 const Begin& begin, const Body& body,
                                                                 bool by_sample = false) {
    const auto reduce_part = [&](std::int64_t result, std::int64_t part, std::int64_t first_block) {
        const std::int64_t last_block = std::min(shape.blocks, first_block + plan.group);
        const std::int64_t number = result * plan.parts + part;
        begin(number, first_block * shape.lanes, (last_block - first_block) * shape.lanes);
        const std::int64_t end = plan.rows * (part + 1) / plan.parts;
        std::int64_t row = plan.rows * part / plan.parts;
        if (shape.is_one_slab() && !by_sample) {
            body(number, RowRange{result, 0, (result * plan.rows + row) * shape.lanes, end - row});
            return;
        }
        while (row < end) {
            const std::int64_t sample = result + row / shape.pixels;
            const std::int64_t pixel = row % shape.pixels;
            const std::int64_t rows = std::min(end - row, shape.pixels - pixel);
            for (std::int64_t block = first_block; block < last_block; ++block) {
                body(number, RowRange{sample, block * shape.lanes, shape.offset(sample, block, pixel), rows});
            }
            row += rows;
        }
    };
    parallel_tasks(plan.tasks(), [&](std::int64_t task) {
        const std::int64_t chunk = task / plan.groups % plan.chunks;
        const std::int64_t result = task / plan.groups / plan.chunks;
        const std::int64_t first_block = task % plan.groups * plan.group;
        const std::int64_t last = plan.parts * (chunk + 1) / plan.chunks;
        for (std::int64_t part = plan.parts * chunk / plan.chunks; part < last; ++part)
            reduce_part(result, part, first_block);
    });
}

}  // namespace cnntrain::cpu
