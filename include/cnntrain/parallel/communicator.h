// Communication between the processes of one run: sums of gradients, broadcasts of weights, gathers of small values.
//
// Collective operations: every rank calls the same ones in the same order with the same sizes. A communicator is used
// by one thread at a time. Three members: alone (one rank, nothing is copied), threads of one process, MPI.
//
// Sums. The result has the same bits on all ranks and in every run: the ranks of a node are added in rank order, ((a +
// b) + c) + ..., then the sums of the nodes in the order of their lowest ranks, all in float. Both routes follow this
// tree, so with Wire::f32 they give equal bits. With Wire::bf16, values are rounded to nearest (ties to even) when they
// are sent, and sums stay in float. The flat route rounds what each rank sends, the hierarchical route what each node
// sends, and both round the result, so their bits differ. Sums made by a rank alone, or in the memory of one node, are
// not rounded.
//
// MPI_Allreduce does not guarantee an order of its sums (MPI 4.0, section 6.9.1), so the order is implemented here:
// every rank receives its share of the bucket from all others, adds, and sends the sum to all others, in non-blocking
// messages. With p ranks, each sends 2 (p - 1) / p of a bucket, as a ring does, which is the minimum (Patarasuk and
// Yuan 2009, "Bandwidth optimal all-reduce algorithms"); time = 2 (p - 1) latency + 2 (p - 1) / p bytes / bandwidth +
// (p - 1) / p additions (Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in
// MPICH", section 4.5). Pairwise messages also show which rank is missing.
//
// Errors. If a rank has left, or does not arrive within the timeout, the others throw Error(peers) naming the
// operation, the bucket and these ranks. After an error, a communicator accepts no further operation. Memory given to
// an operation must stay valid until the operation was waited for, or until the communicator is destroyed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/parallel/settings.h"

namespace cnntrain::comm {

struct ReduceOptions {
    Wire wire = Wire::f32;
    Route route = Route::flat;
};

/// A started operation on a bucket.
struct Handle {
    int bucket = 0;
    std::uint64_t use = 0;  // number of times this bucket has been started, including this one
};

/// The part of a bucket that one rank sums; with a sharded optimiser, also the part whose state it keeps.
struct Shard {
    std::int64_t begin = 0, count = 0;  // elements
};
/// Shards are contiguous and cover the bucket. They begin at multiples of 16 elements (64 bytes); shards of small
/// buckets may be empty.
Shard shard_of(std::int64_t elements, int rank, int size);

/// Consecutive ranks.
struct Group {
    int first = 0, count = 1;
};

class Communicator {
public:
    Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    /// Calls leave("ended early") unless finish() was called before.
    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// Nodes are numbered in the order of their lowest ranks.
    virtual int node() const = 0;
    /// This rank's number among the ranks of its node.
    virtual int local_rank() const = 0;
    virtual int local_size() const = 0;

    /// Returns when every rank has called it. Messages contain "barrier (<what>)".
    virtual void barrier(std::string_view what) = 0;
    /// Copies `bytes` of rank `root` to all ranks.
    virtual void broadcast(std::span<std::byte> bytes, int root, std::string_view what) = 0;
    /// Sends `out` to rank `partner` and receives `in` from it; the partner must name this rank. A rank that is its own
    /// partner returns at once. At most 2^31 - 1 bytes.
    virtual void exchange(std::span<const std::byte> out, std::span<std::byte> in, int partner,
                          std::string_view what) = 0;
    /// The words of all ranks, in their order; every rank gives equally many.
    virtual std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> words, std::string_view what) = 0;
    /// Concatenates `mine` of each rank of `group` into `all`. Only ranks of the group wait for each other. This rank
    /// is a member and always names the same group; every member gives equally many bytes.
    virtual void all_gather_among(Group group, std::span<const std::byte> mine, std::span<std::byte> all,
                                  std::string_view what) = 0;
    /// One word of each rank, by rank.
    std::vector<std::uint64_t> all_gather(std::uint64_t word, std::string_view what) {
        return all_gather(std::span<const std::uint64_t>(&word, 1), what);
    }

    /// One struct of each rank, by rank: numbers of 64 bits without gaps.
    template <typename Numbers> std::vector<Numbers> all_gather_numbers(const Numbers& mine, std::string_view what) {
        using Words = std::array<std::uint64_t, sizeof(Numbers) / sizeof(std::uint64_t)>;
        const Words words = std::bit_cast<Words>(mine);
        const std::vector<std::uint64_t> all = all_gather(std::span<const std::uint64_t>(words), what);
        std::vector<Numbers> gathered;
        for (std::size_t at = 0; at < all.size(); at += words.size()) {
            Words of_rank;
            std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), words.size(), of_rank.begin());
            gathered.push_back(std::bit_cast<Numbers>(of_rank));
        }
        return gathered;
    }

    // Operations on buckets of at most 2^31 - 1 bytes. They advance in progress() and in every wait. Several may be
    // pending; a bucket must be waited for before it is started again. Bucket numbers are small and dense.

    /// Every element becomes the sum over ranks.
    virtual Handle start_all_reduce(int bucket, std::span<float> values, const ReduceOptions& options) = 0;
    /// This rank's shard becomes the sum over ranks (not rounded); other elements are unchanged. Flat route.
    virtual Handle start_reduce_scatter(int bucket, std::span<float> values, Wire wire) = 0;
    /// Copies every rank's shard to all ranks; Wire::bf16 rounds it, on its own rank too. Flat route.
    virtual Handle start_all_gather(int bucket, std::span<float> values, Wire wire) = 0;
    /// Advances all pending operations without waiting; true when none is pending.
    virtual bool progress() = 0;
    virtual void wait(const Handle& handle) = 0;

    /// Announces that this rank leaves the run: the next wait of each other rank fails with its number and `reason`.
    virtual void leave(std::string_view reason) = 0;
    /// The last operation: waits for all ranks.
    virtual void finish() = 0;
};

/// State that the ranks must agree on after every update.
struct UpdateStatus {
    bool stop = false;
    bool not_finite = false;
    bool damaged_data = false;
    bool checkpoint_due = false;
    bool operator==(const UpdateStatus&) const = default;
};

struct AgreedStatus {
    UpdateStatus any;                 // flags that at least one rank has set
    std::vector<UpdateStatus> ranks;  // by rank
    std::vector<double> sums;         // of `values` over the ranks, in their order
};
/// `values`: equally many on every rank. Status and values travel in one message of every rank to all others.
AgreedStatus agree(Communicator& communicator, const UpdateStatus& mine, std::span<const double> values = {});
/// Broadcasts the text of the lowest rank that reports a problem, because a launcher may end that rank before it has
/// printed the text. At least one rank says `say`.
std::string text_of_first(Communicator& all, const AgreedStatus& agreed, bool UpdateStatus::*say,
                          const std::string& mine);

/// Throws Error(peers) naming the ranks whose value differs from rank 0's, with the same message on every rank. `what`:
/// such as "weights at iteration 7".
void check_same(Communicator& communicator, std::uint64_t value, std::string_view what);

/// Something that all ranks must share, as this rank has it.
struct SharedSetting {
    std::string name;   // "--comm-route"
    std::string value;  // "flat"
};
/// "" when the ranks have the same settings; otherwise what differs, in the same words on every rank: "--comm-route
/// (hierarchical on ranks 0 and 2, flat on rank 1), ...". Ranks that agree exchange one word.
std::string differences(Communicator& communicator, std::span<const SharedSetting> mine, std::string_view what);

struct Settings {
    /// Longest wait for another rank. Must exceed the time of a bucket, and of writing a checkpoint.
    double timeout_seconds = 300;
    /// Ranks that share a node; 0: those that share memory (threads: all). A smaller number divides a node into
    /// several, so that the hierarchical route can be tried on one machine.
    int ranks_per_node = 0;
};

std::unique_ptr<Communicator> make_alone();

/// One communicator for each of `ranks` threads; for tests.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks, const Settings& settings);

/// The ranks that mpirun or srun started; one rank without a launcher. Initialises MPI with MPI_THREAD_SERIALIZED, once
/// per process; its destructor finalises MPI if finish() was called. Error(unsupported) in a build without MPI.
std::unique_ptr<Communicator> make_mpi_communicator(const Settings& settings);

// A communicator that records when its operations wait.

/// Forwards every operation to `inner`. While the timeline is on, it adds intervals to two tracks: "communication",
/// the waits of the thread that communicates, and "buckets", the operations on buckets from start to end.
std::shared_ptr<Communicator> make_recorded(std::shared_ptr<Communicator> inner, std::shared_ptr<Timeline> timeline);

}  // namespace cnntrain::comm
