#include "cnntrain/data/loader.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/data/settings.h"
#include "data/images/image_ops.h"
#include "data/loading/stream_places.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {
namespace {

// Generated and synthetic data: one batch, made once and delivered repeatedly.

class ConstantStream final : public Stream {
public:
    /// Generated: one image, truncated normal with mean 127 and deviation 60, and one label in 0..classes-2, repeated.
    /// Synthetic: random images and labels. In a sweep over the data, samples beyond the published count have label -1.
    ConstantStream(const InputSettings& data, std::int64_t samples, const LoaderSettings& settings);

    std::vector<Field> fields() const override;
    Batch next() override;
    std::int64_t micro_batch() const override { return labels_.shape().front(); }
    std::int64_t samples() const override { return samples_; }
    std::int64_t batches_per_sweep() const override { return places_.batches_per_sweep(); }
    std::int64_t position() const override { return places_.round_begin(delivered_); }
    StreamStats stats() const override { return stats_; }

private:
    std::int64_t valid_of(std::int64_t first_sample) const;
    void make_generated(const InputSettings& data);
    void make_synthetic(const InputSettings& data);
    void transform_images(const BatchTransform& transform);

    std::int64_t samples_;
    Feed feed_;
    StreamPlaces places_;
    std::int64_t delivered_ = 0;
    HostTensor images_;
    HostTensor labels_;
    HostTensor last_labels_;  // of the last, padded batch of a sweep over the data
    std::array<std::span<const std::byte>, 2> fields_;
    std::array<std::span<const std::byte>, 2> last_fields_;
    StreamStats stats_;
};

/// Side of the images in pixels.
std::int64_t image_side(const InputSettings& settings) {
    const DatasetInfo& info = dataset_info(settings.dataset);
    return info.any_image_size ? settings.image_size : info.image_size;
}

ConstantStream::ConstantStream(const InputSettings& data, std::int64_t samples, const LoaderSettings& settings)
    : samples_(samples), feed_(settings.feed), places_(samples, settings) {
    CNNTRAIN_CHECK(settings.micro_batch > 0, "a batch holds at least one sample");
    CNNTRAIN_CHECK(class_count(data) > 0, "made images need a published data set");
    const std::int64_t side = image_side(data);
    images_ = HostTensor({host_format(data).dtype, {settings.micro_batch, side, side, 3}});
    labels_ = HostTensor({DType::i32, {settings.micro_batch}});
    data.kind == DataKind::generated ? make_generated(data) : make_synthetic(data);
    if (settings.transform) transform_images(*settings.transform);

    last_labels_ = labels_;
    const std::int64_t in_last = valid_of(places_.first_sample(batches_per_sweep() - 1));
    std::ranges::fill(last_labels_.as<std::int32_t>().subspan(static_cast<std::size_t>(in_last)), kNoLabel);
    fields_ = {images_.bytes(), labels_.bytes()};
    last_fields_ = {images_.bytes(), last_labels_.bytes()};
}

std::vector<Field> ConstantStream::fields() const {
    return {{std::string(kImages), images_.desc()}, {std::string(kLabels), labels_.desc()}};
}

/// Number of valid samples in a batch that starts at `first_sample` of a sweep over the data.
std::int64_t ConstantStream::valid_of(std::int64_t first_sample) const {
    return std::clamp<std::int64_t>(samples_ - first_sample, 0, micro_batch());
}

void ConstantStream::make_generated(const InputSettings& data) {
    Rng rng(data.seed, RngStream::generated_data);
    const auto count = static_cast<std::size_t>(images_.elements() / micro_batch());
    std::vector<float> pixels(count);
    for (float& pixel : pixels)
        pixel = static_cast<float>(127 + 60 * rng.truncated_normal());
    const std::size_t bytes = count * size_bytes(images_.dtype());
    const std::span<std::byte> first = images_.bytes().first(bytes);
    store_pixels(pixels, host_format(data), first);
    for (std::size_t i = 1; i < static_cast<std::size_t>(micro_batch()); ++i)
        std::memcpy(images_.bytes().data() + i * bytes, first.data(), bytes);
    const auto label = rng.integer(0, class_count(data) - 1);
    std::ranges::fill(labels_.as<std::int32_t>(), static_cast<std::int32_t>(label));
}

void ConstantStream::make_synthetic(const InputSettings& data) {
    Rng rng(data.seed, RngStream::synthetic_data);
    std::vector<float> pixels(static_cast<std::size_t>(images_.elements()));
    for (float& pixel : pixels)
        pixel = static_cast<float>(rng.next_u32() >> 24);
    store_pixels(pixels, host_format(data), images_.bytes());
    const std::int64_t classes = class_count(data);
    for (std::int32_t& label : labels_.as<std::int32_t>())
        label = static_cast<std::int32_t>(rng.integer(0, classes));
}

/// The transform replaces the images and makes nothing else.
void ConstantStream::transform_images(const BatchTransform& transform) {
    const std::vector<Field> before = fields();
    const std::vector<MadeField> made = transform.makes(before);
    CNNTRAIN_CHECK(made.size() == 1 && made.front().replaces == field_number(before, kImages),
                   "made images are only replaced");
    HostTensor images(made.front().field.desc);
    const std::array<std::span<const std::byte>, 2> from = {images_.bytes(), labels_.bytes()};
    const std::array<std::span<std::byte>, 1> to = {images.bytes()};
    transform.make(0, before, from, to);
    images_ = std::move(images);
}

Batch ConstantStream::next() {
    const std::int64_t number = delivered_++;
    const std::int64_t first_sample = places_.first_sample(number);
    const bool last = feed_ == Feed::sweeps && (number + 1) % batches_per_sweep() == 0;
    const std::int64_t valid = last ? valid_of(first_sample) : micro_batch();
    stats_.images += valid;
    return {last ? last_fields_ : fields_, valid, first_sample, {}, std::chrono::steady_clock::now()};
}

/// The format of samples before mixing, which needs f32 images; mixing then converts them to the batch's type.
PixelFormat format_of_samples(const InputSettings& settings, Split split) {
    PixelFormat format = host_format(settings);
    const nn::MixingSettings mixing = effective_mixing(settings);
    if (split == Split::train && mixing.any() && mixing.on_host) format.dtype = DType::f32;
    return format;
}

std::vector<Field> sample_fields(const InputSettings& settings, Split split) {
    const std::int64_t side = image_side(settings);
    return image_fields({format_of_samples(settings, split).dtype, {side, side, 3}});
}

/// Adds the settings that depend on the data and the split.
LoaderSettings completed(LoaderSettings loader, const InputSettings& settings, Split split) {
    loader.feed = split == Split::train && !settings.in_order ? Feed::training : Feed::sweeps;
    loader.seed = settings.seed;
    if (split == Split::train) {
        loader.transform = mixing_transform(effective_mixing(settings), settings.seed, host_format(settings).dtype);
    } else if (settings.test_time_flip) {
        loader.transform = mirroring_transform();
    }
    return loader;
}

}  // namespace

InputData::InputData(const InputSettings& settings, Split split) : settings_(settings), split_(split) {
    const DType type = settings.compute_dtype;
    CNNTRAIN_CHECK(type == DType::f32 || type == DType::bf16 || type == DType::f16,
                   "images are f32, bf16 or f16 (or u8 by eight-bit IO)");
    CNNTRAIN_CHECK(settings.image_size > 0, "images have at least one pixel");
    const DatasetInfo& info = dataset_info(settings.dataset);
    if (settings.kind != DataKind::real) {
        samples_ = split == Split::train ? info.train_images : info.validation_images;
        return;
    }
    dataset_ = image_set(settings.dataset).open(settings, split, format_of_samples(settings, split));
    samples_ = dataset_->size();
}

std::vector<std::string> InputData::names() const {
    std::vector<std::string> names;
    for (std::int64_t i = 0; dataset_ && i < dataset_->size(); ++i) {
        names.push_back(dataset_->name(i));
        if (names.back().empty()) return {};
    }
    return names;
}

Origin InputData::origin() const {
    if (dataset_) return dataset_->origin();
    const std::string how = settings_.kind == DataKind::generated ? "generated " : "synthetic ";
    return {.samples = samples_, .recipe = how + std::string(dataset_info(settings_.dataset).name) + " images"};
}

std::vector<std::int64_t> InputData::class_sizes(std::int64_t classes) const {
    CNNTRAIN_CHECK(dataset_ != nullptr, "only real data have classes of some size");
    using Range = tbb::blocked_range<std::int64_t>;
    using Sizes = std::vector<std::int64_t>;
    tbb::enumerable_thread_specific<Workspace> workspaces;
    const auto count = [&](const Range& range, Sizes sizes) {
        Workspace& workspace = workspaces.local();
        for (std::int64_t index = range.begin(); index < range.end(); ++index) {
            const std::int32_t label = dataset_->label(index, workspace);
            CNNTRAIN_CHECK(label >= 0 && label < classes, "a label that is no class");
            ++sizes[static_cast<std::size_t>(label)];
        }
        return sizes;
    };
    const auto sum = [](Sizes one, const Sizes& other) {
        std::ranges::transform(one, other, one.begin(), std::plus<>());
        return one;
    };
    constexpr std::int64_t kGrain = 256;  // records that a thread reads one after the other
    const Sizes none(static_cast<std::size_t>(classes), 0);
    tbb::task_arena arena(std::clamp(settings_.threads, 1, tbb::info::default_concurrency()));
    return arena.execute([&] { return tbb::parallel_reduce(Range(0, dataset_->size(), kGrain), none, count, sum); });
}

std::string InputData::describe(std::int64_t index) const {
    return dataset_ ? dataset_->describe(index) : "sample " + std::to_string(index);
}

std::vector<Field> InputData::fields(std::int64_t micro_batch) const {
    return batch_fields(settings_, split_, micro_batch);
}

std::unique_ptr<Stream> InputData::stream(const LoaderSettings& settings) const {
    const LoaderSettings whole = completed(settings, settings_, split_);
    if (!dataset_) return std::make_unique<ConstantStream>(settings_, samples_, whole);
    return std::make_unique<Loader>(dataset_, whole);
}

std::vector<Field> batch_fields(const InputSettings& settings, Split split, std::int64_t micro_batch) {
    return batch_fields(sample_fields(settings, split), completed({.micro_batch = micro_batch}, settings, split));
}

SampleCount count_samples(const InputSettings& settings, Split split) {
    return image_set(settings.dataset).count(settings, split);
}

RingSize ring_size(const InputSettings& settings, Split split, LoaderSettings loader) {
    return ring_size(sample_fields(settings, split), completed(std::move(loader), settings, split));
}

}  // namespace cnntrain::data
