// Loops over indexes on several threads.
#pragma once

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>

namespace cnntrain::data {

/// Calls work(0) ... work(count - 1) in any order, on at most so many threads. `partitioner`: one of TBB's, or none.
template <typename Work> void for_each_index(int threads, std::size_t count, const Work& work, auto... partitioner) {
    tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, work, partitioner...); });
}

}  // namespace cnntrain::data
