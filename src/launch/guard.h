// The guard is a process between this program and one that it starts. It ensures that no process is left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace cnntrain::launch {

/// A word written by the guard: first the guarded process's id, later its status from waitpid() or kStayedBehind.
using GuardWord = int;
constexpr GuardWord kStayedBehind = -1;

struct GuardOrder {
    pid_t leader = 0;     // the requested process, a child of the guard
    int alive = -1;       // pipe that ends if this program wants a stop or has ended
    int status_out = -1;  // pipe for GuardWords
    std::chrono::milliseconds patience{0};
    std::string asked_first;  // see ProcessRequest
};

/// Time for the leader to end after it was signalled because its children did not end, or after all of them have ended.
constexpr std::chrono::seconds kLeaderTime{5};

/// The guard's main function, in a process that is the reaper of its descendants (PR_SET_CHILD_SUBREAPER): every
/// process that the leader starts stays below the guard, even if its parent ends or it changes session. Exits when no
/// process is left.
[[noreturn]] void guard(const GuardOrder& order);

}  // namespace cnntrain::launch
