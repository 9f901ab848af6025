#include "cnntrain/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
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

}  // namespace cnntrain
