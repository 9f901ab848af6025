// CIFAR-10 and CIFAR-100 binary files (spec cnn-data, sections 1 and 4.3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

struct CifarSettings {
    bool augment = false;      // flip and pad-4 crop
    DType dtype = DType::f32;  // f32 or bf16
    std::uint64_t seed = 0;    // of the augmentation
};

/// All records of the files, in RAM as bytes; standardised per image when read.
class Cifar final : public Dataset {
public:
    /// Error(data): a file that is no whole number of records (with both sizes), a label out of range, no record.
    Cifar(DatasetId id, const std::vector<std::string>& paths, const CifarSettings& settings);

    std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
    TensorDesc image_desc() const override;
    std::int32_t read(std::int64_t index, SamplePosition position, std::span<std::byte> image,
                      Workspace& workspace) const override;

private:
    void add_file(const DatasetInfo& info, const std::string& path);

    CifarSettings settings_;
    std::vector<std::uint8_t> planes_;  // per image: 3 planes of 32 x 32
    std::vector<std::int32_t> labels_;
};

}  // namespace cnntrain::data
