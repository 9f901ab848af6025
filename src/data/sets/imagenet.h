// ImageNet TFRecords.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/data/tfrecord.h"
#include "data/images/jpeg.h"
#include "data/records/example.h"
#include "data/sets/damage_log.h"

namespace cnntrain::data {

/// What becomes of a record whose image cannot be decoded. Damaged records (a wrong checksum, no tf.Example, a label
/// out of range) are always errors.
enum class OnBadImage {
    stop,      // Error(data)
    replace,   // the next record's image and label are taken: training
    leave_out  // it is not counted: validation
};

struct ImagenetSettings {
    std::int64_t image_size = 224;
    PixelFormat format = {};
    bool augment = false;  // training crop and flip; otherwise the evaluation preprocessing
    std::int64_t percentage_to_use = 100;
    std::uint64_t seed = 0;  // of the augmentation
    OnBadImage on_bad_image = OnBadImage::stop;
    RecordOptions records = {};
};

class Imagenet final : public Dataset {
public:
    Imagenet(std::vector<std::string> paths, const ImagenetSettings& settings);

    std::int64_t size() const override { return size_; }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    void will_need(std::int64_t index) const noexcept override { records_.will_need(index); }
    std::uint64_t memory_bytes() const override { return records_.memory_bytes(); }
    std::uint64_t cache_bytes() const override { return records_.cache().reserved_bytes; }
    std::int64_t damaged() const override { return damage_.count(); }

private:
    void load(std::int64_t index, Workspace& workspace) const;
    void preprocess(SamplePosition position, std::span<std::byte> image, Workspace& workspace) const;

    ImagenetSettings settings_;
    RecordFiles records_;
    std::int64_t size_;
    mutable DamageLog damage_;
};

/// The largest DCT shrink, of 1, 2, 4 and 8, that leaves a part of this size at least `side` pixels each way.
int largest_shrink(ImageSize part, std::int64_t side);

/// The evaluation preprocessing: decode all, shorter side to floor(S * 256 / 224), centre crop S x S.
void preprocess_for_evaluation(std::span<const std::byte> jpeg, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace);

}  // namespace cnntrain::data
