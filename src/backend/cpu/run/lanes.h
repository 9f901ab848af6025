// Groups of threads that work in parallel, how they wait for each other, and how they give way to other programs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "cnntrain/base/elapsed.h"

namespace cnntrain::cpu {

/// Sets the number of threads of this thread's parallel regions, and of primitives created from now on, at most
/// OMP_THREAD_LIMIT. A primitive that runs with fewer threads than it was created for may wait for the others without
/// end, so OpenMP must not choose the number (OMP_DYNAMIC) either.
void set_threads(int count);

/// Sets the number of threads of this thread's parallel regions, and of primitives created meanwhile, for its lifetime.
class Threads {
public:
    explicit Threads(int count);
    ~Threads();
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

private:
    int before_;
};

/// Prepares the threads of this thread's parallel regions for computing: denormal numbers become zero, because they are
/// very slow and do not matter here.
void prepare_team();

/// `threads` divided over `lanes`, at least one each; the first lanes get the remainder.
std::vector<int> threads_of_lanes(int threads, std::int32_t lanes);

/// An environment variable. "off": all threads work, whatever other programs do. "4,3,1": so many work in turn, by
/// which tests force changes. Other values change nothing.
inline constexpr const char* kShareVariable = "CNNTRAIN_SHARE_PROCESSORS";

/// The threads of a team that work while other programs take processors. A team is as slow as its slowest thread, so a
/// team that shares a processor is slower than one without that processor.
class WorkingThreads {
public:
    /// `all`: size of the team. `processors`: that this process may use. `forced`: that work in turn, instead of those
    /// for which there is room.
    WorkingThreads(int all, int processors, std::vector<int> forced = {})
        : all_(all), processors_(processors), working_(all), forced_(std::move(forced)) {}

    /// Reads the system's counters, at most five times a second, and returns the threads that should work now.
    int now();
    /// The threads that should work after a window of time with this competition.
    int after(const Competition& found);

private:
    int all_, processors_, working_;
    std::vector<int> forced_;
    std::size_t next_ = 0;  // of `forced`
    bool rises_ = false;    // the last window, too, had room for more threads
    std::optional<ProcessorTimes> since_;
    std::chrono::steady_clock::time_point read_;
};

/// Each lane is a thread with its own team and lives as long as the object. A single lane is the caller's thread.
class Lanes {
public:
    /// `threads`: size of each lane's team.
    explicit Lanes(std::vector<int> threads);
    ~Lanes();
    Lanes(const Lanes&) = delete;
    Lanes& operator=(const Lanes&) = delete;

    std::int32_t count() const { return static_cast<std::int32_t>(threads_.size()); }
    int threads(std::int32_t lane) const { return threads_[static_cast<std::size_t>(lane)]; }
    /// Lets fewer threads of a single lane's team work, or all of them again.
    void set_working(int threads) { threads_.at(0) = threads; }
    /// Runs task(lane) on all lanes and waits for them. A task must not throw.
    void run(const std::function<void(std::int32_t)>& task);

private:
    void work(std::int32_t lane);
    void end();

    std::vector<int> threads_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable ended_;
    const std::function<void(std::int32_t)>* task_ = nullptr;
    std::int64_t round_ = 0;    // number of run()s
    std::int32_t working_ = 0;  // lanes that have not finished the round
    bool leaving_ = false;
    std::vector<std::thread> workers_;
};

/// Counts of finished pieces of work, for which other lanes wait.
class Progress {
public:
    explicit Progress(std::size_t size) : finished_(size) {}

    /// Sets all counts. No lane may wait meanwhile.
    void reset(std::int64_t count = 0);
    /// Increments a count; one lane at a time per count.
    void finish(std::size_t number);
    /// Waits until the count has this value. False if the work was stopped before.
    [[nodiscard]] bool wait_for(std::size_t number, std::int64_t count);
    /// Ends all waits.
    void stop();
    bool stopped() const { return stopped_.load(std::memory_order_acquire); }

private:
    bool is_finished(std::size_t number, std::int64_t count) const {
        return finished_[number].load(std::memory_order_acquire) >= count;
    }

    std::vector<std::atomic<std::int64_t>> finished_;
    std::atomic<bool> stopped_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
};

/// Thrown inside a lane whose work was stopped; not reported.
struct LaneStopped {};

}  // namespace cnntrain::cpu
