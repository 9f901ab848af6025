#include "data/sets/photo_set.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/sets.h"
#include "data/records/tar.h"
#include "data/sets/encoded_images.h"
#include "data/sets/resolve.h"

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
    if (!photos_->unused.empty()) unused_files_ = unused_csv(photos_->unused);
}

/// Reads the sizes of some files only: a million would take minutes on a network's disk.
Origin ClassFolders::origin() const {
    constexpr std::int64_t kMostSizes = 4096;
    const std::int64_t stride = (size() + kMostSizes - 1) / kMostSizes;
    Origin origin{.samples = size()};
    std::int32_t label = -1;
    for (std::int64_t i = 0; i < size(); ++i) {
        const std::string name = photos_->name_of(list().label(i));
        if (list().label(i) != std::exchange(label, list().label(i))) origin.parts.push_back({.name = name});
        OriginPart& part = origin.parts.back();
        ++part.samples;
        const std::string below(below_class(list().path(i), name));
        part.checksum = crc32c(std::as_bytes(std::span(below.c_str(), below.size() + 1)), part.checksum);
        if (i % stride != 0) continue;
        std::error_code failed;
        const std::uintmax_t bytes =
            list().bytes(i) > 0 ? list().bytes(i) : std::filesystem::file_size(file_of(i), failed);
        if (!failed) part.bytes += bytes;
    }
    return origin;
}

EncodedImages::Image ClassFolders::load(std::int64_t index, Workspace& workspace) const {
    return file_image(file_of(index), list().label(index), workspace);
}

void ClassFolders::count_labels(std::int64_t index, Workspace& workspace, std::span<std::int64_t> counts) const {
    if (photos_->label_sets.empty()) return EncodedImages::count_labels(index, workspace, counts);
    for (const std::int32_t label : label_set(list().label(index)))
        ++counts[static_cast<std::size_t>(label)];
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

/// Logs once, before a run begins, the photos that were found.
void tell(const InputSettings& settings, const PhotoSet& photos, Split split) {
    if (settings.found_photos && settings.found_photos->was_reported()) return;
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
    how.labels = label_count(settings);
    const auto photos = photos_of(settings);
    tell(settings, *photos, split);
    return std::make_shared<ClassFolders>(photos, split, how);
}

}  // namespace

constinit const ImageSet kClassFoldersSet = {
    DatasetId::folder, "train/<class>/*.jpg or <class>/*.jpg", holds_folders, folder_files, count_folders, open_folders,
    folder_classes};

namespace {

/// The files by number.
class FolderImages final : public EncodedImages {
public:
    /// `sets`: of labels, of which the labels are numbers if the settings have several labels.
    FolderImages(std::string folder, std::vector<std::string> names, std::vector<std::int32_t> labels, LabelSets sets,
                 const EncodedImageSettings& settings)
        : EncodedImages(settings, {.left_out = "it is left out"}),
          folder_(std::move(folder)),
          names_(std::move(names)),
          labels_(std::move(labels)),
          sets_(std::move(sets)) {}

    std::int64_t size() const override { return static_cast<std::int64_t>(names_.size()); }
    DatasetState state() const override { return {.damaged = damaged()}; }

private:
    Image load(std::int64_t index, Workspace& workspace) const override {
        return file_image(file_of(index), labels_[static_cast<std::size_t>(index)], workspace);
    }
    std::span<const std::int32_t> label_set(std::int32_t label) const override {
        return sets_.at(static_cast<std::size_t>(label));
    }
    SamplePlace place(std::int64_t index) const override {
        return {file_of(index), names_[static_cast<std::size_t>(index)]};
    }
    std::string file_of(std::int64_t index) const override {
        return (std::filesystem::path(folder_) / names_[static_cast<std::size_t>(index)]).string();
    }

    std::string folder_;
    std::vector<std::string> names_;
    std::vector<std::int32_t> labels_;
    LabelSets sets_;
};

namespace fs = std::filesystem;

/// Names relative to a folder, sorted.
struct Found {
    fs::path folder;
    ListedFiles files;
    std::map<std::string, std::size_t> rows = {};  // of a table, by file: the class's number in the listing
    PhotoListing listing = {};
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

/// The photos of a table of files and classes, or of archives.
Found find_rows(PhotoListing listing) {
    Found found;
    found.listing = std::move(listing);
    found.folder = found.listing.top;
    for (const ListedPhoto& photo : found.listing.photos) {
        found.files.names.push_back(photo.path);
        found.rows.emplace(photo.path, photo.class_number);
    }
    std::ranges::sort(found.files.names);
    return found;
}

Found find_photos(const std::string& place, const TableLabels& labels) {
    const fs::path path(place);
    if (is_photo_table(place) && fs::is_regular_file(path)) return find_rows(list_photo_table(place, labels));
    if (is_shards(place)) return find_rows(list_shards(place));
    std::error_code failed;
    const bool in_archive = !fs::exists(path, failed) && exists_in_tar(place);
    if (in_archive || fs::is_regular_file(path, failed)) return {path.parent_path(), {{path.filename().string()}, {}}};
    if (!is_photo_pattern(place) && !fs::exists(path, failed)) {
        throw Error(ErrorKind::data, "the photos '" + place +
                                         "' do not exist; give --data-dir a folder of photos, a pattern or one photo");
    }
    Found found = is_photo_pattern(place) ? find_matches(place) : Found{path, list_images(place)};
    leave_out_missing(found);
    return found;
}

/// The photos of several places, relative to the last folder that all of them are in.
Found find_photos(const std::vector<std::string>& places, const TableLabels& labels) {
    if (places.size() == 1) return find_photos(places.front(), labels);
    Found all;
    std::vector<fs::path> paths;
    for (const std::string& place : places) {
        const Found found = find_photos(place, labels);
        for (const std::string& name : found.files.names)
            paths.push_back(fs::absolute(found.folder / name).lexically_normal());
        for (const auto& [extension, count] : found.files.left_out)
            all.files.left_out[extension] += count;
    }
    std::ranges::sort(paths);
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    all.folder = common_folder(paths);
    for (const fs::path& path : paths)
        all.files.names.push_back(path.lexically_relative(all.folder).string());
    return all;
}

/// A photo's class: that of its row, or the innermost of its folders that is named as a class.
std::int32_t label_of(const Found& found, const std::string& name, const std::vector<std::string>& classes) {
    const auto number_of = [&](const std::string& wanted) {
        const auto place = std::ranges::find(classes, wanted);
        return place == classes.end() ? kNoLabel : static_cast<std::int32_t>(place - classes.begin());
    };
    if (const auto row = found.rows.find(name); row != found.rows.end())
        return number_of(found.listing.classes[row->second]);
    std::int32_t label = kNoLabel;
    for (const fs::path& folder : fs::path(name).parent_path()) {
        if (const std::int32_t number = number_of(folder.string()); number != kNoLabel) label = number;
    }
    return label;
}

/// The sets of labels in numbers of the network's classes, and the number of each set there; kNoLabel for a set with a
/// label that is no class.
std::vector<std::int32_t> numbers_of_sets(const PhotoListing& listing, const std::vector<std::string>& classes,
                                          LabelSets& known) {
    std::vector<std::int32_t> numbers;
    for (const std::vector<std::int32_t>& set : listing.label_sets) {
        std::vector<std::int32_t> own;
        for (const std::int32_t label : set) {
            const auto found = std::ranges::find(classes, listing.classes[static_cast<std::size_t>(label)]);
            if (found != classes.end()) own.push_back(static_cast<std::int32_t>(found - classes.begin()));
        }
        numbers.push_back(own.size() == set.size() ? static_cast<std::int32_t>(known.size()) : kNoLabel);
        if (own.size() == set.size()) known.push_back(std::move(own));
    }
    return numbers;
}

}  // namespace

bool is_photo_pattern(const std::string& place) {
    std::error_code failed;
    return has_wildcard(place) && !fs::exists(place, failed);
}

ImageFolder open_image_folder(const std::vector<std::string>& places, const DataSettings& settings,
                              const PixelFormat& format) {
    Found found = find_photos(places, settings.labels);
    const std::string left_out = left_out_text(found.files);
    if (found.files.names.empty()) {
        throw Error(ErrorKind::data, "no image file in or below " + listed(places, "or") +
                                         (left_out.empty() ? "" : "; other files there: " + left_out));
    }
    EncodedImageSettings how{.image_size = settings.image_size,
                             .format = format,
                             .exif = Exif::applied,
                             .on_bad_image = settings.strict ? OnBadImage::stop : OnBadImage::leave_out,
                             .preparation = settings.preparation,
                             .mean_pixel = mean_pixel(settings)};
    std::vector<std::int32_t> labels;
    LabelSets known;
    if (settings.labels.several()) {
        how.labels = label_count(settings);
        const std::vector<std::int32_t> numbers = numbers_of_sets(found.listing, settings.known_classes, known);
        for (const std::string& name : found.files.names) {
            const auto row = found.rows.find(name);
            labels.push_back(row == found.rows.end() ? kNoLabel : numbers[row->second]);
        }
    } else {
        for (const std::string& name : found.files.names)
            labels.push_back(label_of(found, name, settings.known_classes));
    }
    return {std::make_shared<FolderImages>(found.folder.string(), std::move(found.files.names), std::move(labels),
                                           std::move(known), how),
            left_out};
}

}  // namespace cnntrain::data
