// What a backend sees of the data pipeline: micro-batches, pulled one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

/// Who takes a batch's memory back.
class SlotOwner {
public:
    virtual ~SlotOwner() = default;
    virtual void release(std::size_t slot) noexcept = 0;
};

/// Keeps a batch's memory until it is destroyed. Costs no allocation.
class Lease {
public:
    Lease() = default;
    Lease(std::shared_ptr<SlotOwner> owner, std::size_t slot) : owner_(std::move(owner)), slot_(slot) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&& other) noexcept {
        give_back();
        owner_ = std::move(other.owner_);
        slot_ = other.slot_;
        return *this;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { give_back(); }

private:
    void give_back() noexcept {
        if (owner_) owner_->release(slot_);
        owner_.reset();
    }

    std::shared_ptr<SlotOwner> owner_;
    std::size_t slot_ = 0;
};

/// What a micro-batch's samples are mixed with (mixing.h); empty spans where there is no such mixing, or where the device
/// does not need it because the host has mixed the images.
struct Mixing {
    std::span<const float> mixup;              // [N]: share of each sample's own image
    std::span<const std::int32_t> cutmix_box;  // [4]: top, bottom, left, right; half-open
    std::span<const float> target_shares;      // [N,P], P = target_distances().size(): weight of each partner's label
};

/// Labels of images that count for nothing.
inline constexpr std::int32_t kNoLabel = -1;  // padding, and images that come without one
inline constexpr std::int32_t kLeftOut = -2;  // the image could not be decoded; it is zero

/// One micro-batch: images NHWC in the source's image type, labels 0..classes-1 or one of the above.
/// The memory stays valid until the lease is destroyed.
struct Batch {
    std::span<const std::byte> images;
    std::span<const std::int32_t> labels;
    std::int64_t valid_count = 0;  // samples that are neither padding nor left out
    Lease lease = {};
    Mixing mixing = {};
    std::chrono::steady_clock::time_point created = {};  // when its last sample was ready on the host
};

class BatchSource {
public:
    virtual ~BatchSource() = default;
    virtual TensorDesc image_desc() const = 0;  // [N, H, W, C]: f32, bf16 or u8
    /// Blocks until the next micro-batch is ready. Error(data) when input is damaged.
    virtual Batch next() = 0;
};

}  // namespace cnntrain::data
