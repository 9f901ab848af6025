#include "cnntrain/data/loader.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
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
#include "data/images/preprocess.h"
#include "data/loading/stream_places.h"
#include "data/sets/resolve.h"
#include "data/threads.h"

namespace cnntrain::data {
namespace {

// Generated and synthetic data: one batch, made once and delivered repeatedly.

/// Side of the images in pixels.
std::int64_t image_side(const InputSettings& settings) {
    const DatasetInfo& info = dataset_info(settings.dataset);
    return info.any_image_size ? settings.image_size : info.image_size;
}

class ConstantStream final : public Stream {
public:
    /// Generated: one image, truncated normal with mean 127 and deviation 60, and one label in 0..classes-2, repeated.
    /// Synthetic: random images and labels. In a sweep over the data, samples beyond the published count have label -1.
    ConstantStream(const InputSettings& data, std::int64_t samples, const LoaderSettings& settings)
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

    std::vector<Field> fields() const override {
        return {{std::string(kImages), images_.desc()}, {std::string(kLabels), labels_.desc()}};
    }

    Batch next() override {
        const std::int64_t number = delivered_++;
        const std::int64_t first_sample = places_.first_sample(number);
        const bool last = feed_ == Feed::sweeps && (number + 1) % batches_per_sweep() == 0;
        const std::int64_t valid = last ? valid_of(first_sample) : micro_batch();
        stats_.images += valid;
        return {last ? last_fields_ : fields_, valid, first_sample, {}, std::chrono::steady_clock::now()};
    }

    std::int64_t micro_batch() const override { return labels_.shape().front(); }
    std::int64_t samples() const override { return samples_; }
    std::int64_t batches_per_sweep() const override { return places_.batches_per_sweep(); }
    std::int64_t position() const override { return places_.round_begin(delivered_); }
    StreamStats stats() const override { return stats_; }

private:
    /// Number of valid samples in a batch that starts at `first_sample` of a sweep over the data.
    std::int64_t valid_of(std::int64_t first_sample) const {
        return std::clamp<std::int64_t>(samples_ - first_sample, 0, micro_batch());
    }

    void make_generated(const InputSettings& data) {
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

    void make_synthetic(const InputSettings& data) {
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
    void transform_images(const BatchTransform& transform) {
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

/// The format of samples before mixing, which needs f32 images; mixing then converts them to the batch's type.
PixelFormat format_of_samples(const InputSettings& settings, Split split) {
    PixelFormat format = host_format(settings);
    const nn::MixingSettings mixing = effective_mixing(settings);
    if (split == Split::train && mixing.any() && mixing.on_host) format.dtype = DType::f32;
    return format;
}

std::vector<Field> sample_fields(const InputSettings& settings, Split split) {
    const std::int64_t side = image_side(settings);
    return image_fields({format_of_samples(settings, split).dtype, {side, side, 3}}, label_count(settings));
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
        names.push_back(dataset_->place(i).file);
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
            dataset_->count_labels(index, workspace, sizes);
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

std::vector<std::int32_t> InputData::classes() const {
    CNNTRAIN_CHECK(dataset_ != nullptr, "only real data have classes of samples");
    std::vector<std::int32_t> labels(static_cast<std::size_t>(dataset_->size()));
    tbb::enumerable_thread_specific<Workspace> workspaces;
    for_each_index(settings_.threads, labels.size(), [&](std::size_t i) {
        labels[i] = dataset_->label(static_cast<std::int64_t>(i), workspaces.local());
    });
    return labels;
}

std::string InputData::describe(std::int64_t index) const {
    return dataset_ ? dataset_->place(index).text : "sample " + std::to_string(index);
}

std::vector<Field> InputData::fields(std::int64_t micro_batch) const {
    return batch_fields(settings_, split_, micro_batch);
}

std::unique_ptr<Stream> InputData::stream(const LoaderSettings& settings) const {
    LoaderSettings whole = completed(settings, settings_, split_);
    if (dataset_ && settings_.balanced && whole.feed == Feed::training) whole.classes = classes();
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

namespace {

/// Logarithm of a Gamma(alpha, 1) variate; the variate itself may be too small for a double. Draws for alpha + 1 by
/// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), and converts to alpha by their section
/// 6.
double log_gamma_variate(double alpha, Rng& rng) {
    const double d = alpha + 1 - 1.0 / 3.0;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {
        const double x = rng.normal();
        const double root = 1 + c * x;
        const double u = 1 - rng.uniform();
        if (root <= 0) continue;
        const double log_v = 3 * std::log(root);
        if (std::log(u) < x * x / 2 + d - d * std::exp(log_v) + d * log_v)
            return std::log(d) + log_v + std::log(1 - rng.uniform()) / alpha;
    }
}

}  // namespace

double sample_beta(double alpha, Rng& rng) {
    CNNTRAIN_CHECK(alpha > 0, "beta numbers need a positive alpha");
    const double first = log_gamma_variate(alpha, rng);
    const double second = log_gamma_variate(alpha, rng);
    return 1 / (1 + std::exp(second - first));
}

double sample_cutmix_share(const nn::MixingSettings& settings, Rng& rng) {
    if (settings.cutmix_version == 2) return settings.cutmix_lambda;
    const double u0 = rng.uniform();
    const double u1 = rng.uniform(std::exp(-4.0), 1);
    if (u0 < 1.55 * settings.cutmix_lambda - 0.96) return 1;
    return 1 + std::log(u1) / 4;
}

Box4 sample_cutmix_box(double share, std::int64_t height, std::int64_t width, Rng& rng) {
    const double scale = std::sqrt(std::clamp(1 - share, 0.0, 1.0));
    const auto edges = [&](std::int64_t whole) {
        const auto extent = static_cast<double>(whole);
        const double size = extent * scale;
        const double centre = std::clamp(rng.uniform(0, extent), size / 2, extent - size / 2);
        const auto pixel = [&](double edge) {
            return static_cast<std::int32_t>(std::clamp(std::nearbyint(edge), 0.0, extent));
        };
        return std::array{pixel(centre - size / 2), pixel(centre + size / 2)};
    };
    const auto columns = edges(width);
    const auto rows = edges(height);
    return {rows[0], rows[1], columns[0], columns[1]};
}

double share_outside(const Box4& box, std::int64_t height, std::int64_t width) {
    const double pixels = static_cast<double>(box[1] - box[0]) * static_cast<double>(box[3] - box[2]);
    return 1 - pixels / static_cast<double>(height * width);
}

void fill_target_shares(std::span<const float> mixup, std::optional<double> outside, std::span<float> shares) {
    const std::size_t of_image = mixup.empty() ? 1 : 2;  // number of images that mixup combines into one
    const std::size_t partners = of_image * (outside ? 2 : 1);
    const std::size_t samples = shares.size() / partners;
    const auto put = [&](std::size_t at, double weight, std::size_t image) {
        const double own = mixup.empty() ? 1.0 : static_cast<double>(mixup[image]);
        shares[at] = static_cast<float>(weight * own);
        if (!mixup.empty()) shares[at + 1] = static_cast<float>(weight * (1 - own));
    };
    for (std::size_t n = 0; n < samples; ++n) {
        put(n * partners, outside.value_or(1), n);
        if (!outside) continue;
        const std::int64_t distance = nn::cutmix_distance(static_cast<std::int64_t>(samples));
        put(n * partners + of_image, 1 - *outside, mixing_partner(n, distance, samples));
    }
}

std::vector<Field> mixing_fields(const nn::MixingSettings& settings, std::int64_t micro_batch) {
    std::vector<Field> fields;
    if (!settings.on_host && settings.mixup()) fields.push_back({std::string(kMixup), {DType::f32, {micro_batch}}});
    if (!settings.on_host && settings.cutmix()) fields.push_back({std::string(kCutmixBox), {DType::i32, {4}}});
    const auto partners = static_cast<std::int64_t>(nn::target_distances(settings, micro_batch).size());
    fields.push_back({std::string(kTargetShares), {DType::f32, {micro_batch, partners}}});
    return fields;
}

void MixingCoefficients::allocate(const nn::MixingSettings& settings, std::int64_t samples) {
    const auto count = static_cast<std::size_t>(samples);
    const std::size_t partners = std::size_t{settings.mixup() ? 2U : 1U} * (settings.cutmix() ? 2U : 1U);
    mixup_.resize(settings.mixup() ? count : 0);
    target_shares_.resize(count * partners);
}

void MixingCoefficients::draw(const nn::MixingSettings& settings, std::uint64_t seed, std::int64_t batch_number,
                              const Shape& images) {
    CNNTRAIN_CHECK(images.size() == 4 && images[0] >= 2, "only a micro-batch of several samples can be mixed");
    const auto index = static_cast<std::uint64_t>(batch_number);
    on_host_ = settings.on_host;
    cutmix_ = settings.cutmix();
    allocate(settings, images[0]);
    Rng mixup_rng(seed, RngStream::mixup, 0, index);
    for (float& own : mixup_) {
        const double drawn = sample_beta(settings.mixup_alpha, mixup_rng);
        own = static_cast<float>(std::max(drawn, 1 - drawn));
    }
    box_ = {};
    std::optional<double> outside;
    if (cutmix_) {
        Rng cutmix_rng(seed, RngStream::cutmix, 0, index);
        const double share = sample_cutmix_share(settings, cutmix_rng);
        box_ = sample_cutmix_box(share, images[1], images[2], cutmix_rng);
        outside = share_outside(box_, images[1], images[2]);
    }
    fill_target_shares(mixup_, outside, target_shares_);
}

void MixingCoefficients::view(std::span<std::span<const std::byte>> fields) const {
    std::size_t next = 0;
    if (!on_host_ && !mixup_.empty()) fields[next++] = std::as_bytes(std::span(mixup_));
    if (!on_host_ && cutmix_) fields[next++] = std::as_bytes(std::span(box_));
    fields[next] = std::as_bytes(std::span(target_shares_));
}

namespace {

/// Computes one row of pixels of a mixed image, own * a + (1 - own) * b, into a buffer.
class RowMixer {
public:
    RowMixer(const MixingCoefficients& coefficients, const Shape& shape, std::span<const float> images)
        : coefficients_(coefficients),
          images_(images),
          samples_(static_cast<std::size_t>(shape[0])),
          height_(static_cast<std::size_t>(shape[1])),
          channels_(static_cast<std::size_t>(shape[3])),
          row_(static_cast<std::size_t>(shape[2] * shape[3])) {}

    std::span<const float> row() const { return row_; }

    /// Computes pixels [first, end) of row h of mixed image n.
    void mix(std::size_t n, std::size_t h, std::size_t first, std::size_t end) {
        const float* a = source(n, h);
        if (coefficients_.mixup().empty()) {
            std::copy(a + first * channels_, a + end * channels_, row_.data() + first * channels_);
            return;
        }
        const float* b = source(mixing_partner(n, 1, samples_), h);
        const float own = coefficients_.mixup()[n];
        const float other = 1 - own;
        for (std::size_t i = first * channels_; i < end * channels_; ++i)
            row_[i] = own * a[i] + other * b[i];
    }

private:
    const float* source(std::size_t n, std::size_t h) const { return images_.data() + (n * height_ + h) * row_.size(); }

    const MixingCoefficients& coefficients_;
    std::span<const float> images_;
    std::size_t samples_, height_, channels_;
    std::vector<float> row_;
};

}  // namespace

void mix_on_host(const nn::MixingSettings& settings, const MixingCoefficients& coefficients, const Shape& shape,
                 std::span<const float> images, DType type, std::span<std::byte> mixed) {
    const auto samples = static_cast<std::size_t>(shape[0]);
    const auto height = static_cast<std::size_t>(shape[1]);
    const auto width = static_cast<std::size_t>(shape[2]);
    const std::size_t row_bytes = width * static_cast<std::size_t>(shape[3]) * size_bytes(type);
    CNNTRAIN_CHECK(mixed.size() == samples * height * row_bytes, "mixed images of another size");
    const std::int64_t distance = nn::cutmix_distance(shape[0]);
    const Box4& box = coefficients.box();
    RowMixer mixer(coefficients, shape, images);
    for (std::size_t n = 0; n < samples; ++n) {
        for (std::size_t h = 0; h < height; ++h) {
            const auto row = static_cast<std::int32_t>(h);
            mixer.mix(n, h, 0, width);
            if (settings.cutmix() && row >= box[0] && row < box[1]) {
                mixer.mix(mixing_partner(n, distance, samples), h, static_cast<std::size_t>(box[2]),
                          static_cast<std::size_t>(box[3]));
            }
            store_pixels(mixer.row(), {type, std::nullopt}, mixed.subspan((n * height + h) * row_bytes, row_bytes));
        }
    }
}

namespace {

class Mixing final : public BatchTransform {
public:
    Mixing(const nn::MixingSettings& settings, std::uint64_t seed, DType host_mixed_type)
        : settings_(settings), seed_(seed), host_mixed_type_(host_mixed_type) {}

    std::vector<MadeField> makes(const std::vector<Field>& batch) const override {
        const std::size_t images = field_number(batch, kImages);
        const TensorDesc& unmixed = batch[images].desc;
        std::vector<MadeField> made;
        if (settings_.on_host) {
            CNNTRAIN_CHECK(unmixed.dtype == DType::f32, "the host mixes f32 images");
            made.push_back({{std::string(kImages), {host_mixed_type_, unmixed.shape}}, images});
        }
        for (Field& field : mixing_fields(settings_, unmixed.shape.at(0)))
            made.push_back({std::move(field)});
        return made;
    }

    void make(std::int64_t number, const std::vector<Field>& fields, std::span<const std::span<const std::byte>> batch,
              std::span<const std::span<std::byte>> made) const override {
        const std::size_t images = field_number(fields, kImages);
        const Shape& shape = fields[images].desc.shape;
        thread_local MixingCoefficients coefficients;  // reuses its memory for all batches
        coefficients.draw(settings_, seed_, number, shape);
        if (settings_.on_host) {
            const std::span<const std::byte> unmixed = batch[images];
            mix_on_host(settings_, coefficients, shape,
                        {reinterpret_cast<const float*>(unmixed.data()), unmixed.size() / sizeof(float)},
                        host_mixed_type_, made.front());
            made = made.subspan(1);
        }
        std::array<std::span<const std::byte>, 3> drawn;
        coefficients.view(drawn);
        for (std::size_t i = 0; i < made.size(); ++i)
            std::ranges::copy(drawn[i], made[i].begin());
    }

private:
    nn::MixingSettings settings_;
    std::uint64_t seed_;
    DType host_mixed_type_;
};

}  // namespace

std::shared_ptr<const BatchTransform> mixing_transform(const nn::MixingSettings& settings, std::uint64_t seed,
                                                       DType host_mixed_type) {
    if (!settings.any()) return nullptr;
    return std::make_shared<Mixing>(settings, seed, host_mixed_type);
}

namespace {

class Mirroring final : public BatchTransform {
public:
    std::vector<MadeField> makes(const std::vector<Field>& batch) const override {
        const std::size_t images = field_number(batch, kImages);
        TensorDesc both = batch[images].desc;
        both.shape.at(0) *= 2;
        return {{{std::string(kImages), both}, images}};
    }

    void make(std::int64_t /*number*/, const std::vector<Field>& fields,
              std::span<const std::span<const std::byte>> batch,
              std::span<const std::span<std::byte>> made) const override {
        const std::size_t images = field_number(fields, kImages);
        const TensorDesc& desc = fields[images].desc;
        const auto rows = static_cast<std::size_t>(desc.shape.at(1));
        const auto columns = static_cast<std::size_t>(desc.shape.at(2));
        const std::size_t pixel = static_cast<std::size_t>(desc.shape.at(3)) * size_bytes(desc.dtype);
        const std::size_t image = rows * columns * pixel;
        const std::byte* from = batch[images].data();
        std::byte* to = made.front().data();
        for (std::int64_t n = 0; n < desc.shape.at(0); ++n, from += image) {
            std::memcpy(to, from, image);
            to += image;
            for (std::size_t y = 0; y < rows; ++y) {
                for (std::size_t x = columns; x > 0; --x, to += pixel)
                    std::memcpy(to, from + (y * columns + x - 1) * pixel, pixel);
            }
        }
    }
};

}  // namespace

std::shared_ptr<const BatchTransform> mirroring_transform() {
    return std::make_shared<Mirroring>();
}

}  // namespace cnntrain::data
