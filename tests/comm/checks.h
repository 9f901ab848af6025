// Checks of every member of the Communicator, run within each rank.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/parallel/communicator.h"

namespace cnntrain::comm::testing {

/// Values of one rank: signs and sizes that make sums depend on their order.
std::vector<float> values_of(int rank, std::size_t count, std::uint64_t round);

/// The sum over ranks in the tree of communicator.h, written as plainly as possible: nodes of `ranks_per_node` ranks in
/// turn (0: one node).
std::vector<float> plain_sum(int ranks, int ranks_per_node, std::size_t count, std::uint64_t round);

/// Waits up to half a millisecond, for a time that differs from rank to rank and run to run.
void random_delay();

void check_sums(Communicator& communicator, int ranks_per_node);
void check_sharded(Communicator& communicator, int ranks_per_node);
void check_bf16(Communicator& communicator, int ranks_per_node);
void check_buckets_under_way(Communicator& communicator, int ranks_per_node);
void check_words(Communicator& communicator);
void check_settings(Communicator& communicator);
void check_exchanges(Communicator& communicator);
/// Checks exchanges within groups of two ranks (the last one may be alone) while a bucket is under way.
void check_groups(Communicator& communicator, int ranks_per_node);
/// `ranks_per_node` as above.
void check_network_times(Communicator& communicator, int ranks_per_node);

}  // namespace cnntrain::comm::testing
