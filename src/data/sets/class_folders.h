// Users' own photos: JPEG files in folders by class, <split>/<class>/*.jpg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/sets/image_sets.h"
#include "data/sets/jpeg_dataset.h"

namespace cnntrain::data {

/// The .jpg and .jpeg files (any case) of the folders in a folder, both sorted by name. Hidden ones do not count, links
/// are followed.
struct ClassListing {
    std::vector<std::string> classes;              // names of the folders
    std::vector<std::size_t> begins;               // number of the first file of each, and of all files
    std::string names;                             // of all files, each ended by '\0'
    std::vector<std::size_t> name_begins;          // in `names`
    std::map<std::string, std::int64_t> left_out;  // other files, counted by extension

    std::size_t files() const { return name_begins.size(); }
    bool has_files(std::size_t number) const { return begins[number + 1] > begins[number]; }
};

/// Error(data) when a folder cannot be read.
ClassListing list_classes(const std::string& folder);

/// The label of an image is the number of its folder among the sorted class folders of training.
class ClassFolders final : public JpegDataset {
public:
    /// `folder`: holds train/ and validation/ or val/. Error(data): no folder for the split, fewer than two classes, a
    /// class without training images, a class of validation that training lacks.
    ClassFolders(const std::string& folder, Split split, const JpegSettings& settings);

    std::int64_t size() const override { return static_cast<std::int64_t>(listing_.files()); }
    std::uint64_t memory_bytes() const override;

private:
    Image load(std::int64_t index, Workspace& workspace) const override;
    std::string describe(std::int64_t index) const override { return file_of(index); }
    std::string file_of(std::int64_t index) const override;
    std::size_t class_of(std::int64_t index) const;

    std::string folder_;  // of the split
    ClassListing listing_;
    std::vector<std::int32_t> labels_;  // of listing_.classes
};

extern const ImageSet kClassFoldersSet;

}  // namespace cnntrain::data
