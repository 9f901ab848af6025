// Elapsed time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cnntrain {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The least time of a piece of work, as a yardstick for the machine.

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

// Records what threads do and when, as intervals of time on tracks. Writing an interval allocates nothing and takes no
// lock.

class Timeline {
public:
    using Clock = std::chrono::steady_clock;

    /// A kind of work on a track.
    struct Label {
        std::string title;          // "conv2d"
        std::string detail = {};    // "all/stage1/unit1/conv1"; empty: the title says all
        std::string category = {};  // "forward"
    };

    struct Interval {
        Clock::time_point begin = {};
        Clock::time_point end = {};
        std::int32_t label = 0;   // index in Track::labels()
        std::int64_t number = 0;  // of the micro-batch or bucket
    };

    /// Order of the intervals of a track.
    enum class Order : std::uint8_t {
        one_by_one,   // of one thread
        overlapping,  // of operations that are pending together
    };

    /// The intervals of one thread, or of operations that one thread at a time starts.
    class Track {
    public:
        Track(std::string name, std::vector<Label> labels, Order order, std::size_t capacity)
            : name_(std::move(name)), labels_(std::move(labels)), order_(order), intervals_(capacity) {}

        /// One thread at a time. Intervals beyond the capacity are counted, not kept.
        void add(std::int32_t label, Clock::time_point begin, Clock::time_point end, std::int64_t number = 0) noexcept {
            const std::size_t size = size_.load(std::memory_order_relaxed);
            if (size == intervals_.size()) {
                lost_.fetch_add(1, std::memory_order_relaxed);
                return;
            }
            intervals_[size] = {begin, end, label, number};
            size_.store(size + 1, std::memory_order_release);
        }

        const std::string& name() const { return name_; }
        const std::vector<Label>& labels() const { return labels_; }
        Order order() const { return order_; }
        /// The complete intervals, also while another thread adds some.
        std::span<const Interval> intervals() const {
            return std::span(intervals_).first(size_.load(std::memory_order_acquire));
        }
        std::int64_t lost() const { return lost_.load(std::memory_order_relaxed); }

    private:
        std::string name_;
        std::vector<Label> labels_;
        Order order_;
        std::vector<Interval> intervals_;
        std::atomic<std::size_t> size_ = 0;
        std::atomic<std::int64_t> lost_ = 0;
    };

    static constexpr std::size_t kCapacity = std::size_t{1} << 16;

    /// Thread-safe; the track lives as long as the timeline.
    Track& add_track(std::string name, std::vector<Label> labels, Order order = Order::one_by_one,
                     std::size_t capacity = kCapacity) {
        const std::lock_guard lock(mutex_);
        return tracks_.emplace_back(std::move(name), std::move(labels), order, capacity);
    }
    /// Tracks in the order in which they were added. No track may be added meanwhile.
    const std::deque<Track>& tracks() const { return tracks_; }

    /// Threads add intervals while it is on: asked before work begins.
    bool is_on() const { return on_.load(std::memory_order_relaxed); }
    void set_on(bool on) { on_.store(on, std::memory_order_relaxed); }

private:
    std::mutex mutex_;
    std::deque<Track> tracks_;
    std::atomic<bool> on_ = false;
};

// Competition for processors: how long this process waits for them, and how much of them others take.

/// Sums that only grow; the differences of two readings describe the time between them.
struct ProcessorTimes {
    double wall_seconds = 0;
    double own_seconds = 0;     // processor time of this process's threads
    double queued_seconds = 0;  // threads of this process were ready to run, but waited for a processor
    double busy_seconds = 0;    // of the processors that this process may use, by all processes
};
/// Reads the times now. Times that the system does not report are 0.
ProcessorTimes processor_times();
/// Reads the files below `proc`, which stands for /proc.
ProcessorTimes processor_times(const std::string& proc, const std::vector<int>& processors);

/// Memory pages that this process had to read from disk since it started.
std::int64_t page_loads();

/// Competition for the processors between two readings.
struct Competition {
    double others = 0;        // processors' worth of time that others took
    double queued_share = 0;  // of the time in which threads of this process could have run
    /// True if others slow this process down noticeably.
    bool is_felt() const;
    /// Processors that others leave, at least 1. They may take a third of one, which a thread hardly notices.
    int room(int processors) const;
};
Competition competition(const ProcessorTimes& begin, const ProcessorTimes& end);

}  // namespace cnntrain
