// Loads batches from a data set: worker threads fill a ring of slots that is allocated once.
//
// The stream is a pure function of data set, seed and first sample. Training: sample p of the endless stream is record
// shuffled_order(seed, p / size, size)[p % size]; batches may span epochs, and no sample is dropped. Sweeps over the
// data: every sample once, in order; the last batch of a sweep is filled with the data set's padding.
//
// Several ranks share a stream by taking its micro-batches in turn: rank r of n gets batches r, r + n, r + 2n, ... Each
// sweep is padded to whole rounds, so that all ranks get the same number of batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

struct StreamStats {
    double wait_seconds = 0;         // time blocked in next(): the pipeline is too slow
    double work_seconds = 0;         // total over all workers
    StageSeconds stages;             // parts of work_seconds
    std::int64_t stored_pixels = 0;  // of the images in the files that were decoded
    std::int64_t workers = 0;
    std::int64_t images = 0;        // delivered, without padding
    std::int64_t filled = 0;        // made by the workers
    std::int64_t left_out = 0;      // not delivered because they could not be decoded
    std::int64_t damaged = 0;       // met so far, whether replaced or left out
    std::int64_t ring_batches = 0;  // capacity of the ring
    std::uint64_t ring_bytes = 0;
    std::uint64_t worker_bytes = 0;   // the workers' buffers
    std::uint64_t dataset_bytes = 0;  // index and order of the data set
};

/// A BatchSource with a known length and position.
class Stream : public BatchSource {
public:
    virtual std::int64_t micro_batch() const = 0;  // samples per batch, including padding
    virtual std::int64_t samples() const = 0;      // per epoch or sweep over the data
    /// ceil(samples / (micro batch * ranks)): batches of one sweep over the data, on each rank.
    virtual std::int64_t batches_per_sweep() const = 0;
    /// Training: the number, over all ranks, of the first sample of the next batch's round. A resumed run gives it as
    /// first_sample.
    virtual std::int64_t position() const = 0;
    virtual StreamStats stats() const = 0;
};

enum class Feed {
    training,  // shuffled, endless
    sweeps,    // in order, repeated; each sweep is padded to whole batches
};

struct LoaderSettings {
    Feed feed = Feed::training;
    std::int64_t micro_batch = 1;
    std::int64_t first_sample = 0;  // training: any position; sweeps: 0
    std::int64_t rank = 0;
    std::int64_t ranks = 1;
    int threads = 1;  // they sleep while the ring is full
    std::int64_t batches_ahead = 16;
    std::int64_t ring_bytes = 1LL << 28;  // limit for the ring: batches_ahead is reduced (to 1 at least) to fit
    std::uint64_t seed = 0;
    std::function<bool()> stop_requested = {};             // called while next() waits; empty: never
    std::shared_ptr<const BatchTransform> transform = {};  // applied to each micro-batch; null: none
    std::shared_ptr<Timeline> timeline = {};               // records what the workers do; null: nothing is recorded
};

/// The opened and validated data of one split.
class Samples {
public:
    virtual ~Samples() = default;
    virtual std::int64_t count() const = 0;
    /// Checkpoints record it: a run goes on with the data that it began with.
    virtual Origin origin() const = 0;
    /// A table (CSV) of the files among the data that are not used; "" if there are none.
    virtual std::string unused_files() const { return ""; }
    /// The files of the samples in the order of a sweep; empty if samples have no files of their own.
    virtual std::vector<std::string> names() const { return {}; }
    /// The fields of a micro-batch, for which graphs are built.
    virtual std::vector<Field> fields(std::int64_t micro_batch) const = 0;
    /// A stream of endless training batches for Split::train, of sweeps over the data for Split::validation. It sets
    /// `settings.feed` and `settings.seed` itself; callers leave them at their defaults.
    virtual std::unique_ptr<Stream> stream(const LoaderSettings& settings) const = 0;
    /// The place of a sample, as messages and lists name it.
    virtual std::string describe(std::int64_t index) const { return "sample " + std::to_string(index); }
};

/// The ring that a Loader allocates: the batches ahead of the consumer, one being filled, and one that the consumer
/// holds.
struct RingSize {
    std::int64_t ahead = 0;
    std::uint64_t bytes = 0;
    std::int64_t batches() const { return ahead + 2; }
};
/// `sample`: the data set's fields.
RingSize ring_size(const std::vector<Field>& sample, const LoaderSettings& settings);

/// The memory that a Loader asks for: its ring, and the memory of its workers.
std::uint64_t loader_bytes(const std::vector<Field>& sample, const LoaderSettings& settings);

/// Fields of a Loader's batches: each sample field with a leading N, and the fields that the transform makes.
std::vector<Field> batch_fields(const std::vector<Field>& sample, const LoaderSettings& settings);

class Loader final : public Stream {
public:
    Loader(std::shared_ptr<const Dataset> dataset, const LoaderSettings& settings);
    ~Loader() override;  // leases may outlive the loader

    std::vector<Field> fields() const override;
    /// An error that occurs while a batch is filled is thrown when that batch is requested, and by every later call.
    /// Throws Interrupted if a stop is requested before the batch is ready.
    Batch next() override;

    std::int64_t micro_batch() const override;
    std::int64_t samples() const override;
    std::int64_t batches_per_sweep() const override;
    std::int64_t position() const override;
    StreamStats stats() const override;

private:
    class Ring;                   // a SlotOwner
    std::shared_ptr<Ring> ring_;  // shared with the leases
};

}  // namespace cnntrain::data
