#include "cnntrain/data/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/data/image_fields.h"
#include "data/sets/encoded_images.h"
#include "data/sets/file_patterns.h"
#include "data/sets/raw_files.h"

namespace cnntrain::data {

/// The files by number, without labels.
class ImageFolder::Images final : public EncodedImages {
public:
    Images(const std::string& folder, const std::vector<std::string>& names, const EncodedImageSettings& settings)
        : EncodedImages(settings, {.left_out = "it is left out"}), folder_(folder), names_(names) {}

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

namespace {

namespace fs = std::filesystem;

/// Names relative to a folder.
struct Found {
    fs::path folder;
    ListedFiles files;
};

Found find_matches(const std::string& pattern) {
    Found found;
    for (const fs::path& part : fs::path(pattern)) {
        if (has_wildcard(part.string())) break;
        found.folder /= part;
    }
    for (const std::string& path : files_matching(pattern)) {
        if (is_image_file(path)) {
            found.files.names.push_back(
                found.folder.empty() ? path : fs::path(path).lexically_relative(found.folder).string());
        } else {
            ++found.files.left_out[lower_extension(path)];
        }
    }
    std::ranges::sort(found.files.names);
    return found;
}

/// Counts links to nothing among the files that are left out.
void leave_out_missing(Found& found) {
    std::erase_if(found.files.names, [&](const std::string& name) {
        std::error_code failed;
        if (fs::exists(found.folder / name, failed)) return false;
        ++found.files.left_out[lower_extension(name)];
        return true;
    });
}

Found find_photos(const std::string& place) {
    const fs::path path(place);
    if (fs::is_regular_file(path)) return {path.parent_path(), {{path.filename().string()}, {}}};
    std::error_code failed;
    if (!is_photo_pattern(place) && !fs::exists(path, failed)) {
        throw Error(ErrorKind::data, "the photos '" + place +
                                         "' do not exist; give --data-dir a folder of photos, a pattern or one photo");
    }
    Found found = is_photo_pattern(place) ? find_matches(place) : Found{path, list_images(place)};
    leave_out_missing(found);
    return found;
}

}  // namespace

bool is_photo_pattern(const std::string& place) {
    std::error_code failed;
    return has_wildcard(place) && !fs::exists(place, failed);
}

ImageFolder::ImageFolder(const std::string& place, const DataSettings& settings, const PixelFormat& format) {
    Found found = find_photos(place);
    names_ = std::move(found.files.names);
    left_out_ = left_out_text(found.files);
    if (names_.empty()) {
        throw Error(ErrorKind::data, "no image file in or below " + place +
                                         (left_out_.empty() ? "" : "; other files there: " + left_out_));
    }
    const EncodedImageSettings how{.image_size = settings.image_size,
                                   .format = format,
                                   .exif = Exif::applied,
                                   .on_bad_image = settings.strict ? OnBadImage::stop : OnBadImage::leave_out,
                                   .preparation = settings.preparation,
                                   .mean_pixel = mean_pixel(settings)};
    images_ = std::make_unique<Images>(found.folder.string(), names_, how);
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
