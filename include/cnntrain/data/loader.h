// Batches from a data set: worker threads fill a fixed ring of slots, allocated once.
//
// What a stream delivers is a pure function of data set, seed and first sample. Training: sample p of the endless
// stream is record shuffled_order(seed, p / size, size)[p % size]; batches straddle epochs and drop nothing. Passes:
// every sample once, in order; the last batch of a pass is filled up with the data set's padding.
//
// Several ranks share a stream by taking its micro-batches in turn: rank r of n gets batches r, r + n, r + 2n, ...;
// each pass is then padded to whole rounds, so that all ranks see equally many batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cnntrain/data/batch.h"
#include "cnntrain/data/batch_transform.h"
#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

struct StreamStats {
    double wait_seconds = 0;        // next() blocked: the pipeline is too slow
    double work_seconds = 0;        // of all workers together
    StageSeconds stages;            // the parts of that work
    std::int64_t images = 0;        // handed out, without padding
    std::int64_t filled = 0;        // images that the workers have made
    std::int64_t left_out = 0;      // not handed out because they could not be decoded
    std::int64_t damaged = 0;       // met so far: replaced or left out
    std::int64_t ring_batches = 0;  // that are held at most
    std::uint64_t ring_bytes = 0;
    std::uint64_t worker_bytes = 0;   // buffers of the workers
    std::uint64_t dataset_bytes = 0;  // index and order of the data set
    std::uint64_t cache_bytes = 0;    // of encoded records, shared with other processes
};

/// A BatchSource that knows its length and its place.
class Stream : public BatchSource {
public:
    virtual std::int64_t micro_batch() const = 0;  // samples of a batch, padding included
    virtual std::int64_t samples() const = 0;      // per epoch or pass
    /// ceil(samples / (micro batch * ranks)): batches of a validation pass, on each rank.
    virtual std::int64_t batches_per_pass() const = 0;
    /// Training: number of the first sample, over all ranks, of the round that next() returns a batch of; resume with
    /// it.
    virtual std::int64_t position() const = 0;
    virtual StreamStats stats() const = 0;
};

enum class Feed {
    training,  // shuffled, endless
    passes,    // in order, each pass padded to whole batches, again and again
};

struct LoaderSettings {
    Feed feed = Feed::training;
    std::int64_t micro_batch = 1;
    std::int64_t first_sample = 0;  // training: any position; passes: 0
    std::int64_t rank = 0;
    std::int64_t ranks = 1;
    int threads = 1;  // they sleep while the ring is full
    std::int64_t batches_ahead = 16;
    std::int64_t ring_bytes = 1LL << 28;  // bounds the ring: batches_ahead shrinks (to 1 at least) to fit
    std::uint64_t seed = 0;
    std::function<bool()> stop_requested = {};             // asked while next() waits; empty: never
    std::shared_ptr<const BatchTransform> transform = {};  // of each micro-batch; null: none
};

/// What a Loader allocates: the batches ahead of the consumer, one that is being filled and one that the consumer
/// holds.
struct RingSize {
    std::int64_t ahead = 0;
    std::uint64_t bytes = 0;
    std::int64_t batches() const { return ahead + 2; }
};
/// `sample`: the data set's fields.
RingSize ring_size(const std::vector<Field>& sample, const LoaderSettings& settings);

/// What a Loader delivers of a data set with these fields: each with N in front, and what the transform makes.
std::vector<Field> batch_fields(const std::vector<Field>& sample, const LoaderSettings& settings);

class Loader final : public Stream {
public:
    Loader(std::shared_ptr<const Dataset> dataset, const LoaderSettings& settings);
    ~Loader() override;  // leases may outlive it

    std::vector<Field> fields() const override;
    /// An error met while filling a batch is thrown when that batch is asked for, and ever after. Interrupted when a
    /// stop is asked for before the batch is there.
    Batch next() override;

    std::int64_t micro_batch() const override;
    std::int64_t samples() const override;
    std::int64_t batches_per_pass() const override;
    std::int64_t position() const override;
    StreamStats stats() const override;

private:
    class Ring;                   // a SlotOwner
    std::shared_ptr<Ring> ring_;  // shared with the leases
};

}  // namespace cnntrain::data
