// Users' own images: JPEG files in one folder per class, <split>/<class>/*.jpg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/sets/image_sets.h"
#include "data/sets/jpeg_dataset.h"

namespace cnntrain::data {

/// The .jpg and .jpeg files (in any case) in each subfolder of a folder; folders and files are sorted by name. Hidden
/// ones are skipped; links are followed.
struct ClassListing {
    std::vector<std::string> classes;              // folder names
    std::vector<std::size_t> begins;               // number of each class's first file, then the number of all files
    std::string names;                             // all file names, each ended by '\0'
    std::vector<std::size_t> name_begins;          // positions in `names`
    std::map<std::string, std::int64_t> left_out;  // number of other files by extension

    std::size_t files() const { return name_begins.size(); }
    bool has_files(std::size_t number) const { return begins[number + 1] > begins[number]; }
};

/// Throws Error(data) if a folder cannot be read.
ClassListing list_classes(const std::string& folder);

/// The label of an image is the index of its folder among the sorted class folders of the training split.
class ClassFolders final : public JpegDataset {
public:
    /// `folder` contains train/ and either validation/ or val/. Throws Error(data) if the split's folder is missing, if
    /// there are fewer than two classes or a class without training images, or if validation has a class that training
    /// lacks.
    ClassFolders(const std::string& folder, Split split, const JpegSettings& settings);

    std::int64_t size() const override { return static_cast<std::int64_t>(listing_.files()); }
    std::string name(std::int64_t index) const override;
    std::uint64_t memory_bytes() const override;
    /// Each class is a part.
    Origin origin() const override;

private:
    Image load(std::int64_t index, Workspace& workspace) const override;
    std::string describe(std::int64_t index) const override { return file_of(index); }
    std::string file_of(std::int64_t index) const override;
    std::size_t class_of(std::int64_t index) const;

    std::string folder_;  // folder of the split
    ClassListing listing_;
    std::vector<std::int32_t> labels_;  // label of each class in listing_.classes
};

extern const ImageSet kClassFoldersSet;

}  // namespace cnntrain::data
