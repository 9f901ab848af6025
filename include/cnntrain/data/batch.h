// The backend's view of the data pipeline: a source of micro-batches.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/data/field.h"

namespace cnntrain::data {

/// Receives the memory of batches that are no longer used.
class SlotOwner {
public:
    virtual ~SlotOwner() = default;
    virtual void release(std::size_t slot) noexcept = 0;
};

/// Keeps a batch's memory until destroyed. Makes no allocation.
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

/// One micro-batch: the bytes of each field, in the order of the source's fields. The memory, including that of the
/// list of spans, stays valid until the lease is destroyed.
struct Batch {
    std::span<const std::span<const std::byte>> fields;
    std::int64_t valid_count = 0;  // samples that are neither padding nor left out
    /// The number of the batch's first sample, counted over all ranks; sample i of the batch has number first_sample +
    /// i. Training: the position in the endless stream. Micro-batch b = 0, 1, 2, ... of N samples starts at b * N,
    /// independent of the number of ranks and of resuming. Evaluation: the position in the sweep over the data.
    std::int64_t first_sample = 0;
    Lease lease = {};
    std::chrono::steady_clock::time_point created = {};  // time at which its last sample was ready on the host

    /// The elements of a field whose type is T.
    template <typename T> std::span<const T> as(std::size_t field) const {
        return {reinterpret_cast<const T*>(fields[field].data()), fields[field].size() / sizeof(T)};
    }
};

class BatchSource {
public:
    virtual ~BatchSource() = default;
    /// Fields of a micro-batch: first the sample fields with a leading N ([N,H,W,C], i32[N]), then fields that a batch
    /// has once.
    virtual std::vector<Field> fields() const = 0;
    /// Blocks until the next micro-batch is ready. Throws Error(data) if input is damaged.
    virtual Batch next() = 0;
};

}  // namespace cnntrain::data
