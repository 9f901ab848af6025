#include "cnntrain/base/elapsed.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/system_files.h"

namespace cnntrain {
namespace {

constexpr double kNanosecond = 1e-9;

/// Adds each thread's running and waiting time.
void add_threads(ProcessorTimes& times, const std::string& proc) {
    std::error_code failed;
    for (const auto& thread : std::filesystem::directory_iterator(proc + "/self/task", failed)) {
        // "<ns running> <ns waiting> <time slices>"
        std::istringstream numbers(read_small_file(thread.path().string() + "/schedstat"));
        double own = 0;
        double queued = 0;
        if (!(numbers >> own >> queued)) continue;
        times.own_seconds += kNanosecond * own;
        times.queued_seconds += kNanosecond * queued;
    }
}

void add_processors(ProcessorTimes& times, const std::string& proc, const std::vector<int>& processors) {
    const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    std::istringstream rows(read_small_file(proc + "/stat"));
    for (std::string row; std::getline(rows, row);) {
        std::istringstream words(row);
        std::string name;
        double user = 0, nice = 0, system = 0, idle = 0, disk = 0, interrupts = 0, soft = 0, stolen = 0;
        if (!(words >> name >> user >> nice >> system >> idle >> disk >> interrupts >> soft >> stolen)) continue;
        const bool ours =
            std::ranges::any_of(processors, [&](int number) { return name == "cpu" + std::to_string(number); });
        if (ours) times.busy_seconds += tick * (user + nice + system + interrupts + soft + stolen);
    }
}

}  // namespace

ProcessorTimes processor_times(const std::string& proc, const std::vector<int>& processors) {
    ProcessorTimes times;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    times.wall_seconds = std::chrono::duration<double>(now).count();
    add_threads(times, proc);
    add_processors(times, proc, processors);
    return times;
}

ProcessorTimes processor_times() {
    ProcessorTimes times = processor_times("/proc", allowed_processors());
    timespec own{};  // with threads that have ended, which /proc no longer lists
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) == 0)
        times.own_seconds = static_cast<double>(own.tv_sec) + kNanosecond * static_cast<double>(own.tv_nsec);
    return times;
}

std::int64_t page_loads() {
    rusage usage{};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_majflt : 0;
}

Competition competition(const ProcessorTimes& begin, const ProcessorTimes& end) {
    const double wall = end.wall_seconds - begin.wall_seconds;
    const double own = std::max(0.0, end.own_seconds - begin.own_seconds);  // threads that ended took theirs along
    const double queued = std::max(0.0, end.queued_seconds - begin.queued_seconds);
    const double busy = end.busy_seconds - begin.busy_seconds;
    Competition result;
    if (wall > 0) result.others = std::max(0.0, busy - own) / wall;
    if (own + queued > 0) result.queued_share = queued / (own + queued);
    return result;
}

int Competition::room(int processors) const {
    constexpr double kTolerated = 0.35;
    return std::max(1, static_cast<int>(processors - others + kTolerated));
}

/// A process waits for its own threads, too, where they are more than processors.
bool Competition::is_felt() const {
    constexpr double kLeastOthers = 0.4;
    constexpr double kLeastQueued = 0.2;
    return others > kLeastOthers && queued_share > kLeastQueued;
}

}  // namespace cnntrain
