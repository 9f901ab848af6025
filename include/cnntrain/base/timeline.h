// What threads do and when: intervals of time on tracks. Writing an interval allocates nothing and takes no lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cnntrain {

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

    /// How the intervals of a track follow each other.
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
        /// Those that are complete, also while another thread adds some.
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
    /// In the order in which they were added. No track may be added meanwhile.
    const std::deque<Track>& tracks() const { return tracks_; }

    /// Threads add intervals while it is on: asked before work begins.
    bool is_on() const { return on_.load(std::memory_order_relaxed); }
    void set_on(bool on) { on_.store(on, std::memory_order_relaxed); }

private:
    std::mutex mutex_;
    std::deque<Track> tracks_;
    std::atomic<bool> on_ = false;
};

}  // namespace cnntrain
