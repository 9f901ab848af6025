// The sums over ranks of what an update reads: gradients, and statistics of the micro-batches. They lie side by side in
// one buffer, in the order in which the passes finish them, and travel in buckets while the passes go on.
//
// In an update of several micro-batches, no bucket travels before every rank has begun its last one: a rank that was
// stopped before says so instead, and the sums of all ranks stay their own, to be kept. A rank whose update fails later
// sends its buckets all the same, so that no other rank waits for them; that the update does not count is agreed on
// afterwards.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/comm/buckets.h"
#include "cnntrain/comm/communicator.h"

namespace cnntrain::cpu {

/// What became of this rank's micro-batches of an update.
struct Outcome {
    std::exception_ptr failure = {};  // null: none
    bool not_finite = false;
};

class GradientExchange {
public:
    explicit GradientExchange(const backend::Peers& peers, const backend::CpuSettings& cpu = {})
        : peers_(peers), bucket_bytes_(cpu.bucket_bytes), overlap_(cpu.overlap_exchange) {}

    // While the graph is compiled -------------------------------------------------------------------------------------
    /// Sums are added in the order in which the last micro-batch finishes them. `layout`: how their elements lie.
    std::size_t add(std::string name, std::int64_t elements, const std::string& layout);
    /// Where the optimiser is sharded: each rank updates a piece of the parameter whose gradient the sum is. `type`:
    /// the parameter's. `publish` puts the new piece where the sum was, `collect` takes the whole parameter from there.
    void shard(std::size_t sum, DType type, std::function<void()> publish, std::function<void()> collect);
    bool shards() const { return peers_.shard_optimiser; }
    /// When all of that is known. Error(peers) when the sums of other ranks differ or lie differently.
    void plan();
    /// Of all sums, one after another.
    void use(std::span<float> memory) { memory_ = memory; }
    const comm::BucketPlan& buckets() const { return plan_; }
    comm::Communicator& communicator() const { return *peers_.communicator; }

    /// Elements of a sum and of its parameter.
    struct Piece {
        std::int64_t begin = 0, count = 0;
    };
    /// That a rank updates.
    Piece piece(std::size_t sum, int rank) const;
    Piece own_piece(std::size_t sum) const { return piece(sum, peers_.communicator->rank()); }

    // In an update ----------------------------------------------------------------------------------------------------
    /// `waits_for_last`: buckets travel after last_micro_batch_begins() on all ranks.
    void begin(bool waits_for_last = false);
    /// Any thread may say so.
    void last_micro_batch_begins();
    /// The sum over this rank's micro-batches is there. Any thread may say so.
    void is_ready(std::size_t sum);
    /// Moves on what is under way. Any thread may call it, between steps; it does not wait.
    void progress();
    /// Two numbers of each sharded parameter that are sums over its elements: given for this rank's piece, read for the
    /// whole after they have been shared.
    void give_squares(std::size_t sum, double target, double other);
    void share_squares();
    std::pair<double, double> squares(std::size_t sum) const { return squares_[sum]; }
    /// The same on all ranks, each of which must ask for it.
    double sum_over_ranks(double mine) const;
    /// Publishes this rank's pieces and collects those of all.
    void share_parameters();

    /// Called when no thread is in a pass any more: returns when all buckets are summed. Makes `result` that of all
    /// ranks; `first_non_finite`: what is not finite and on which rank, unless it is this one. A failure to read this
    /// rank's data is thrown after the others know of it, and they throw Error(data) with its text; any other failure
    /// is thrown at once, and they hear of it when this rank leaves.
    void agree(const Outcome& mine, backend::StepResult& result, std::optional<std::string>& first_non_finite);

private:
    using Clock = std::chrono::steady_clock;

    void finish(backend::StepResult& result);
    void tell(bool gives_up);
    void hear();
    struct Sharded {
        std::size_t sum = 0;
        DType type = DType::f32;
        std::function<void()> publish, collect;
    };

    std::span<float> values_of(const comm::Bucket& bucket);
    void start_next();
    /// Those whose sums are all there, if the passes hide them.
    void start_ready();

    backend::Peers peers_;
    std::int64_t bucket_bytes_;
    bool overlap_;
    std::vector<comm::Parameter> sums_;
    std::uint64_t layouts_ = 0;  // digest
    comm::BucketPlan plan_;
    std::vector<std::size_t> bucket_of_;  // by sum
    std::span<float> memory_;
    std::vector<Sharded> sharded_;
    std::vector<std::pair<double, double>> squares_;  // by sum

    std::mutex mutex_;
    bool may_travel_ = true;               // every rank has begun its last micro-batch
    std::optional<comm::Handle> told_;     // what this rank said of that, until all ranks are heard
    float giving_up_ = 0;                  // ranks that stop before; first this one, then the sum
    std::atomic<bool> under_way_ = false;  // is there something to move on?
    std::vector<int> missing_;             // by bucket: sums that are not there yet
    std::vector<comm::Handle> handles_;    // of the buckets that have started, in their order
    Clock::time_point start_;              // of the first bucket
};

}  // namespace cnntrain::cpu
