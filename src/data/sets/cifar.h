// CIFAR-10 and CIFAR-100 binary files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/records/cifar_layout.h"
#include "data/sets/image_sets.h"

namespace cnntrain::data {

struct CifarSettings {
    bool augment = false;      // flip and pad-4 crop
    DType dtype = DType::f32;  // f32 or bf16
    std::uint64_t seed = 0;    // of the augmentation
};

/// All records of the files, in RAM as they are; standardised per image when read.
class Cifar final : public Dataset {
public:
    /// Error(data): a file that is no whole number of records (with both sizes), a label out of range, no record.
    Cifar(DatasetId id, const std::vector<std::string>& paths, const CifarSettings& settings);

    std::int64_t size() const override { return size_; }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    std::uint64_t memory_bytes() const override;

private:
    const std::uint8_t* record(std::int64_t index) const;

    CifarSettings settings_;
    const CifarLayout& layout_;
    std::int64_t size_ = 0;
    std::unique_ptr<std::byte[]> records_;  // as in the files, one after the other
};

extern const ImageSet kCifar10Set;
extern const ImageSet kCifar100Set;

}  // namespace cnntrain::data
