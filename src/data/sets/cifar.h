// The data sets CIFAR-10 and CIFAR-100, from their binary files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/images/augment.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {

// Layout of CIFAR's binary files.

inline constexpr std::int64_t kCifarSide = 32;

struct CifarLayout {
    DatasetId id;
    std::size_t label_bytes;  // labels before each image's pixels; the last one is used
    std::size_t record_bytes;
    std::vector<std::string> training_files;
    std::vector<std::string> validation_files;

    const std::vector<std::string>& files(Split split) const {
        return split == Split::train ? training_files : validation_files;
    }
};

/// The layout of CIFAR-10 or CIFAR-100.
const CifarLayout& cifar_layout(DatasetId id);

struct CifarSettings {
    bool augment = false;      // random flip, and crop after padding by 4
    DType dtype = DType::f32;  // f32 or bf16
    std::uint64_t seed = 0;    // of the augmentation
    AugmentationSettings augmentation = {};
};

/// Holds all records in memory as stored. Images are standardised one by one when read. Changes of levels come before,
/// the crop and what is erased (0) after.
class Cifar final : public Dataset {
public:
    /// Throws Error(data) for a file that is not a whole number of records (with both sizes), a label out of range, or
    /// no record at all.
    Cifar(DatasetId id, const std::vector<std::string>& paths, const CifarSettings& settings);

    std::int64_t size() const override { return size_; }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    std::int32_t label(std::int64_t index, Workspace& workspace) const override;
    SamplePlace place(std::int64_t index) const override;
    Origin origin() const override;
    DatasetState state() const override;

private:
    const std::uint8_t* record(std::int64_t index) const;
    std::span<const std::uint8_t> changed_planes(std::span<const std::uint8_t> planes, SamplePosition position,
                                                 Workspace& workspace) const;

    CifarSettings settings_;
    Augmenter augmenter_;
    const CifarLayout& layout_;
    std::int64_t size_ = 0;
    std::unique_ptr<std::byte[]> records_;  // as in the files, concatenated
    std::vector<OriginPart> parts_;         // the files, without checksums
};

extern const ImageSet kCifar10Set;
extern const ImageSet kCifar100Set;

}  // namespace cnntrain::data
