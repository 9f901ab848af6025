#include "cnntrain/base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "base/system_files.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"

namespace cnntrain {
namespace {

struct MappedBytes {
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    std::uint64_t data = 0;  // private and writable
};

std::uint64_t page_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

MappedBytes mapped_bytes() {
    std::ifstream file("/proc/self/statm");  // counts pages
    MappedBytes pages;
    std::uint64_t other = 0;
    file >> pages.all >> pages.resident >> other >> other >> other >> pages.data;
    return {pages.all * page_bytes(), pages.resident * page_bytes(), pages.data * page_bytes()};
}

std::optional<std::uint64_t> limit_of(decltype(RLIMIT_AS) resource) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

std::uint64_t rest(std::uint64_t limit, std::uint64_t used) {
    return limit - std::min(limit, used);
}

/// A whole number at the beginning of the text; empty for other texts, such as "max".
std::optional<std::uint64_t> number_in(const std::string& text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end == text.data()) return std::nullopt;
    return number;
}

/// Sum of the named rows of a file with rows "<name> <number> ..."; 0 for rows that are missing.
std::uint64_t sum_of_rows(const std::string& text, std::initializer_list<std::string_view> names) {
    std::uint64_t sum = 0;
    std::istringstream rows(text);
    for (std::string row; std::getline(rows, row);) {
        std::istringstream words(row);
        std::string name;
        std::uint64_t number = 0;
        if (words >> name >> number && std::ranges::find(names, name) != names.end()) sum += number;
    }
    return sum;
}

/// Version 1 writes "no limit" as the largest multiple of the page size.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

std::uint64_t physical_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
}

/// The memory that the kernel can give without killing a process; swap included.
std::optional<std::uint64_t> available_bytes(const ReadText& read) {
    constexpr std::uint64_t kKilo = 1024;
    const std::string text = read("/proc/meminfo");
    const std::uint64_t memory = sum_of_rows(text, {"MemAvailable:"});
    if (memory == 0) return std::nullopt;
    return kKilo * (memory + sum_of_rows(text, {"SwapFree:"}));
}

void take_smaller(MemoryLeft& left, const MemoryLeft& other) {
    if (other.bytes < left.bytes) left = other;
}

}  // namespace

std::vector<GroupMemory> limited_groups(const ReadText& read) {
    std::vector<GroupMemory> groups;
    for (const auto& [folder, version2] : control_groups(read, "memory")) {
        const std::string file = folder + (version2 ? "/memory.max" : "/memory.limit_in_bytes");
        const std::optional<std::uint64_t> limit = number_in(read(file));
        if (!limit || *limit >= kNoLimit) continue;
        const std::string used = read(folder + (version2 ? "/memory.current" : "/memory.usage_in_bytes"));
        const std::string rows = read(folder + "/memory.stat");
        // Pages of files are dropped before anything is killed.
        const std::uint64_t files = version2 ? sum_of_rows(rows, {"active_file", "inactive_file"})
                                             : sum_of_rows(rows, {"total_active_file", "total_inactive_file"});
        groups.push_back({file, *limit, rest(*limit, rest(number_in(used).value_or(0), files))});
    }
    return groups;
}

std::uint64_t machine_memory_bytes(const ReadText& read) {
    std::uint64_t bytes = physical_bytes();
    for (const GroupMemory& group : limited_groups(read))
        bytes = std::min(bytes, group.limit_bytes);
    return bytes;
}

MemoryLeft memory_left(const ReadText& read) {
    MemoryLeft left{available_bytes(read).value_or(UINT64_MAX), "on this machine", "end other programs"};
    for (const GroupMemory& group : limited_groups(read))
        take_smaller(left, {group.left_bytes, "by " + group.file, "raise that limit of its control group"});
    const MappedBytes mapped = mapped_bytes();
    if (const auto limit = limit_of(RLIMIT_AS))
        take_smaller(left, {rest(*limit, mapped.all), "by ulimit -v", "raise that limit"});
    if (const auto limit = limit_of(RLIMIT_DATA))
        take_smaller(left, {rest(*limit, mapped.data), "by ulimit -d", "raise that limit"});
    return left;
}

std::uint64_t machine_memory_bytes() {
    return machine_memory_bytes(read_small_file);
}

MemoryLeft memory_left() {
    return memory_left(read_small_file);
}

void require_memory(std::uint64_t bytes, std::string_view who) {
    const MemoryLeft left = memory_left();
    if (bytes <= left.bytes) return;
    throw Error(ErrorKind::unsupported, std::string(who) + " needs about " + size_text(bytes) + " more memory, has " +
                                            size_text(left.bytes) + " " + left.limit + "; " + left.remedy +
                                            ", or use a smaller --micro-batch-size or fewer --threads and "
                                            "--input-threads");
}

std::uint64_t resident_bytes() {
    return mapped_bytes().resident;
}

std::uint64_t thread_stack_bytes() {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    if (pthread_getattr_default_np(&attributes) != 0) return 0;
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
}

void require_stack() {
    constexpr std::uint64_t kLeastKib = 512;
    const std::optional<std::uint64_t> limit = limit_of(RLIMIT_STACK);
    if (!limit || *limit / 1024 >= kLeastKib) return;
    throw Error(ErrorKind::unsupported, "stacks are limited to " + std::to_string(*limit / 1024) +
                                            " KiB (ulimit -s), and at least " + std::to_string(kLeastKib) +
                                            " are needed; 'ulimit -s 8192' sets the usual limit");
}

void give_large_memory_back() {
    constexpr int kBytes = 1 << 20;
    mallopt(M_MMAP_THRESHOLD, kBytes);
    // Each arena of a thread reserves 64 MB of addresses, which ulimit -v counts, at a moment that nobody knows before.
    if (limit_of(RLIMIT_AS)) mallopt(M_ARENA_MAX, 1);
}

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
    // A level is at least as fast as the levels after it; other programs may have disturbed its measurement all the
    // time.
    for (std::size_t i = levels.size() - 1; i-- > 0;) {
        MemoryRates& rates = levels[i].rates;
        rates.reading = std::max(rates.reading, levels[i + 1].rates.reading);
        rates.copying = std::max(rates.copying, levels[i + 1].rates.copying);
    }
    return levels;
}

}  // namespace cnntrain
