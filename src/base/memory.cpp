#include "cnntrain/base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/memory_files.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/size_text.h"

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

/// What the kernel can give without killing a process; swap included.
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

}  // namespace cnntrain
