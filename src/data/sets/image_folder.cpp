#include "cnntrain/data/image_folder.h"

#include <filesystem>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/data/image_fields.h"
#include "data/sets/jpeg_dataset.h"
#include "data/sets/raw_files.h"

namespace cnntrain::data {

/// The files by number, without labels.
class ImageFolder::Images final : public JpegDataset {
public:
    Images(const std::string& folder, const std::vector<std::string>& names, const JpegSettings& settings)
        : JpegDataset(settings, {.left_out = "it is left out"}), folder_(folder), names_(names) {}

    std::int64_t size() const override { return static_cast<std::int64_t>(names_.size()); }

private:
    Image load(std::int64_t index, Workspace& workspace) const override {
        return {read_whole(file_of(index), workspace), {}, kNoLabel};
    }
    std::string describe(std::int64_t index) const override { return file_of(index); }
    std::string file_of(std::int64_t index) const override {
        return (std::filesystem::path(folder_) / names_[static_cast<std::size_t>(index)]).string();
    }

    std::string folder_;
    const std::vector<std::string>& names_;
};

ImageFolder::ImageFolder(const std::string& place, std::int64_t image_size, const PixelFormat& format, bool strict) {
    const std::filesystem::path path(place);
    const bool is_file = std::filesystem::is_regular_file(path);
    if (is_file) {
        names_ = {path.filename().string()};
    } else {
        ListedFiles listed = list_images(place);
        names_ = std::move(listed.names);
        left_out_ = left_out_text(listed);
    }
    if (names_.empty()) {
        throw Error(ErrorKind::data, "no image file in or below " + place +
                                         (left_out_.empty() ? "" : "; other files there: " + left_out_));
    }
    const JpegSettings how{.image_size = image_size,
                           .format = format,
                           .exif = Exif::applied,
                           .on_bad_image = strict ? OnBadImage::stop : OnBadImage::leave_out};
    images_ = std::make_unique<Images>(is_file ? path.parent_path().string() : place, names_, how);
}

ImageFolder::~ImageFolder() = default;

std::int64_t ImageFolder::damaged() const {
    return images_->damaged();
}

std::vector<Field> ImageFolder::fields() const {
    return images_->fields();
}

void ImageFolder::pad(SampleView out) const {
    images_->pad(out);
}

SampleState ImageFolder::read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const {
    return images_->read(index, position, out, workspace);
}

}  // namespace cnntrain::data
