// The process between this program and one that it starts: whatever happens to either, nothing is left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace cnntrain::launch {

/// A word that the guard writes: first the number of the guarded process, later its status from waitpid() or
/// kStayedBehind.
using GuardWord = int;
constexpr GuardWord kStayedBehind = -1;

struct GuardOrder {
    pid_t leader = 0;     // the process that was asked for, a child of the guard
    int alive = -1;       // ends when this program wants a stop or is gone
    int status_out = -1;  // takes GuardWords
    std::chrono::milliseconds patience{0};
    std::string asked_first;  // as in ProcessRequest
};

/// The time that a program gets which was asked only after those below it did not end, or whose processes have all
/// ended.
constexpr std::chrono::seconds kLeaderTime{5};

/// The guard's work, in a process that is the reaper of its descendants (PR_SET_CHILD_SUBREAPER): everything that the
/// leader has started stays below the guard, whatever became of its parent or session. Ends the process when nobody is
/// left.
[[noreturn]] void guard(const GuardOrder& order);

}  // namespace cnntrain::launch
