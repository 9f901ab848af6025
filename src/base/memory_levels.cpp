#include "cnntrain/base/memory_levels.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <thread>

#include "cnntrain/base/caches.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/least_seconds.h"

namespace cnntrain {

namespace {

/// Threads that start and end a piece of work together, within about a microsecond: they wait without sleeping.
class Team {
public:
    explicit Team(int size) : size_(size) {
        try {
            for (int thread = 1; thread < size; ++thread)
                helpers_.emplace_back([this, thread] { help(thread); });
        } catch (...) {
            end();  // a thread that was not joined would end the process
            throw;
        }
    }
    ~Team() { end(); }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const { return size_; }

    /// Calls work(thread) on every thread.
    void run(const std::function<void(int)>& work) {
        work_ = &work;
        busy_ = size_ - 1;
        ++round_;
        work(0);
        while (busy_ > 0)
            std::this_thread::yield();
    }

private:
    void end() {
        work_ = nullptr;
        ++round_;
        for (std::thread& helper : helpers_)
            helper.join();
    }
    void help(int thread) {
        for (std::int64_t round = 1;; ++round) {
            while (round_ < round)
                std::this_thread::yield();
            if (work_ == nullptr) return;
            (*work_)(thread);
            --busy_;
        }
    }

    int size_;
    const std::function<void(int)>* work_ = nullptr;  // of this round; null: the end
    std::atomic<std::int64_t> round_ = 0;
    std::atomic<int> busy_ = 0;  // helpers
    std::vector<std::thread> helpers_;
};

/// Memory that the threads read and copy in turn, each its own part, piece by piece.
class Pieces {
public:
    Pieces(Team& team, double bytes) : team_(team) {
        const std::int64_t each = static_cast<std::int64_t>(bytes) / team.size();
        pieces_ = std::max<std::int64_t>(1, each / kMostBytes);
        bytes_ = std::max<std::int64_t>(kPage, std::min(kMostBytes, each) / kPage * kPage);
        in_a_call_ = std::max<std::int64_t>(1, kCallBytes / bytes_);
        memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(team.size() * pieces_ * bytes_));
        for (std::int64_t call = 0; call * in_a_call_ < pieces_; ++call)
            in_turn(call, [](std::byte* piece, std::size_t size) { std::memset(piece, 0, size); });
    }

    /// Reads for `seconds`, and copies for as long.
    MemoryRates rates(double seconds) {
        const auto bytes = static_cast<double>(team_.size() * in_a_call_ * bytes_);
        std::atomic<bool> found = false;
        const double reading = least_seconds(seconds, [&](int call) {
            // The C library searches as fast as memory can be read. All bytes are 0.
            in_turn(call, [&](std::byte* piece, std::size_t size) {
                if (std::memchr(piece, 1, size) != nullptr) found = true;
            });
        });
        CNNTRAIN_CHECK(!found, "a byte that nobody has written");
        const double copying = least_seconds(seconds, [&](int call) {
            in_turn(call, [](std::byte* piece, std::size_t size) { std::memcpy(piece, piece + size / 2, size / 2); });
        });
        return {bytes / reading, bytes / copying};
    }

private:
    static constexpr std::int64_t kPage = 4096;
    static constexpr std::int64_t kMostBytes = std::int64_t{256} << 10;
    static constexpr std::int64_t kCallBytes = std::int64_t{2} << 20;  // of a thread

    template <typename Work> void in_turn(std::int64_t call, const Work& work) {
        team_.run([&](int thread) {
            for (std::int64_t i = 0; i < in_a_call_; ++i) {
                const std::int64_t piece = thread * pieces_ + (call * in_a_call_ + i) % pieces_;
                work(memory_.get() + piece * bytes_, static_cast<std::size_t>(bytes_));
            }
        });
    }

    Team& team_;
    std::int64_t pieces_ = 1;  // of a thread
    std::int64_t bytes_ = 0;   // of a piece
    std::int64_t in_a_call_ = 1;
    std::unique_ptr<std::byte[]> memory_;
};

constexpr double kSeconds = 0.02;

/// `cached`: bytes that caches hold.
MemoryRates rates_of_memory(Team& team, double cached) {
    constexpr double kLeastBytes = 64e6;
    constexpr double kMostBytes = 256e6;
    return Pieces(team, std::clamp(2 * cached, kLeastBytes, kMostBytes)).rates(2 * kSeconds);
}

}  // namespace

MemoryRates measured_memory(int threads) {
    Team team(threads);
    const std::vector<CacheLevel> caches = data_caches();
    return rates_of_memory(team, caches.empty() ? 0 : static_cast<double>(caches.back().bytes_of(threads)));
}

/// A level is measured with less than it holds, but with more than the levels before it.
std::vector<MemoryLevel> measured_memory_levels(int threads) {
    Team team(threads);
    std::vector<MemoryLevel> levels;
    double before = 0;
    for (const CacheLevel& cache : data_caches()) {
        const auto bytes = static_cast<double>(cache.bytes_of(threads));
        const double measured = before == 0 ? bytes / 2 : std::max(bytes / 4, 2 * before);
        if (cache.level < 2 || measured > bytes) continue;
        levels.push_back({"L" + std::to_string(cache.level), bytes, Pieces(team, measured).rates(kSeconds)});
        before = bytes;
    }
    levels.push_back({"memory", std::numeric_limits<double>::infinity(), rates_of_memory(team, before)});
    // A level is at least as fast as those behind it; other programs may have disturbed its measurement all the time.
    for (std::size_t i = levels.size() - 1; i-- > 0;) {
        MemoryRates& rates = levels[i].rates;
        rates.reading = std::max(rates.reading, levels[i + 1].rates.reading);
        rates.copying = std::max(rates.copying, levels[i + 1].rates.copying);
    }
    return levels;
}

}  // namespace cnntrain
