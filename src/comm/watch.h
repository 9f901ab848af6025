// Detection of missing ranks by waiting ranks.
//
// Shortly before the timeout a rank calls the roll: it sends all others a notice with the operation that it waits in.
// Every other waiting rank answers at once in the same way, so all see the same ranks missing at about the same time,
// also a rank that waits for the missing one only indirectly. Time in which this process itself was stopped does not
// count.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "comm/transport.h"

namespace cnntrain::comm {

/// The operation that a rank waits in.
struct Operation {
    const char* name = "";     // "all-reduce"
    int bucket = -1;           // none
    std::string_view what;     // "weights at the start"; empty for buckets
    std::uint64_t number = 0;  // among all operations, from 0
    std::string text() const;
};

/// By rank that has left: its notice.
using Leavers = std::map<int, Notice>;

class Watch {
public:
    /// `left`: those that earlier waits have heard of; this one adds to them.
    Watch(Transport& transport, double timeout_seconds, const Operation& operation, Leavers& left);

    /// Throws Error(peers) once the operation cannot be waited for any longer.
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
    Clock::time_point roll_call_;  // when it begins
    Clock::time_point end_;
    bool calling_ = false;
    std::map<int, std::string> present_;  // by rank: what it waits in
    Leavers& left_;
};

/// A notice with as much of the text as it holds.
Notice make_notice(Notice::Kind kind, int rank, std::string_view text);

}  // namespace cnntrain::comm
