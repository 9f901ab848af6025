// What a backend sees of the data pipeline: micro-batches, pulled one at a time.
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

/// One micro-batch: the bytes of each field, in the order of the source's fields. The memory, that of the list of spans
/// too, stays valid until the lease is destroyed.
struct Batch {
    std::span<const std::span<const std::byte>> fields;
    std::int64_t valid_count = 0;  // samples that are neither padding nor left out
    /// The number of the batch's first sample among those of all ranks; sample i of the batch has first_sample + i.
    /// Training: in the endless stream, whose micro-batches b = 0, 1, 2, ... of N samples begin at b * N, whoever of
    /// the ranks gets them and wherever the run was resumed. Evaluation: within the pass.
    std::int64_t first_sample = 0;
    Lease lease = {};
    std::chrono::steady_clock::time_point created = {};  // when its last sample was ready on the host

    /// A field whose elements are of type T.
    template <typename T> std::span<const T> as(std::size_t field) const {
        return {reinterpret_cast<const T*>(fields[field].data()), fields[field].size() / sizeof(T)};
    }
};

class BatchSource {
public:
    virtual ~BatchSource() = default;
    /// Of a micro-batch: those of the samples with N in front ([N,H,W,C], i32[N]), then what a batch has once.
    virtual std::vector<Field> fields() const = 0;
    /// Blocks until the next micro-batch is ready. Error(data) when input is damaged.
    virtual Batch next() = 0;
};

}  // namespace cnntrain::data
