// What a member of the Communicator must be able to do: messages between pairs of ranks, memory that a node shares, and
// notices. Everything else is written once, above it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cnntrain/comm/communicator.h"

namespace cnntrain::comm {

/// Which ranks share a node. Nodes are numbered by their lowest ranks.
struct Nodes {
    std::vector<std::vector<int>> members;  // ascending ranks of each node
    std::vector<int> node_of;               // by rank
    int local_rank(int rank) const;
};
/// Ranks with equal keys share a node; of each such group `ranks_per_node` in turn, all if 0.
Nodes group_nodes(std::span<const std::uint64_t> keys, int ranks_per_node);

/// A message out of the row of operations: a rank leaves, or says during a roll call that it is there.
struct Notice {
    enum class Kind : std::uint8_t { left, present };
    Kind kind = Kind::left;
    std::int32_t rank = 0;
    std::uint64_t finished = 0;    // operations that a rank that leaves has done its part in: the first so many
    std::array<char, 500> text{};  // why it left; what it waits in
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

    /// Messages of one pair and tag arrive in order. The memory must stay until the ticket is complete.
    virtual Ticket send(int to, int tag, std::span<const std::byte> bytes) = 0;
    virtual Ticket receive(int from, int tag, std::span<std::byte> bytes) = 0;
    /// Never waits. A complete ticket is void.
    virtual bool complete(Ticket ticket) = 0;

    /// Memory that the ranks of this node share, until the transport ends; its first `zeroed` bytes are 0. All ranks
    /// call it, right after they have met.
    virtual std::span<std::byte> share_memory(std::size_t bytes, std::size_t zeroed) = 0;

    /// To all other ranks; does not wait for any, but for what the network needs to take the notice.
    virtual void post(const Notice& notice) = 0;
    virtual bool next_notice(Notice& notice) = 0;

    /// Called between two looks at what is waited for, for the `turn`-th time.
    virtual void idle(int turn) = 0;
    /// No further calls follow. `orderly`: all ranks have met and nothing is under way.
    virtual void close(bool orderly) = 0;
};

/// Collective operations over a transport.
std::unique_ptr<Communicator> make_over_transport(std::unique_ptr<Transport> transport, const Settings& settings);

}  // namespace cnntrain::comm
