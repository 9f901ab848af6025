// The backend's view of the data pipeline: a source of micro-batches.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

// Samples as named fields. Only data sets and networks interpret fields; all code in between knows them by number.

/// One named tensor, of a sample ("images": f32[H,W,C], "labels": i32[]) or of a micro-batch ("images": f32[N,H,W,C]).
struct Field {
    std::string name;
    TensorDesc desc;

    bool operator==(const Field&) const = default;
};

/// Total size of all fields.
std::size_t total_bytes(const std::vector<Field>& fields);

/// Error(internal), with the existing names, if there is no field of this name.
std::size_t field_number(const std::vector<Field>& fields, std::string_view name);
const TensorDesc& field_desc(const std::vector<Field>& fields, std::string_view name);
bool has_field(const std::vector<Field>& fields, std::string_view name);

/// Destination of one sample: the bytes of each field, in the order of the data set's fields.
using SampleView = std::span<const std::span<std::byte>>;

/// The elements of a field.
template <typename T> std::span<T> values_in(std::span<std::byte> field) {
    return {reinterpret_cast<T*>(field.data()), field.size() / sizeof(T)};
}

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
    /// The number of the batch's first row, counted over all ranks; row i of the batch has number first_sample + i.
    /// Training: the position in the endless stream. Micro-batch b = 0, 1, 2, ... of N rows starts at b * N,
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

/// The same micro-batch again and again.
class FixedBatch final : public BatchSource {
public:
    /// The caller keeps the bytes, unless they are those of `held`.
    FixedBatch(std::vector<Field> fields, std::vector<std::span<const std::byte>> bytes, std::int64_t samples,
               std::vector<HostTensor> held = {})
        : fields_(std::move(fields)), bytes_(std::move(bytes)), samples_(samples), held_(std::move(held)) {}

    std::vector<Field> fields() const override { return fields_; }
    Batch next() override { return {.fields = bytes_, .valid_count = samples_, .first_sample = samples_ * pulls_++}; }

private:
    std::vector<Field> fields_;
    std::vector<std::span<const std::byte>> bytes_;
    std::int64_t samples_;
    std::vector<HostTensor> held_;
    std::int64_t pulls_ = 0;
};

// Operations on a complete micro-batch, such as mixing its samples.

struct MadeField {
    Field field;                               // of a micro-batch
    std::optional<std::size_t> replaces = {};  // the sample field that it replaces; empty: appended after all fields
};

class BatchTransform {
public:
    virtual ~BatchTransform() = default;
    /// The fields made from a micro-batch with these fields. Fields that are not replaced are delivered unchanged.
    virtual std::vector<MadeField> makes(const std::vector<Field>& batch) const = 0;
    /// Writes the made fields. `number`: number of the micro-batch in the stream of all ranks. The result depends only
    /// on the arguments. Thread-safe.
    virtual void make(std::int64_t number, const std::vector<Field>& fields,
                      std::span<const std::span<const std::byte>> batch,
                      std::span<const std::span<std::byte>> made) const = 0;
};

// The fields of classified images. The names match the networks' inputs.

inline constexpr std::string_view kImages = "images";  // [H,W,C]: f32, bf16 or u8
/// i32[]: 0..classes-1, or one of the two values below. With several labels i32[C]: 0 or 1, or one of them everywhere.
inline constexpr std::string_view kLabels = "labels";

/// Labels of images that do not count.
inline constexpr std::int32_t kNoLabel = -1;  // padding, or an image without a label
inline constexpr std::int32_t kLeftOut = -2;  // the image could not be decoded; its pixels are 0

// Fields of a micro-batch with mixed images (loader.h).
inline constexpr std::string_view kMixup = "mixup";                 // f32[N]: share of each sample's own image
inline constexpr std::string_view kCutmixBox = "cutmix_box";        // i32[4]: top, bottom, left, right; half-open
inline constexpr std::string_view kTargetShares = "target_shares";  // f32[N,P]: weight of each partner's label

/// Fields of one sample: kImages described by `image`, then kLabels. `labels`: C of several labels; 0: one label.
std::vector<Field> image_fields(const TensorDesc& image, std::int64_t labels = 0);

}  // namespace cnntrain::data
