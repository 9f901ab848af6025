// ImageNet TFRecords.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/data/tfrecord.h"
#include "data/example.h"

namespace cnntrain::data {

struct ImagenetSettings {
    std::int64_t image_size = 224;
    PixelFormat format = {};
    bool augment = false;  // training crop and flip; otherwise the evaluation preprocessing
    double percentage_to_use = 100;
    std::uint64_t seed = 0;  // of the augmentation
    int threads = 1;         // to index the files
};

class Imagenet final : public Dataset {
public:
    Imagenet(std::vector<std::string> paths, const ImagenetSettings& settings);

    std::int64_t size() const override { return size_; }
    TensorDesc image_desc() const override;
    std::int32_t read(std::int64_t index, SamplePosition position, std::span<std::byte> image,
                      Workspace& workspace) const override;

private:
    void preprocess(const ImageExample& example, SamplePosition position, std::span<std::byte> image,
                    Workspace& workspace) const;

    ImagenetSettings settings_;
    RecordFiles records_;
    std::int64_t size_;
};

/// The evaluation preprocessing: decode all, shorter side to floor(S * 256 / 224), centre crop S x S.
void preprocess_for_evaluation(std::span<const std::byte> jpeg, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace);

}  // namespace cnntrain::data
