// Competition for processors: how long this process waits for them, and how much of them others take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cnntrain {

/// Sums that only grow; the differences of two readings describe the time between them.
struct ProcessorTimes {
    double wall_seconds = 0;
    double own_seconds = 0;     // processor time of this process's threads
    double queued_seconds = 0;  // threads of this process were ready to run, but waited for a processor
    double busy_seconds = 0;    // of the processors that this process may use, by all processes
};
/// Now. Times that the system does not tell are 0.
ProcessorTimes processor_times();
/// By the files below `proc`, which stands for /proc.
ProcessorTimes processor_times(const std::string& proc, const std::vector<int>& processors);

/// Memory pages that this process had to read from disk since it started.
std::int64_t page_loads();

/// What happened between two readings.
struct Competition {
    double others = 0;        // processors' worth of time that others took
    double queued_share = 0;  // of the time in which threads of this process could have run
    /// Do others slow this process down noticeably?
    bool is_felt() const;
};
Competition competition(const ProcessorTimes& begin, const ProcessorTimes& end);

}  // namespace cnntrain
