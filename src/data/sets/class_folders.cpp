#include "data/sets/class_folders.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/base/log.h"
#include "data/sets/raw_files.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// The names of the subfolders, sorted; empty if the folder cannot be read.
std::vector<std::string> class_names(const fs::path& folder) {
    std::vector<std::string> names = names_in(folder.string());
    std::erase_if(names, [&](const std::string& name) {
        std::error_code failed;
        return name.starts_with('.') || !fs::is_directory(folder / name, failed);
    });
    return names;
}

bool is_jpeg(const std::string& extension) {
    return extension == ".jpg" || extension == ".jpeg";
}

std::vector<std::string> jpeg_files(const fs::path& folder, std::map<std::string, std::int64_t>& left_out) {
    std::vector<std::string> files;
    for (std::string& name : posix_files().list(folder.string())) {
        if (name.starts_with('.')) continue;
        const std::string extension = lower_extension(name);
        if (is_jpeg(extension)) {
            files.push_back(std::move(name));
        } else {
            ++left_out[extension];
        }
    }
    return files;
}

/// For validation: throws Error(data) unless exactly one of the two possible folders exists.
fs::path split_folder(const std::string& folder, Split split) {
    const fs::path top = folder;
    if (split == Split::train) return top / "train";
    const bool whole = fs::is_directory(top / "validation");
    const bool brief = fs::is_directory(top / "val");
    if (whole && brief) {
        throw Error(ErrorKind::data, "folder: " + folder + " holds both validation/ and val/; keep one of them");
    }
    if (!whole && !brief) {
        throw Error(ErrorKind::data, "folder: no validation images: " + folder +
                                         " holds neither validation/ nor val/; move some photos of each class from "
                                         "train/<class>/ to validation/<class>/, or train with --no-validation");
    }
    return top / (whole ? "validation" : "val");
}

/// The classes of the training split; at least two.
std::vector<std::string> trained_classes(const std::string& folder) {
    const fs::path train = split_folder(folder, Split::train);
    std::vector<std::string> classes = class_names(train);
    if (classes.size() < 2) {
        throw Error(ErrorKind::data, "folder: expected a folder for each of at least two classes in " + train.string() +
                                         ", found " + (classes.empty() ? "none" : "only " + classes.front()));
    }
    return classes;
}

void check_every_class_has_images(const fs::path& folder, const ClassListing& listing) {
    for (std::size_t i = 0; i < listing.classes.size(); ++i) {
        if (listing.has_files(i)) continue;
        const fs::path empty = folder / listing.classes[i];
        std::map<std::string, std::int64_t> others;
        jpeg_files(empty, others);
        const std::string text = left_out_text({{}, others});
        throw Error(ErrorKind::data, "folder: no .jpg or .jpeg file in " + empty.string() +
                                         (text.empty() ? "" : ", only " + text) +
                                         "; put photos of the class there, or remove the folder");
    }
}

/// For each class in `listing`, its number among the training classes.
std::vector<std::int32_t> labels_of(const fs::path& folder, const ClassListing& listing,
                                    const std::vector<std::string>& trained) {
    std::vector<std::int32_t> labels;
    for (const std::string& name : listing.classes) {
        const auto found = std::ranges::lower_bound(trained, name);
        if (found == trained.end() || *found != name) {
            throw Error(ErrorKind::data, "folder: " + (folder / name).string() +
                                             " is not a class of training: there is no folder train/" + name +
                                             "; add it, or rename or remove this one");
        }
        labels.push_back(static_cast<std::int32_t>(found - trained.begin()));
    }
    return labels;
}

void note_unvalidated_classes(const fs::path& folder, const ClassListing& listing,
                              const std::vector<std::string>& trained) {
    constexpr std::size_t kMostNamed = 5;
    std::vector<std::string> without;
    for (const std::string& name : trained) {
        const auto found = std::ranges::lower_bound(listing.classes, name);
        const bool there = found != listing.classes.end() && *found == name;
        if (!there || !listing.has_files(static_cast<std::size_t>(found - listing.classes.begin())))
            without.push_back(name);
    }
    if (without.empty()) return;
    const std::size_t count = without.size();
    if (count > kMostNamed) {
        without.resize(kMostNamed);
        without.emplace_back("others");
    }
    log::warning("folder: " + std::to_string(count) + " of " + std::to_string(trained.size()) +
                 " classes have no image in " + folder.string() + ": " + listed(without));
}

}  // namespace

ClassListing list_classes(const std::string& folder) {
    ClassListing listing;
    listing.classes = class_names(folder);
    for (const std::string& name : listing.classes) {
        listing.begins.push_back(listing.files());
        for (const std::string& file : jpeg_files(fs::path(folder) / name, listing.left_out)) {
            listing.name_begins.push_back(listing.names.size());
            listing.names += file;
            listing.names += '\0';
        }
    }
    listing.begins.push_back(listing.files());
    return listing;
}

ClassFolders::ClassFolders(const std::string& folder, Split split, const JpegSettings& settings)
    : JpegDataset(settings, {}), folder_(split_folder(folder, split).string()), listing_(list_classes(folder_)) {
    const std::vector<std::string> trained = trained_classes(folder);
    labels_ = labels_of(folder_, listing_, trained);
    if (split == Split::train) {
        check_every_class_has_images(folder_, listing_);
    } else {
        note_unvalidated_classes(folder_, listing_, trained);
    }
    if (listing_.files() == 0) {
        throw Error(ErrorKind::data, "folder: no .jpg or .jpeg file in the class folders of " + folder_);
    }
    if (const std::string others = left_out_text({{}, listing_.left_out}); !others.empty()) {
        log::warning("folder: files that are not .jpg or .jpeg are left out of " + folder_ + ": " + others);
    }
}

std::uint64_t ClassFolders::memory_bytes() const {
    return listing_.names.capacity() + listing_.name_begins.capacity() * sizeof(std::size_t);
}

/// To ask for the size of each of a million files would take minutes on a network's disk.
Origin ClassFolders::origin() const {
    constexpr std::size_t kMostSizes = 4096;
    const std::size_t stride = (listing_.files() + kMostSizes - 1) / kMostSizes;
    Origin origin{.samples = size()};
    for (std::size_t number = 0; number < listing_.classes.size(); ++number) {
        OriginPart part{.name = listing_.classes[number]};
        part.samples = static_cast<std::int64_t>(listing_.begins[number + 1] - listing_.begins[number]);
        for (std::size_t file = listing_.begins[number]; file < listing_.begins[number + 1]; ++file) {
            const char* const name = listing_.names.c_str() + listing_.name_begins[file];
            part.checksum = crc32c(std::as_bytes(std::span(name, std::strlen(name) + 1)), part.checksum);
            if (file % stride != 0) continue;
            std::error_code failed;
            const std::uintmax_t bytes = fs::file_size(file_of(static_cast<std::int64_t>(file)), failed);
            if (!failed) part.bytes += bytes;
        }
        origin.parts.push_back(std::move(part));
    }
    return origin;
}

std::size_t ClassFolders::class_of(std::int64_t index) const {
    const auto next = std::ranges::upper_bound(listing_.begins, static_cast<std::size_t>(index));
    return static_cast<std::size_t>(next - listing_.begins.begin()) - 1;
}

std::string ClassFolders::file_of(std::int64_t index) const {
    const char* name = listing_.names.c_str() + listing_.name_begins[static_cast<std::size_t>(index)];
    return folder_ + "/" + listing_.classes[class_of(index)] + "/" + name;
}

std::string ClassFolders::name(std::int64_t index) const {
    return fs::path(file_of(index)).lexically_relative(fs::path(folder_).parent_path()).string();
}

JpegDataset::Image ClassFolders::load(std::int64_t index, Workspace& workspace) const {
    return {read_whole(file_of(index), workspace), {}, labels_[class_of(index)]};
}

namespace {

bool holds(DatasetId /*id*/, const std::string& folder, Split split) {
    const fs::path top = folder;
    if (split == Split::train) return !class_names(top / "train").empty();
    return !class_names(top / "validation").empty() || !class_names(top / "val").empty();
}

std::vector<std::string> files(DatasetId /*id*/, const std::string& folder, Split split) {
    const fs::path top = split_folder(folder, split);
    std::vector<std::string> paths;
    std::map<std::string, std::int64_t> left_out;
    for (const std::string& name : class_names(top)) {
        for (const std::string& file : jpeg_files(top / name, left_out))
            paths.push_back((top / name / file).string());
    }
    return paths;
}

SampleCount count(const InputSettings& settings, Split split) {
    return {static_cast<std::int64_t>(list_classes(split_folder(settings.folder, split).string()).files()), true};
}

std::shared_ptr<const Dataset> open(const InputSettings& settings, Split split, const PixelFormat& format) {
    return std::make_shared<ClassFolders>(settings.folder, split, jpeg_settings(settings, split, format));
}

}  // namespace

constinit const ImageSet kClassFoldersSet = {DatasetId::folder, "train/<class>/*.jpg", holds, files, count, open,
                                             trained_classes};

}  // namespace cnntrain::data
