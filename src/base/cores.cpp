#include "cnntrain/base/processor.h"

#include <sched.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/core_files.h"
#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

std::optional<double> ratio(const std::string& quota_and_period) {
    std::istringstream text(quota_and_period);
    double quota = 0;
    double period = 0;
    if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;  // "max" or -1: no limit
    return quota / period;
}

std::optional<double> group_quota(const ReadText& read, const ControlGroup& group) {
    if (group.version2) return ratio(read(group.folder + "/cpu.max"));
    return ratio(read(group.folder + "/cpu.cfs_quota_us") + " " + read(group.folder + "/cpu.cfs_period_us"));
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
}

}  // namespace

std::vector<int> allowed_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> processors;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int i = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &set)) processors.push_back(i);
        }
        return processors;
    }
    processors.resize(std::thread::hardware_concurrency());
    std::iota(processors.begin(), processors.end(), 0);
    return processors;
}

std::optional<double> cpu_quota(const ReadText& read) {
    std::optional<double> quota;
    for (const ControlGroup& group : control_groups(read, "cpu"))
        quota = smaller(quota, group_quota(read, group));
    return quota;
}

int cores_of(const std::vector<int>& processors, const ReadText& read) {
    std::set<std::string> cores;
    for (const int number : processors) {
        const std::string text = std::to_string(number);
        const std::string siblings = read("/sys/devices/system/cpu/cpu" + text + "/topology/thread_siblings_list");
        cores.insert(siblings.empty() ? "only " + text : siblings);
    }
    return static_cast<int>(cores.size());
}

CoreCount count_of(const std::vector<int>& processors, int sharers, const ReadText& read) {
    std::optional<double> quota = cpu_quota(read);
    if (quota) *quota /= sharers;
    return {static_cast<int>(processors.size()), cores_of(processors, read), quota};
}

CoreCount count_cores() {
    const TakenShare& share = taken_share();
    if (!share.counted) return count_of(allowed_processors(), share.sharers, read_small_file);
    std::vector<int> processors;
    for (const ProcessorPlace& place : *share.counted)
        processors.push_back(place.number);
    return count_of(processors, share.sharers, read_small_file);
}

std::string to_string(const CoreCount& count) {
    std::ostringstream text;
    text << count.cores << (count.cores == 1 ? " core" : " cores");
    if (count.processors > count.cores) text << " with " << count.processors << " hyper-threads";
    if (count.quota) text << ", a quota of " << *count.quota << " processors";
    return text.str();
}

int within_quota(int count, const std::optional<double>& quota) {
    // Rounded down: a throttled thread would keep all others waiting at the next barrier.
    const int granted = quota ? static_cast<int>(std::floor(std::min<double>(*quota, count))) : count;
    return std::max(granted, 1);
}

int available_cores() {
    const CoreCount count = count_cores();
    return within_quota(count.cores, count.quota);
}

int available_processors() {
    const CoreCount count = count_cores();
    return within_quota(count.processors, count.quota);
}

int most_threads() {
    constexpr int kOnAnyMachine = 64;
    constexpr int kPerProcessor = 4;
    return std::max(kOnAnyMachine, kPerProcessor * available_processors());
}

CoreBudget plan_cores(int cores, int processors, int compute_threads, int input_threads) {
    CNNTRAIN_CHECK(cores >= 1 && processors >= cores && compute_threads >= 0 && input_threads >= 0,
                   "thread counts must not be negative");
    return {compute_threads > 0 ? compute_threads : cores, input_threads > 0 ? input_threads : processors};
}

namespace {

/// "1024K\n", "32M\n" as bytes; 0: it is no size.
std::uint64_t size_of(const std::string& text) {
    std::uint64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [unit, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc()) return 0;
    if (unit == end || *unit == '\n') return count;
    return *unit == 'K' ? count << 10 : *unit == 'M' ? count << 20 : 0;
}

}  // namespace

std::vector<CacheLevel> caches_of(const std::vector<int>& processors, const ReadText& read) {
    std::map<int, CacheLevel> levels;
    std::map<int, std::set<std::string>> sharers;
    for (const int processor : processors) {
        for (int index = 0;; ++index) {
            const std::string folder =
                "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index" + std::to_string(index);
            const std::string type = read(folder + "/type");
            if (type.empty()) break;
            const auto number = static_cast<int>(size_of(read(folder + "/level")));
            const std::uint64_t bytes = size_of(read(folder + "/size"));
            if (type.starts_with("Instruction") || number == 0 || bytes == 0) continue;
            const std::string list = read(folder + "/shared_cpu_list");
            sharers[number].insert(list.empty() ? "only " + std::to_string(processor) : list);
            levels[number] = {number, bytes, static_cast<int>(sharers[number].size())};
        }
    }
    std::vector<CacheLevel> result;
    for (const auto& [number, level] : levels)
        result.push_back(level);
    return result;
}

std::vector<CacheLevel> data_caches() {
    return caches_of(allowed_processors(), read_small_file);
}

std::uint64_t CacheLevel::bytes_of(int threads) const {
    return bytes * static_cast<std::uint64_t>(std::clamp(threads, 1, std::max(count, 1)));
}

// Several processes on one machine divide its cores.

namespace {

TakenShare& share_of_this_process() {
    static TakenShare share;
    return share;
}

/// The processors of a control group (versions 2 and 1), or "" if it has no list of its own.
std::string group_processors(const ReadText& read, const ControlGroup& group) {
    if (group.version2) return read(group.folder + "/cpuset.cpus.effective");
    const std::string effective = read(group.folder + "/cpuset.effective_cpus");
    return effective.empty() ? read(group.folder + "/cpuset.cpus") : effective;
}

bool set_mask(const std::vector<ProcessorPlace>& places) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const ProcessorPlace& place : places)
        CPU_SET(place.number, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::string core_text(const std::vector<ProcessorPlace>& places) {
    std::set<int> cores;
    for (const ProcessorPlace& place : places)
        cores.insert(place.core);
    return (cores.size() == 1 ? "core " : "cores ") + processor_list({cores.begin(), cores.end()});
}

}  // namespace

std::vector<int> processors_in(const std::string& list) {
    constexpr int kMost = 1 << 16;
    std::vector<int> numbers;
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
        int first = 0;
        const char* end = range.data() + range.size();
        const auto [read, error] = std::from_chars(range.data(), end, first);
        int last = first;
        if (error != std::errc{} || first < 0) return {};
        if (read != end && *read == '-' && std::from_chars(read + 1, end, last).ec != std::errc{}) return {};
        if (last < first || last > kMost) return {};
        for (int i = first; i <= last; ++i)
            numbers.push_back(i);
    }
    return numbers;
}

std::string processor_list(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
            ++end;
        text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
        if (end > i + 1) text += "-" + std::to_string(numbers[end - 1]);
        i = end;
    }
    return text;
}

std::vector<int> machine_processors(const ReadText& read) {
    for (const ControlGroup& group : control_groups(read, "cpuset")) {
        std::vector<int> found = processors_in(group_processors(read, group));
        if (!found.empty()) return found;
    }
    return processors_in(read("/sys/devices/system/cpu/online"));
}

std::vector<ProcessorPlace> places_of(const std::vector<int>& processors, const ReadText& read) {
    std::map<int, int> nodes;
    for (const int node : processors_in(read("/sys/devices/system/node/online"))) {
        for (const int number :
             processors_in(read("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist")))
            nodes[number] = node;
    }
    std::vector<ProcessorPlace> places;
    for (const int number : processors) {
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(number);
        const std::vector<int> siblings = processors_in(read(folder + "/topology/thread_siblings_list"));
        const auto node = nodes.find(number);
        places.push_back({number, siblings.empty() ? number : *std::ranges::min_element(siblings),
                          node == nodes.end() ? 0 : node->second});
    }
    std::ranges::sort(places, [](const ProcessorPlace& a, const ProcessorPlace& b) {
        return std::tie(a.node, a.core, a.number) < std::tie(b.node, b.core, b.number);
    });
    return places;
}

std::vector<ProcessorPlace> share_of(const std::vector<ProcessorPlace>& machine, int index, int count) {
    CNNTRAIN_CHECK(!machine.empty() && index >= 0 && index < count, "a share of something");
    std::vector<int> cores;
    for (const ProcessorPlace& place : machine) {
        if (cores.empty() || cores.back() != place.core) cores.push_back(place.core);
    }
    // Slices of one length that begin at equal distances end at node boundaries wherever nodes divide shares or shares
    // nodes.
    const std::size_t length = std::max<std::size_t>(1, cores.size() / static_cast<std::size_t>(count));
    const std::size_t begin = cores.size() * static_cast<std::size_t>(index) / static_cast<std::size_t>(count);
    const auto first = cores.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(length);
    std::vector<ProcessorPlace> share;
    for (const ProcessorPlace& place : machine) {
        if (std::find(first, last, place.core) != last) share.push_back(place);
    }
    return share;
}

const TakenShare& taken_share() {
    return share_of_this_process();
}

std::string take_share(const MachineShare& share) {
    CNNTRAIN_CHECK(share.count >= 1 && share.index >= 0 && share.index < share.count, "a share of a machine");
    TakenShare& taken = share_of_this_process();
    const std::string who = "instance " + std::to_string(share.index) + " of " + std::to_string(share.count) + ": ";
    const std::vector<int> allowed = allowed_processors();
    const std::vector<ProcessorPlace> places = places_of(allowed, read_small_file);
    taken.sharers = share.count;
    if (places.empty() || !std::ranges::includes(allowed, machine_processors(read_small_file)))
        return who + core_text(places) + ", as its launcher has bound it";
    const std::vector<ProcessorPlace> own = share_of(places, share.index, share.count);
    if (share.bound && set_mask(own)) return who + core_text(own);
    taken.counted = own;
    std::set<int> cores;
    for (const ProcessorPlace& place : own)
        cores.insert(place.core);
    return who + "all cores, threads for " + std::to_string(cores.size()) + " of them" +
           (share.bound ? ", as the system does not let it be bound" : "");
}

}  // namespace cnntrain
