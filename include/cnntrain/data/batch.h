// What a backend sees of the data pipeline: micro-batches, pulled one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

/// One micro-batch: images NHWC in the source's image type, labels 0..classes-1, or -1 for padding.
/// The memory stays valid until the lease is destroyed.
struct Batch {
    std::span<const std::byte> images;
    std::span<const std::int32_t> labels;
    std::int64_t valid_count = 0;  // samples that are not padding
    std::shared_ptr<void> lease;   // returns the slot to the ring
};

class BatchSource {
public:
    virtual ~BatchSource() = default;
    virtual TensorDesc image_desc() const = 0;  // [N, H, W, C]: f32, bf16 or u8
    /// Blocks until the next micro-batch is ready. Error(data) when input is damaged.
    virtual Batch next() = 0;
};

}  // namespace cnntrain::data
