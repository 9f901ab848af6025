// Generated and synthetic data: one batch, made once, handed out for ever.
#pragma once

#include <vector>

#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

class ConstantStream final : public Stream {
public:
    /// Generated: one image, truncated normal around 127 with deviation 60, and one label in 0..classes-2, repeated.
    /// Synthetic: random images and labels. In a pass the samples beyond the published count have label -1.
    ConstantStream(const InputSettings& data, std::int64_t samples, const LoaderSettings& settings);

    TensorDesc image_desc() const override { return images_.desc(); }
    Batch next() override;
    std::int64_t samples() const override { return samples_; }
    std::int64_t batches_per_pass() const override;
    std::int64_t position() const override { return first_sample_ + delivered_ * micro_batch(); }
    StreamStats stats() const override { return stats_; }

private:
    std::int64_t micro_batch() const { return images_.shape().front(); }
    void make_generated(const InputSettings& data);
    void make_synthetic(const InputSettings& data);

    std::int64_t samples_;
    Feed feed_;
    std::int64_t first_sample_;
    std::int64_t delivered_ = 0;
    HostTensor images_;
    std::vector<std::int32_t> labels_;
    std::vector<std::int32_t> last_labels_;  // of the last, padded batch of a pass
    StreamStats stats_;
};

/// The side of the images that the settings ask for.
std::int64_t image_side(const InputSettings& settings);

}  // namespace cnntrain::data
