// The data set ImageNet, from TFRecords.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/records/tfrecord.h"
#include "data/sets/encoded_images.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {

struct ImagenetSettings {
    EncodedImageSettings images = {};
    std::int64_t classes = 1000;
    std::int64_t percentage_to_use = 100;
    RecordOptions records = {};
};

/// Damaged records (wrong checksum, no tf.Example, label out of range) are always errors.
class Imagenet final : public EncodedImages {
public:
    Imagenet(std::vector<std::string> paths, const ImagenetSettings& settings);

    std::int64_t size() const override { return size_; }
    void will_need(std::int64_t index) const noexcept override { records_.will_need(index); }
    Origin origin() const override { return {.samples = size_, .parts = records_.parts()}; }
    std::uint64_t memory_bytes() const override { return records_.memory_bytes(); }

private:
    Image load(std::int64_t index, Workspace& workspace) const override;
    std::string describe(std::int64_t index) const override { return records_.describe(index); }
    std::string file_of(std::int64_t index) const override { return records_.path_of(index); }

    std::int64_t classes_;
    RecordFiles records_;
    std::int64_t size_;
};

extern const ImageSet kImagenetSet;

}  // namespace cnntrain::data
