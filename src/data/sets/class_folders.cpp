#include "data/sets/class_folders.h"

#include <filesystem>
#include <span>
#include <utility>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/data/resolve.h"
#include "data/sets/photo_checks.h"
#include "data/sets/photo_listing.h"

namespace cnntrain::data {
namespace {

/// The path below the class folder; the whole path if there is no such folder, as in tables.
std::string_view below_class(std::string_view path, const std::string& class_name) {
    const std::string folder = class_name + "/";
    for (std::size_t at = path.find(folder); at != std::string_view::npos; at = path.find(folder, at + 1)) {
        if (at == 0 || path[at - 1] == '/') return path.substr(at + folder.size());
    }
    return path;
}

}  // namespace

ClassFolders::ClassFolders(std::shared_ptr<const PhotoSet> photos, Split split, const EncodedImageSettings& settings)
    : EncodedImages(settings, {}), photos_(std::move(photos)), split_(split) {
    if (split == Split::train) {
        check_training_photos(*photos_);
    } else {
        check_validation_photos(*photos_);
    }
}

/// To ask for the size of each of a million files would take minutes on a network's disk.
Origin ClassFolders::origin() const {
    constexpr std::int64_t kMostSizes = 4096;
    const std::int64_t stride = (size() + kMostSizes - 1) / kMostSizes;
    Origin origin{.samples = size()};
    std::int32_t label = -1;
    for (std::int64_t i = 0; i < size(); ++i) {
        const std::string& name = photos_->classes[static_cast<std::size_t>(list().label(i))];
        if (list().label(i) != std::exchange(label, list().label(i))) origin.parts.push_back({.name = name});
        OriginPart& part = origin.parts.back();
        ++part.samples;
        const std::string below(below_class(list().path(i), name));
        part.checksum = crc32c(std::as_bytes(std::span(below.c_str(), below.size() + 1)), part.checksum);
        if (i % stride != 0) continue;
        std::error_code failed;
        const std::uintmax_t bytes = std::filesystem::file_size(file_of(i), failed);
        if (!failed) part.bytes += bytes;
    }
    return origin;
}

std::string ClassFolders::unused_files() const {
    return photos_->unused.empty() ? "" : unused_csv(photos_->unused);
}

EncodedImages::Image ClassFolders::load(std::int64_t index, Workspace& workspace) const {
    return file_image(file_of(index), list().label(index), workspace);
}

namespace {

std::shared_ptr<const PhotoSet> photos_of(const InputSettings& settings) {
    if (settings.found_photos) return settings.found_photos->get(settings);
    return std::make_shared<const PhotoSet>(find_photos(settings));
}

bool holds_folders(DatasetId /*id*/, const std::string& place, Split split) {
    const bool any = split == Split::train || is_photo_table(place);  // a share of a table's rows can be held out
    return any ? looks_like_photos(place) : names_validation_photos(place);
}

std::vector<std::string> folder_files(const InputSettings& settings, Split split) {
    const auto photos = photos_of(settings);
    std::vector<std::string> paths;
    for (std::int64_t i = 0; i < photos->of(split).size(); ++i)
        paths.push_back(photos->file(split, i));
    return paths;
}

SampleCount count_folders(const InputSettings& settings, Split split) {
    const auto photos = photos_of(settings);
    if (split == Split::train) check_training_photos(*photos);
    if (split == Split::validation) check_validation_photos(*photos);
    return {photos->of(split).size(), true};
}

std::vector<std::string> folder_classes(const InputSettings& settings) {
    return photos_of(settings)->classes;
}

/// Small photos that are enlarged take the time of large ones.
std::string enlarged_text(const PhotoSet& photos, std::int64_t image_size) {
    constexpr std::int64_t kLeastFactor = 2;
    const std::int64_t side = photos.median_side;
    if (side == 0 || side * kLeastFactor > image_size) return "";
    const std::string side_text = std::to_string(side);
    return "folder: half of the photos are at most " + side_text + " pixels wide or high and are enlarged to " +
           std::to_string(image_size) + " x " + std::to_string(image_size) + "; --image-size " + side_text +
           " takes about " + std::to_string(image_size * image_size / (side * side)) + " times less time" +
           (side <= kLargestSmallImage ? ", and --model-size 20 is a ResNet for such photos" : "");
}

/// Says once, before a run begins, what was found.
void tell(const InputSettings& settings, const PhotoSet& photos, Split split) {
    if (settings.found_photos && settings.found_photos->told()) return;
    for (const std::string& notice : photos.notices)
        log::info(notice);
    if (const std::string unused = unused_text(photos.unused); !unused.empty())
        log::warning("folder: " + settings.folder + ": " + unused);
    for (const std::string& warning : suspicions(photos))
        log::warning(warning);
    if (split != Split::train) return;
    if (const std::string enlarged = enlarged_text(photos, settings.image_size); !enlarged.empty())
        log::warning(enlarged);
    if (const std::string copies = copies_text(photos); !copies.empty()) log::warning(copies);
}

std::shared_ptr<const Dataset> open_folders(const InputSettings& settings, Split split, const PixelFormat& format) {
    EncodedImageSettings how = encoded_image_settings(settings, split, format);
    how.exif = Exif::applied;
    const auto photos = photos_of(settings);
    tell(settings, *photos, split);
    return std::make_shared<ClassFolders>(photos, split, how);
}

}  // namespace

constinit const ImageSet kClassFoldersSet = {
    DatasetId::folder, "train/<class>/*.jpg or <class>/*.jpg", holds_folders, folder_files, count_folders, open_folders,
    folder_classes};

}  // namespace cnntrain::data
