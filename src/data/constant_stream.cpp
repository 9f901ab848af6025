#include "data/constant_stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "data/image_ops.h"

namespace cnntrain::data {

std::int64_t image_side(const InputSettings& settings) {
    return settings.dataset == DatasetId::imagenet ? settings.image_size : dataset_info(settings.dataset).image_size;
}

ConstantStream::ConstantStream(const InputSettings& data, std::int64_t samples, const LoaderSettings& settings)
    : samples_(samples), feed_(settings.feed), first_sample_(settings.first_sample) {
    CNNTRAIN_CHECK(settings.micro_batch > 0, "a batch holds at least one sample");
    const std::int64_t side = image_side(data);
    images_ = HostTensor({host_format(data).dtype, {settings.micro_batch, side, side, 3}});
    labels_.resize(static_cast<std::size_t>(settings.micro_batch));
    data.kind == DataKind::generated ? make_generated(data) : make_synthetic(data);

    last_labels_ = labels_;
    const std::int64_t in_last = samples_ - (batches_per_pass() - 1) * micro_batch();
    std::fill(last_labels_.begin() + in_last, last_labels_.end(), -1);
}

void ConstantStream::make_generated(const InputSettings& data) {
    Rng rng(data.seed, RngStream::generated_data);
    const auto count = static_cast<std::size_t>(images_.elements() / micro_batch());
    std::vector<float> pixels(count);
    for (float& pixel : pixels) {
        pixel = static_cast<float>(127 + 60 * rng.truncated_normal());
    }
    const std::size_t bytes = count * size_bytes(images_.dtype());
    const std::span<std::byte> first = images_.bytes().first(bytes);
    store_pixels(pixels, host_format(data), first);
    for (std::size_t i = 1; i < labels_.size(); ++i) {
        std::memcpy(images_.bytes().data() + i * bytes, first.data(), bytes);
    }
    const auto label = rng.integer(0, dataset_info(data.dataset).classes - 1);
    std::fill(labels_.begin(), labels_.end(), static_cast<std::int32_t>(label));
}

void ConstantStream::make_synthetic(const InputSettings& data) {
    Rng rng(data.seed, RngStream::synthetic_data);
    std::vector<float> pixels(static_cast<std::size_t>(images_.elements()));
    for (float& pixel : pixels) {
        pixel = static_cast<float>(rng.next_u32() >> 24);
    }
    store_pixels(pixels, host_format(data), images_.bytes());
    for (std::int32_t& label : labels_) {
        label = static_cast<std::int32_t>(rng.integer(0, dataset_info(data.dataset).classes));
    }
}

std::int64_t ConstantStream::batches_per_pass() const {
    return (samples_ + micro_batch() - 1) / micro_batch();
}

Batch ConstantStream::next() {
    const std::int64_t in_pass = delivered_++ % batches_per_pass();
    const bool last = feed_ == Feed::passes && in_pass + 1 == batches_per_pass();
    const std::int64_t valid = last ? samples_ - in_pass * micro_batch() : micro_batch();
    stats_.images += valid;
    return {images_.bytes(), last ? last_labels_ : labels_, valid, {}, {}, std::chrono::steady_clock::now()};
}

}  // namespace cnntrain::data
