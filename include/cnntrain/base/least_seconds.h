// The least time of a piece of work, as a yardstick for the machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

#include "cnntrain/base/elapsed.h"

namespace cnntrain {

/// Processor time of this thread.
inline double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Least seconds of a call of `work`(number), which is called until this thread has computed for `seconds`. Each call
/// should be shorter than the time slices that the system gives to processes: other programs then disturb only some of
/// them.
template <typename Work> double least_seconds(double seconds, const Work& work) {
    using Clock = std::chrono::steady_clock;
    constexpr int kLeastCalls = 10;
    constexpr double kMostWaiting = 10;  // times `seconds`, on the wall's clock
    double least = std::numeric_limits<double>::infinity();
    const Clock::time_point begin = Clock::now();
    const double own_begin = thread_seconds();
    const auto goes_on = [&] {
        return thread_seconds() - own_begin < seconds && seconds_since(begin) < kMostWaiting * seconds;
    };
    for (int i = 0; i < kLeastCalls || goes_on(); ++i) {
        const Clock::time_point start = Clock::now();
        work(i);
        least = std::min(least, seconds_since(start));
    }
    return least;
}

}  // namespace cnntrain
