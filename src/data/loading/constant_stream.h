// Generated and synthetic data: one batch, made once and delivered repeatedly.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"
#include "data/loading/stream_places.h"

namespace cnntrain::data {

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
std::int64_t image_side(const InputSettings& settings);

}  // namespace cnntrain::data
