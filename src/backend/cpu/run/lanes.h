// Groups of cores that work side by side, and how they wait for each other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace cnntrain::cpu {

/// While it lives, this thread's parallel regions have so many threads, and primitives are made for as many.
class Threads {
public:
    explicit Threads(int count);
    ~Threads();
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

private:
    int before_;
};

/// Prepares the threads of this thread's parallel regions for computing: denormal numbers are zero, because they carry
/// nothing here and are very slow.
void prepare_team();

/// `threads` shared out over `lanes`, at least one to each; the first ones get what is over.
std::vector<int> threads_of_lanes(int threads, std::int32_t lanes);

/// Each lane is a thread with a team of its own, which lives as long as the object. A single lane is the caller itself.
class Lanes {
public:
    /// By lane, how many threads its team has.
    explicit Lanes(std::vector<int> threads);
    ~Lanes();
    Lanes(const Lanes&) = delete;
    Lanes& operator=(const Lanes&) = delete;

    std::int32_t count() const { return static_cast<std::int32_t>(threads_.size()); }
    int threads(std::int32_t lane) const { return threads_[static_cast<std::size_t>(lane)]; }
    /// Runs task(lane) on all lanes; returns when each of them has ended. A task must not throw.
    void run(const std::function<void(std::int32_t)>& task);

private:
    void work(std::int32_t lane);

    std::vector<int> threads_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable ended_;
    const std::function<void(std::int32_t)>* task_ = nullptr;
    std::int64_t round_ = 0;    // number of run()s
    std::int32_t working_ = 0;  // lanes that have not ended the round
    bool leaving_ = false;
    std::vector<std::thread> workers_;
};

/// Counts of finished pieces of work, by number, that other lanes wait for.
class Progress {
public:
    explicit Progress(std::size_t size) : finished_(size) {}

    /// Sets all counts. Only while nobody waits.
    void reset(std::int64_t count = 0);
    /// One more of this number; of each number, only one lane says so at a time.
    void finish(std::size_t number);
    /// Returns when `count` of this number are finished; false when the work was stopped before.
    [[nodiscard]] bool wait_for(std::size_t number, std::int64_t count);
    /// Nobody waits any more.
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

/// Thrown inside a lane whose work was stopped; nobody is told.
struct LaneStopped {};

}  // namespace cnntrain::cpu
