// The primitives below a Communicator: messages between pairs of ranks, shared memory of a node, and notices.
// Collective operations are implemented once, on top of them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/parallel/communicator.h"

namespace cnntrain::comm {

/// The ranks that share each node. Nodes are numbered by their lowest ranks.
struct Nodes {
    std::vector<std::vector<int>> members;  // ascending ranks of each node
    std::vector<int> node_of;               // by rank
    int local_rank(int rank) const;
};
/// Ranks with equal keys share a node; `ranks_per_node` > 0 divides each such group into nodes of that size.
Nodes group_nodes(std::span<const std::uint64_t> keys, int ranks_per_node);

/// A message outside of operations: a rank leaves, or answers a roll call.
struct Notice {
    enum class Kind : std::uint8_t { left, present };
    Kind kind = Kind::left;
    std::int32_t rank = 0;
    std::uint64_t finished = 0;    // number of operations to which a leaving rank has contributed
    std::array<char, 500> text{};  // left: the reason; present: the operation in which the rank waits
};

class Transport {
public:
    using Ticket = std::size_t;

    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    virtual int rank() const = 0;
    virtual const Nodes& nodes() const = 0;

    /// Messages of one pair and tag arrive in order. The memory must stay valid until the ticket is complete.
    virtual Ticket send(int to, int tag, std::span<const std::byte> bytes) = 0;
    virtual Ticket receive(int from, int tag, std::span<std::byte> bytes) = 0;
    /// Never waits. A ticket becomes invalid once it is complete.
    virtual bool complete(Ticket ticket) = 0;

    /// Memory shared by the ranks of this node until the transport ends; its first `zeroed` bytes are 0. All ranks must
    /// call it together, right after they have synchronised.
    virtual std::span<std::byte> share_memory(std::size_t bytes, std::size_t zeroed) = 0;

    /// Sends a notice to all other ranks, without waiting until they receive it.
    virtual void post(const Notice& notice) = 0;
    virtual bool next_notice(Notice& notice) = 0;

    /// Called between two polls of a wait; `turn` is the number of polls so far.
    virtual void idle(int turn) = 0;
    /// Must be the last call. `orderly`: all ranks have synchronised and no operation is in progress.
    virtual void close(bool orderly) = 0;
};

/// Collective operations over a transport.
std::unique_ptr<Communicator> make_over_transport(std::unique_ptr<Transport> transport, const Settings& settings);

// Detects missing ranks while waiting.
//
// Shortly before the timeout, a waiting rank calls the roll: it sends all others a notice with the operation in which
// it waits. Every other waiting rank immediately replies with the same kind of notice. All ranks therefore detect the
// same missing ranks at about the same time, including ranks that wait for a missing rank only indirectly. Time in
// which this process itself was suspended does not count.

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
