// Photos in a folder, those that fit a pattern, or one photo, to run a trained network on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

/// True for a path with `*`, `?` or `[` where nothing is.
bool is_photo_pattern(const std::string& place);

/// One file of any name; or all image files that are in and below a folder or fit a pattern with `*`, `?` or `[...]`,
/// sorted by path. Links are followed; hidden files are skipped. The first bytes of a file determine its format; images
/// are turned as their Exif data say. Samples have evaluation preprocessing. A label is that of the photo's row in a
/// table of files and classes, or of its innermost folder that is named as one of settings.known_classes, else
/// kNoLabel. A file that cannot be decoded is reported and left out, or throws Error(data) if `strict`. With a Loader
/// and Feed::sweeps, sample i of a sweep is names()[i].
class ImageFolder final : public Dataset {
public:
    /// `places`: files, folders, patterns and tables. Error(data) if one cannot be read or gives no such files.
    ImageFolder(const std::vector<std::string>& places, const DataSettings& settings, const PixelFormat& format);
    ~ImageFolder() override;

    /// Relative to the folder, to the last folder of a pattern that has no wildcard, or, of several places, to the last
    /// folder that all photos are in.
    const std::vector<std::string>& names() const { return names_; }
    /// Number of other files by extension, such as "3 .mp4, 1 .txt"; "" if there are none.
    const std::string& left_out() const { return left_out_; }

    std::int64_t size() const override { return static_cast<std::int64_t>(names_.size()); }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    std::int64_t damaged() const override;

private:
    class Images;

    std::vector<std::string> names_;
    std::string left_out_;
    std::unique_ptr<const Images> images_;  // refers to names_
};

}  // namespace cnntrain::data
