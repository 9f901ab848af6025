// Detects missing ranks while waiting.
//
// Shortly before the timeout, a waiting rank calls the roll: it sends all others a notice with the operation in which
// it waits. Every other waiting rank immediately replies with the same kind of notice. All ranks therefore detect the
// same missing ranks at about the same time, including ranks that wait for a missing rank only indirectly. Time in
// which this process itself was suspended does not count.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/comm/transport.h"

namespace cnntrain::comm {

/// The operation in which a rank waits.
struct Operation {
    const char* name = "";     // such as "all-reduce"
    int bucket = -1;           // -1: none
    std::string_view what;     // such as "weights at the start"; empty for buckets
    std::uint64_t number = 0;  // among all operations, counted from 0
    std::string text() const;
};

/// The notices of ranks that have left, by rank.
using Leavers = std::map<int, Notice>;

class Watch {
public:
    /// `left`: ranks known to have left from earlier waits; this object adds more.
    Watch(Transport& transport, double timeout_seconds, const Operation& operation, Leavers& left);

    /// Throws Error(peers) once the operation cannot complete any more, or on timeout.
    void check();

private:
    using Clock = std::chrono::steady_clock;

    void leave_out_pauses();
    void read_notices();
    void call_roll();
    bool is_let_down() const;
    [[noreturn]] void fail_left() const;
    [[noreturn]] void fail_missing() const;

    Transport* transport_;
    Operation operation_;
    double timeout_seconds_;
    Clock::time_point last_check_;
    Clock::time_point roll_call_;  // time at which it starts
    Clock::time_point end_;
    bool calling_ = false;
    std::map<int, std::string> present_;  // by rank: the operation in which it waits
    Leavers& left_;
};

/// "rank 3", "ranks 1, 2 and 5"; at most the first eight.
std::string ranks_text(const std::vector<int>& ranks);

/// Makes a notice; text that is too long is cut.
Notice make_notice(Notice::Kind kind, int rank, std::string_view text);

}  // namespace cnntrain::comm
