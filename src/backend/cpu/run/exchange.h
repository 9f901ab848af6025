// Sums gradients and statistics over ranks. They are contiguous in one buffer, in the order in which the passes finish
// them, and are sent in buckets while the passes run.
//
// In an update of several micro-batches, no bucket is sent before every rank has begun its last one. A rank that stops
// earlier says so instead, and all ranks keep their own sums. A rank whose update fails later still sends its buckets,
// so that no other rank waits for them. Ranks agree afterwards that the update does not count.
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

#include "backend/cpu/kernels/kernels.h"
#include "cnntrain/backend/backend.h"
#include "cnntrain/parallel/communicator.h"

namespace cnntrain::cpu {

/// The outcome of this rank's micro-batches of an update.
struct Outcome {
    std::exception_ptr failure = {};  // null: none
    bool not_finite = false;
};

class GradientExchange {
public:
    explicit GradientExchange(const backend::Peers& peers, const backend::CpuSettings& cpu = {})
        : peers_(peers), bucket_bytes_(cpu.bucket_bytes), overlap_(cpu.overlap_exchange) {}

    // Calls while the graph is compiled -------------------------------------------------------------------------------
    /// Call in the order in which the last micro-batch finishes the sums. `layout`: memory layout of the elements.
    std::size_t add(std::string name, std::int64_t elements, const std::string& layout);
    /// Sharded optimiser: each rank updates a piece of the parameter whose gradient is `sum`. `type`: the parameter's
    /// type. `publish` writes the new piece to the memory of the sum, `collect` reads the whole parameter from there.
    void shard(std::size_t sum, DType type, std::function<void()> publish, std::function<void()> collect);
    bool shards() const { return peers_.shard_optimiser; }
    /// Call after all add() and shard(). Error(peers) if ranks have different sums or layouts.
    void plan();
    /// Memory of all sums, contiguous.
    void use(std::span<float> memory) { memory_ = memory; }
    const comm::BucketPlan& buckets() const { return plan_; }
    comm::Communicator& communicator() const { return *peers_.communicator; }

    /// A range of elements of a sum and of its parameter.
    struct Piece {
        std::int64_t begin = 0, count = 0;
    };
    /// The piece that a rank updates.
    Piece piece(std::size_t sum, int rank) const;
    Piece own_piece(std::size_t sum) const { return piece(sum, peers_.communicator->rank()); }

    // Calls during an update ------------------------------------------------------------------------------------------
    /// `waits_for_last`: no bucket is sent before all ranks have called last_micro_batch_begins().
    void begin(bool waits_for_last = false);
    /// Thread-safe.
    void last_micro_batch_begins();
    /// Marks the sum over this rank's micro-batches as complete. Thread-safe.
    void is_ready(std::size_t sum);
    /// Advances pending reductions without waiting; called between steps. Thread-safe.
    void progress();
    /// Two sums over the elements of each sharded parameter. Set them for this rank's piece with give_squares(); after
    /// share_squares(), squares() returns the totals.
    void give_squares(std::size_t sum, double target, double other);
    void share_squares();
    std::pair<double, double> squares(std::size_t sum) const { return squares_[sum]; }
    /// Collective; all ranks get the same value.
    double sum_over_ranks(double mine) const;
    /// Publishes this rank's pieces and collects the pieces of all ranks. Collective.
    void share_parameters();

    /// Call after all lanes finish. Waits for all buckets and replaces `result` by totals over ranks. Sets
    /// `first_non_finite` to the text and number of the rank with a non-finite value, if it is another rank. If this
    /// rank's data cannot be read, all ranks throw Error(data) with its text. Any other failure is thrown at once; the
    /// other ranks notice that this rank leaves.
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
    /// Starts the buckets whose sums are complete, if the passes hide them.
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
    bool may_travel_ = true;               // all ranks have begun their last micro-batch
    std::optional<comm::Handle> told_;     // pending reduction of giving_up_
    float giving_up_ = 0;                  // 1 if this rank stops before; after the reduction, the number of such ranks
    std::atomic<bool> under_way_ = false;  // true while reductions are pending
    std::vector<int> missing_;             // by bucket: number of incomplete sums
    std::vector<comm::Handle> handles_;    // of started buckets, in order
    Clock::time_point start_;              // start of the first bucket
};

// Messages between ranks that share batch-norm statistics.
//
// They run the same steps in the same order, each on its own micro-batch. A rank that cannot continue (no batch,
// damaged data, a non-finite loss) sends this to the others at the point where they would wait for it.

class NormExchange final : public SumsOverRanks {
public:
    /// `ranks`: size of the group. Groups begin at its multiples.
    NormExchange(comm::Communicator& communicator, std::int32_t ranks);

    /// Call while the graph is compiled: reserves memory for a norm with this many channels.
    void reserve(std::int64_t channels);

    std::int64_t ranks() const override { return group_.count; }
    /// Replaces the mean and biased variance of each channel over this rank's micro-batch by the mean and variance over
    /// the group's micro-batches, all of equal size.
    void merge_moments(std::span<float> mean, std::span<float> variance);
    void add_up(std::span<float> first, std::span<float> second) override;
    /// True if every rank of the group can continue. Collective.
    bool all_go_on(bool this_one);

private:
    /// Gathers two vectors of every rank of the group in received_.
    void gather(std::span<const float> first, std::span<const float> second, std::string_view what);
    float received(std::int64_t rank, std::size_t vector, std::size_t length, std::size_t index) const {
        return received_[(static_cast<std::size_t>(rank) * 2 + vector) * length + index];
    }

    comm::Communicator& communicator_;
    comm::Group group_;
    std::vector<float> sent_;
    std::vector<float> received_;
    std::vector<std::uint64_t> words_;
};

}  // namespace cnntrain::cpu
