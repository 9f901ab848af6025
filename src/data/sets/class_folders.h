// Users' own photos: image files in one folder per class, or listed in a table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/sets/encoded_images.h"
#include "data/sets/photo_set.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {

/// The label of a photo is the number of its class among the sorted classes, or among those of a trained network.
class ClassFolders final : public EncodedImages {
public:
    /// Throws Error(data) if a class has no photos to train on, or if there are none for validation.
    ClassFolders(std::shared_ptr<const PhotoSet> photos, Split split, const EncodedImageSettings& settings);

    std::int64_t size() const override { return list().size(); }
    std::int32_t label(std::int64_t index, Workspace& /*workspace*/) const override { return list().label(index); }
    std::string name(std::int64_t index) const override { return std::string(list().path(index)); }
    std::uint64_t memory_bytes() const override { return list().memory_bytes(); }
    /// Each class is a part.
    Origin origin() const override;
    std::string unused_files() const override;

private:
    const PhotoList& list() const { return photos_->of(split_); }
    Image load(std::int64_t index, Workspace& workspace) const override;
    std::string describe(std::int64_t index) const override { return file_of(index); }
    std::string file_of(std::int64_t index) const override { return photos_->file(split_, index); }

    std::shared_ptr<const PhotoSet> photos_;
    Split split_;
};

extern const ImageSet kClassFoldersSet;

}  // namespace cnntrain::data
