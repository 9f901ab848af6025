#include "cnntrain/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/cpu_quota.h"
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

std::optional<double> group_quota(const ReadText& read, const std::string& folder, bool version2) {
    if (version2) return ratio(read(folder + "/cpu.max"));
    return ratio(read(folder + "/cpu.cfs_quota_us") + " " + read(folder + "/cpu.cfs_period_us"));
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
}

/// Does a v1 line's controller list ("cpu,cpuacct") hold "cpu"?
bool names_cpu(const std::string& controllers) {
    return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

int affinity_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return static_cast<int>(std::thread::hardware_concurrency());
}

std::string read_small_file(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

std::optional<double> cpu_quota(const ReadText& read) {
    std::optional<double> quota;
    std::istringstream groups(read("/proc/self/cgroup"));
    // Lines are "<number>:<controllers>:<path>"; version 2 has number 0 and no controllers.
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool version2 = controllers.empty();
        if (!version2 && !names_cpu(controllers)) continue;
        const std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
        std::string path = line.substr(second + 1);
        while (path.size() > 1) {
            quota = smaller(quota, group_quota(read, root + path, version2));
            path.resize(path.rfind('/'));
        }
        quota = smaller(quota, group_quota(read, root, version2));
    }
    return quota;
}

int available_cores() {
    int cores = affinity_cores();
    // Rounded down: a throttled thread would keep all others waiting at the next barrier.
    if (const auto quota = cpu_quota(read_small_file)) cores = std::min(cores, static_cast<int>(std::floor(*quota)));
    return std::max(cores, 1);
}

int most_threads() {
    constexpr int kOnAnyMachine = 64;
    constexpr int kPerCore = 4;
    return std::max(kOnAnyMachine, kPerCore * available_cores());
}

CoreBudget plan_cores(int available, int compute_threads, int input_threads) {
    CNNTRAIN_CHECK(available >= 1 && compute_threads >= 0 && input_threads >= 0, "thread counts must not be negative");
    return {compute_threads > 0 ? compute_threads : available, input_threads > 0 ? input_threads : available};
}

}  // namespace cnntrain
