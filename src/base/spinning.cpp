#include "cnntrain/base/processor.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace cnntrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kSpinCount = "GOMP_SPINCOUNT";
/// Holds the number of the process that has started itself once more: its children do not take it for theirs.
constexpr const char* kStartedAgain = "CNNTRAIN_STARTED_AGAIN";

/// Longer than the gaps between the parallel parts of a step and than waking a thread takes; short compared with the
/// time slices that the system gives to processes.
constexpr std::chrono::microseconds kSpinTime{200};

/// libgomp counts pauses, which take from 10 to 140 cycles, depending on the processor.
std::int64_t pauses_in(std::chrono::nanoseconds time) {
    constexpr std::int64_t kPauses = 256;
    constexpr int kTries = 4;
    auto least = Clock::duration::max();
    for (int i = 0; i < kTries; ++i) {
        const Clock::time_point start = Clock::now();
        for (std::int64_t k = 0; k < kPauses; ++k)
            __builtin_ia32_pause();
        least = std::min(least, Clock::now() - start);
    }
    return time.count() * kPauses / std::max<std::int64_t>(1, std::chrono::nanoseconds(least).count());
}

bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

/// Would starting the file of this process be starting this program in the same way?
bool can_start_again() {
    if (getauxval(AT_BASE) == 0) return false;  // it is an argument of ld.so, whose file it would be
    const char* preloaded = std::getenv("LD_PRELOAD");
    return preloaded == nullptr || std::string_view(preloaded).find("vgpreload") == std::string_view::npos;
}

}  // namespace

void limit_spinning(char** argv) {
    const std::string number = std::to_string(getpid());
    if (const char* started = std::getenv(kStartedAgain); started != nullptr && number == started) {
        // libgomp has read it; programs that this one starts are to wait as they like.
        unsetenv(kSpinCount);
        unsetenv(kStartedAgain);
        return;
    }
    if (is_set(kSpinCount) || is_set("OMP_WAIT_POLICY") || !can_start_again()) return;
    setenv(kSpinCount, std::to_string(pauses_in(kSpinTime)).c_str(), 1);
    setenv(kStartedAgain, number.c_str(), 1);
    std::error_code no_proc;
    execv(std::filesystem::read_symlink("/proc/self/exe", no_proc).c_str(), argv);
    unsetenv(kSpinCount);
    unsetenv(kStartedAgain);
}

}  // namespace cnntrain
