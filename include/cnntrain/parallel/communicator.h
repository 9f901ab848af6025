// Communication between the processes of one run: sums of gradients, broadcasts of weights, gathers of small values.
//
// Collective operations: every rank calls the same ones in the same order with the same sizes. A communicator is used
// by one thread at a time. Two members: alone (one rank, nothing is copied), MPI. Tests have ranks that are threads.
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
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/environment.h"
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

/// Rank `root`'s text on all ranks. `what`: for messages.
std::string broadcast_text(Communicator& communicator, std::string text, std::string_view what, int root = 0);

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
    /// Ranks that share a node; 0: those that share memory. A smaller number divides a node into several, so that the
    /// hierarchical route can be tried on one machine.
    int ranks_per_node = 0;
};

std::unique_ptr<Communicator> make_alone();

/// The ranks that mpirun or srun started; one rank without a launcher. Initialises MPI with MPI_THREAD_SERIALIZED, once
/// per process; its destructor finalises MPI if finish() was called. Error(unsupported) in a build without MPI.
std::unique_ptr<Communicator> make_mpi_communicator(const Settings& settings);

// A communicator that records when its operations wait.

/// Forwards every operation to `inner`. While the timeline is on, it adds intervals to two tracks: "communication",
/// the waits of the thread that communicates, and "buckets", the operations on buckets from start to end.
std::shared_ptr<Communicator> make_recorded(std::shared_ptr<Communicator> inner, std::shared_ptr<Timeline> timeline);

// Layout of gradients in memory: one buffer, cut into buckets that are summed over ranks one by one during backward.

struct Parameter {
    std::string name;
    std::int64_t elements = 0;
    bool sharded = false;  // each rank needs only the sum of its shard
};

struct Bucket {
    std::int64_t offset = 0, elements = 0;  // within the buffer
    int first = 0, count = 0;               // its parameters
    bool sharded = false;
};

struct BucketPlan {
    std::vector<Bucket> buckets;        // contiguous, covering the buffer
    std::vector<std::int64_t> offsets;  // of each parameter within the buffer, elements
    std::int64_t elements = 0;
    /// Hash of names, sizes, order and buckets; ranks compare it before the first update.
    std::uint64_t digest = 0;
};

/// Parameters in the order in which backward finishes their gradients; the buffer has the same order without gaps. A
/// bucket takes parameters while it holds at most `max_bytes`, and while all or none of them are sharded. A larger
/// parameter gets its own bucket. Throws Error(usage) unless `max_bytes` is at least one float.
BucketPlan plan_buckets(std::span<const Parameter> parameters, std::int64_t max_bytes = kDefaultBucketBytes);

// The ranks that a launcher defines, read from environment variables. This needs no MPI, so a command can check its
// options before MPI starts.

enum class Launcher : std::uint8_t {
    open_mpi,  // mpirun: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
    pmi,       // Hydra and others: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS
    slurm,     // srun: SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE and SLURM_NODEID
};
const char* name(Launcher launcher);

struct World {
    Launcher launcher = Launcher::open_mpi;
    int rank = 0, size = 1;
    std::optional<int> local_rank, local_size;  // among the ranks of this host, if the launcher provides them
};

/// Environment variables POPDIST_*: the processes of a poprun line.
struct PopDist {
    int replicas = 1, local_replicas = 1;
    int ipus_per_replica = 1;
    int instances = 1, instance = 0;
    int local_instance = 0;
};

struct Launched {
    std::optional<World> world;  // empty: the process was not started by a launcher
    std::optional<PopDist> popdist;
};

/// Open MPI's variables take precedence over PMI's, and these over Slurm's, because srun may have started mpirun's
/// daemons. Slurm's variables count only within a step of srun; in a batch script or an salloc shell they describe the
/// allocation. Throws Error(usage) for malformed or contradictory numbers, and if the instances of a poprun line differ
/// from the started processes.
Launched read_launched(const Variables& environment);

// Measured times of messages and sums between the ranks of a run. All functions are collective unless they say
// otherwise.

/// Median time of one call on the slowest rank, in seconds; measures for about `seconds`. Rank 0 decides when to stop,
/// so that all ranks make the same number of calls.
double median_seconds(Communicator& communicator, double seconds, const std::function<void()>& call);

struct TimedMessage {
    double bytes = 0;
    double seconds = 0;
};

/// time = latency + bytes / bandwidth.
struct LinkFit {
    double latency_seconds = 0;
    double bytes_per_second = 0;
    double residual = 0;  // root mean square of (predicted - measured) / measured
};
/// Least squares of the relative differences, so that small messages count as much as large ones. If the best latency
/// is negative, the best line without latency. Needs at least two sizes.
LinkFit fit_link(std::span<const TimedMessage> messages);

struct TimedSum {
    ReduceOptions options;
    double bytes = 0;  // of the bucket
    double seconds = 0;
};

struct NetworkTimes {
    std::vector<TimedMessage> between_nodes;  // `bytes`: over all ranks of a node; empty if there is one node
    std::vector<TimedMessage> inside_node;    // empty if each rank has its own node
    double adding_seconds_per_byte = 0;       // time to add another rank's gradients while all ranks do so
    std::vector<TimedSum> sums;               // both routes, 32 and 16 bits
};

struct Sweep {
    std::int64_t largest_bytes = 16 << 20;  // of a message or bucket; at least 64
    double seconds = 0.05;                  // for each measurement
};

/// Measures messages in both directions between all pairs at once, so that ranks share cores, memory and network as in
/// a sum. Sent and added memory is cache-cold, like the gradients of a network. Measures between nodes first, then
/// within them. All ranks get the same result. Needs at least two ranks.
NetworkTimes measure_network(Communicator& communicator, const Sweep& sweep);

/// Measures this process alone; not collective.
double adding_seconds_per_byte();

}  // namespace cnntrain::comm
