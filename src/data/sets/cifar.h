// CIFAR-10 and CIFAR-100 binary files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/sets/image_sets.h"

namespace cnntrain::data {

inline constexpr std::int64_t kCifarSide = 32;

struct CifarLayout {
    DatasetId id;
    std::size_t label_bytes;  // in front of each image's pixels; the last of them is the label used
    std::size_t record_bytes;
    std::vector<std::string> training_files;
    std::vector<std::string> validation_files;

    const std::vector<std::string>& files(Split split) const {
        return split == Split::train ? training_files : validation_files;
    }
};

/// Of CIFAR-10 or CIFAR-100.
const CifarLayout& cifar_layout(DatasetId id);

/// The first `count` records, read in large pieces.
void for_each_cifar_record(const InputFile& file, const CifarLayout& layout, std::int64_t count,
                           const std::function<void(std::int64_t number, std::span<const std::byte> record)>& visit);

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
