#include "data/loading/constant_stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/resolve.h"
#include "data/images/image_ops.h"

namespace cnntrain::data {

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

}  // namespace cnntrain::data
