// Work in independent tasks on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace cnntrain::train {

/// Calls work(task) for each of 0..tasks-1, on this thread and others. `work` must not throw, and a task's result must
/// not depend on which thread does it.
template <typename Work> void for_each_task(std::int64_t tasks, int threads, const Work& work) {
    std::atomic<std::int64_t> next{0};
    const auto take_tasks = [&] {
        for (std::int64_t task = next++; task < tasks; task = next++)
            work(task);
    };
    std::vector<std::jthread> others;
    for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, tasks); ++i)
        others.emplace_back(take_tasks);
    take_tasks();
}

}  // namespace cnntrain::train
