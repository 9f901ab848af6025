// Loads batches from a data set: worker threads fill a ring of slots that is allocated once.
//
// The stream is a pure function of data set, seed and first sample. Training: sample p of the endless stream is record
// shuffled_order(seed, p / size, size)[p % size]; batches may span epochs, and no sample is dropped. Sweeps over the
// data: every sample once, in order; the last batch of a sweep is filled with the data set's padding.
//
// Several ranks share a stream by taking its micro-batches in turn: rank r of n gets batches r, r + n, r + 2n, ... Each
// sweep is padded to whole rounds, so that all ranks get the same number of batches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/settings.h"

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
    virtual std::int64_t micro_batch() const = 0;  // rows per batch, including padding
    virtual std::int64_t samples() const = 0;      // per epoch or sweep over the data
    /// ceil(rows / (micro batch * ranks)): batches of one sweep over the data, on each rank.
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
    /// Training: the class of each sample, of which each is drawn equally often; empty: each sample once an epoch.
    std::vector<std::int32_t> classes = {};
    bool checks_memory = true;  // throws where too little is left; false: an equal loader has left what it took
    std::function<bool()> stop_requested = {};             // called while next() waits; empty: never
    std::shared_ptr<const BatchTransform> transform = {};  // applied to each micro-batch; null: none
    std::shared_ptr<Timeline> timeline = {};               // records what the workers do; null: nothing is recorded
};

/// The opened and validated data of one split.
class Samples {
public:
    virtual ~Samples() = default;
    virtual std::int64_t count() const = 0;
    /// Rows per epoch or sweep: fewer than samples where several share one.
    virtual std::int64_t rows() const { return count(); }
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

    std::vector<Field> fields() const override { return ring_->fields(); }
    /// An error that occurs while a batch is filled is thrown when that batch is requested, and by every later call.
    /// Throws Interrupted if a stop is requested before the batch is ready.
    Batch next() override { return ring_->next(); }

    std::int64_t micro_batch() const override { return ring_->micro_batch(); }
    std::int64_t samples() const override { return ring_->samples(); }
    std::int64_t batches_per_sweep() const override { return ring_->batches_per_sweep(); }
    std::int64_t position() const override { return ring_->position(); }
    StreamStats stats() const override { return ring_->stats(); }

private:
    std::shared_ptr<Stream> ring_;  // its workers end with the loader, its memory with the last lease
};

// The interface for training and validation: the opened and checked data of one split, delivered as batches.
//
//     InputSettings settings{{.dataset = DatasetId::cifar10}, find_data_folder(DatasetId::cifar10, dir)};
//     InputData train(settings, Split::train);           // opens and checks files, counts images
//     auto stream = train.stream({.micro_batch = 32, .first_sample = resumed_position, .threads = 2});
//     executable.train_step(*stream, scalars);

class InputData : public Samples {
public:
    /// Throws Error(data) if files are missing or damaged, Error(usage) for impossible settings.
    InputData(const InputSettings& settings, Split split);

    /// Number of samples counted in the files; for generated and synthetic data, the published count.
    std::int64_t count() const override { return samples_; }
    Origin origin() const override;
    std::string unused_files() const override { return std::string(dataset_ ? dataset_->state().unused_files : ""); }
    /// The number of images of each class 0..classes-1, for real data. Of TFRecords, it reads all.
    std::vector<std::int64_t> class_sizes(std::int64_t classes) const;
    /// The class of each image, for real data. Of TFRecords, it reads all.
    std::vector<std::int32_t> classes() const;
    std::string describe(std::int64_t index) const override;  // Dataset::describe()
    /// Dataset::name() of all samples; empty if they have none.
    std::vector<std::string> names() const override;
    std::vector<Field> fields(std::int64_t micro_batch) const override;

    std::unique_ptr<Stream> stream(const LoaderSettings& settings) const override;

private:
    InputSettings settings_;
    Split split_;
    std::shared_ptr<const Dataset> dataset_;  // null unless the data are real
    std::int64_t samples_ = 0;
};

struct SampleCount {
    std::int64_t samples = 0;
    bool exact = true;  // false: estimated from file sizes
};

/// Number of samples that a run uses from the files in `settings.folder`, found from their index, sizes and headers.
/// Writes nothing and takes about a second at most. Throws Error(data) if files are missing or damaged.
SampleCount count_samples(const InputSettings& settings, Split split);

/// InputData::fields() of a split that need not be there. Reads no file.
std::vector<Field> batch_fields(const InputSettings& settings, Split split, std::int64_t micro_batch);

/// Size of the ring of the split's stream, for real data. Reads no file.
RingSize ring_size(const InputSettings& settings, Split split, LoaderSettings loader);

// Mixup (Zhang et al. 2017) and cutmix (Yun et al. 2019) of a training micro-batch: partners, coefficients, and mixing
// on the host.
//
// Each sample is mixed with others of its micro-batch: the partner of sample n at distance d is sample (n - d) mod N.
// Mixup first mixes in the partner at distance 1; cutmix then copies a box from the mixed partner at
// nn::cutmix_distance(N). An image thus combines up to four images, and its target up to four labels.

/// The fields of a mixed micro-batch in addition to those of its samples: kMixup and kCutmixBox for the kinds of mixing
/// that the device does, and kTargetShares.
std::vector<Field> mixing_fields(const nn::MixingSettings& settings, std::int64_t micro_batch);

/// Draws from Beta(alpha, alpha), alpha > 0.
double sample_beta(double alpha, Rng& rng);

/// Draws the share of an image that cutmix leaves, before the box is rounded to pixels. Version 2: lambda. Version 1: 1
/// (no cut) with probability 1.55 lambda - 0.96, otherwise 1 + ln(u) / 4 with u uniform in [exp(-4), 1).
double sample_cutmix_share(const nn::MixingSettings& settings, Rng& rng);

/// Top, bottom, left, right; half-open.
using Box4 = std::array<std::int32_t, 4>;
/// Draws a box that leaves about `share` of the image. It has the image's aspect ratio and lies completely inside the
/// image: its centre is uniform and then moved inwards as far as necessary.
Box4 sample_cutmix_box(double share, std::int64_t height, std::int64_t width, Rng& rng);
/// 1 - box pixels / pixels.
double share_outside(const Box4& box, std::int64_t height, std::int64_t width);

/// Computes the weight [N,P] of each partner's label, with P as in nn::target_distances(). `mixup`: share of each
/// sample's own image; empty: no mixup. `outside`: share of the image outside the box; empty: no cutmix.
void fill_target_shares(std::span<const float> mixup, std::optional<double> outside, std::span<float> shares);

/// The coefficients of one micro-batch. After allocate(), draw() makes no allocation for the same number of samples.
class MixingCoefficients {
public:
    void allocate(const nn::MixingSettings& settings, std::int64_t samples);
    /// The result depends only on the arguments. `images` is [N,H,W,C].
    void draw(const nn::MixingSettings& settings, std::uint64_t seed, std::int64_t batch_number, const Shape& images);
    /// The bytes of each of mixing_fields(), in the same order.
    void view(std::span<std::span<const std::byte>> fields) const;

    const std::vector<float>& mixup() const { return mixup_; }
    const Box4& box() const { return box_; }
    const std::vector<float>& target_shares() const { return target_shares_; }

private:
    bool on_host_ = false;
    bool cutmix_ = false;
    std::vector<float> mixup_;  // empty: no mixup
    Box4 box_{};
    std::vector<float> target_shares_;
};

/// Mixes the images of samples with image_fields(), or adds the fields that the device needs to mix them. The host
/// mixes f32 images and converts the result to `host_mixed_type`. Null if the settings ask for no mixing.
std::shared_ptr<const BatchTransform> mixing_transform(const nn::MixingSettings& settings, std::uint64_t seed,
                                                       DType host_mixed_type);

/// Mixes f32 images [N,H,W,C] and stores them as f32, bf16 (nearest even) or u8 (truncated, clamped to 0..255).
void mix_on_host(const nn::MixingSettings& settings, const MixingCoefficients& coefficients, const Shape& shape,
                 std::span<const float> images, DType type, std::span<std::byte> mixed);

// Mirror images for evaluation: a network's answer is its mean over an image and its mirror image.

/// Replaces the images [N,H,W,C] of samples with image_fields() by [2N,H,W,C]: each image is followed by the same one
/// mirrored left to right.
std::shared_ptr<const BatchTransform> mirroring_transform();

}  // namespace cnntrain::data
