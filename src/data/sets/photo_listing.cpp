#include "data/sets/photo_listing.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/resolve.h"
#include "data/sets/file_patterns.h"
#include "data/sets/raw_files.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrain = "train";
constexpr std::string_view kTest = "test";
constexpr std::array<std::string_view, 3> kValidation = {"validation", "valid", "val"};
/// Folders are rarely deeper; greater depth indicates a loop of links.
constexpr int kMaxDepth = 32;

[[noreturn]] void fail_listing(const std::string& what) {
    throw Error(ErrorKind::data, "folder: " + what);
}

/// Systems leave __MACOSX in archives.
bool is_hidden(const std::string& name) {
    return name.starts_with('.') || name == "__MACOSX";
}

bool is_folder(const fs::path& path) {
    std::error_code failed;
    return fs::is_directory(path, failed);
}

struct Content {
    std::vector<std::string> folders;  // sorted, as the others; links are followed
    std::vector<std::string> files;
    std::vector<std::string> hidden;
};

/// The names in a folder.
Content folder_content(const fs::path& folder) {
    Content content;
    try {
        for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
            std::string name = entry.path().filename().string();
            std::error_code failed;
            if (name == kGeneratedMark || name == kFolderLockName) continue;
            if (is_hidden(name)) {
                content.hidden.push_back(std::move(name));
            } else if (entry.is_directory(failed)) {
                content.folders.push_back(std::move(name));
            } else {
                content.files.push_back(std::move(name));
            }
        }
    } catch (const fs::filesystem_error& error) {
        fail_listing("cannot read " + folder.string() + ": " + error.code().message());
    }
    for (auto* names : {&content.folders, &content.files, &content.hidden})
        std::ranges::sort(*names);
    return content;
}

std::string below(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : folder + "/" + name;
}

/// Lists the class folders of one place.
class Lister {
public:
    Lister(PhotoListing& listing, std::optional<Split> split) : listing_(listing), split_(split) {}

    /// All folders in `folder` (relative to the top), but those in `left_out`, are classes.
    void add_classes(const std::string& folder, const std::vector<std::string>& left_out = {}) {
        const Content content = folder_content(path(folder));
        for (const std::string& name : content.folders) {
            if (std::ranges::find(left_out, name) != left_out.end()) continue;
            class_number_ = listing_.classes.size();
            listing_.classes.push_back(name);
            add_tree(below(folder, name), 0);
        }
        add_unused(folder, content.files, Unused::no_class);
        add_unused(folder, content.hidden, Unused::hidden);
    }

    /// Files of `folder` are in no split.
    void add_rest(const std::string& folder, const std::vector<std::string>& splits) {
        const Content content = folder_content(path(folder));
        for (const std::string& name : content.folders) {
            if (std::ranges::find(splits, name) == splits.end())
                listing_.unused.push_back({below(folder, name) + "/", Unused::no_split});
        }
        add_unused(folder, content.files, Unused::no_split);
        add_unused(folder, content.hidden, Unused::hidden);
    }

private:
    fs::path path(const std::string& folder) const { return fs::path(listing_.top) / folder; }

    void add_unused(const std::string& folder, const std::vector<std::string>& names, Unused reason) {
        for (const std::string& name : names)
            listing_.unused.push_back({below(folder, name), reason});
    }

    void add_tree(const std::string& folder, int depth) {
        if (depth > kMaxDepth) {
            fail_listing(path(folder).string() + " is more than " + std::to_string(kMaxDepth) +
                         " folders deep; is a link in it a loop?");
        }
        const Content content = folder_content(path(folder));
        if (content.files.empty() && content.folders.size() > 1) {
            fail_listing(
                path(folder).string() + " holds no photos but " +
                counted(static_cast<std::int64_t>(content.folders.size()), "folder") + ", such as " +
                content.folders[0] + " and " + content.folders[1] +
                ": it is not clear which are the classes; give --data-dir the folder in which each folder is a class, "
                "or a table of files and classes (.csv); folders of splits are named train and validation, in small "
                "letters");
        }
        for (const std::string& name : content.files)
            listing_.photos.push_back({below(folder, name), class_number_, split_});
        for (const std::string& name : content.folders)
            add_tree(below(folder, name), depth + 1);
        add_unused(folder, content.hidden, Unused::hidden);
    }

    PhotoListing& listing_;
    std::optional<Split> split_;
    std::size_t class_number_ = 0;
};

/// Names of validation splits that exist in a folder.
std::vector<std::string> validation_folders(const fs::path& top) {
    std::vector<std::string> found;
    for (const std::string_view name : kValidation) {
        if (is_folder(top / name)) found.emplace_back(name);
    }
    return found;
}

/// One of the first files in or below a folder is an image.
bool holds_images(const fs::path& folder) {
    constexpr int kMostFiles = 32;
    std::error_code failed;
    int files = 0;
    for (fs::recursive_directory_iterator entry(folder, failed), end;
         !failed && entry != end && files < kMostFiles && entry.depth() < 3; entry.increment(failed), ++files) {
        std::error_code ignored;  // a link that leads to itself
        if (entry->is_regular_file(ignored) && is_image_file(entry->path().string())) return true;
    }
    return false;
}

void note_test(const fs::path& top, PhotoListing& listing) {
    if (!is_folder(top / kTest)) return;
    listing.unused.push_back({std::string(kTest) + "/", Unused::test_data});
    const std::string path = (top / kTest).string();
    listing.notices.push_back("folder: " + path +
                              " is used neither for training nor for validation; to validate with it, give validation "
                              "--data-dir " +
                              path);
}

/// A share of train/ is held out although there are photos for validation beside it.
void note_validation_beside(const fs::path& top, PhotoListing& listing) {
    const std::vector<std::string> validation = validation_folders(top.parent_path());
    if (top.filename() != kTrain || validation.empty()) return;
    listing.notices.push_back("folder: " + (top.parent_path() / validation.front()).string() +
                              " is not used; to validate with it, give --data-dir " + top.parent_path().string());
}

/// Number of `name` among the sorted classes; it must be one.
std::size_t number_of(const std::vector<std::string>& classes, const std::string& name, const fs::path& folder) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name) {
        fail_listing((folder / name).string() + " is not a class of training: there is no folder train/" + name +
                     "; add it, or rename or remove this one");
    }
    return static_cast<std::size_t>(found - classes.begin());
}

PhotoListing list_splits(const fs::path& top) {
    PhotoListing listing;
    listing.top = top.string();
    const std::vector<std::string> validation = validation_folders(top);
    if (validation.size() > 1) {
        fail_listing(top.string() + " holds " + listed({validation[0] + "/", validation[1] + "/"}, "and") +
                     "; keep one of them");
    }
    const bool has_train = is_folder(top / kTrain);
    listing.holds_out = validation.empty();
    const fs::path held = validation.empty() ? top / kTrain : top / validation.front();
    listing.places = {(has_train ? top / kTrain : held).string(), held.string()};
    const auto split = [&](Split named) { return listing.holds_out ? std::nullopt : std::optional(named); };
    if (has_train) Lister(listing, split(Split::train)).add_classes(std::string(kTrain));
    if (!validation.empty()) {
        PhotoListing evaluated;
        evaluated.top = listing.top;
        Lister(evaluated, Split::validation).add_classes(validation.front());
        if (!has_train) listing.classes = evaluated.classes;
        for (ListedPhoto& photo : evaluated.photos) {
            photo.class_number = number_of(listing.classes, evaluated.classes[photo.class_number], held);
            listing.photos.push_back(std::move(photo));
        }
        std::ranges::move(evaluated.unused, std::back_inserter(listing.unused));
    }
    std::vector<std::string> splits = {std::string(kTrain), std::string(kTest)};
    splits.insert(splits.end(), validation.begin(), validation.end());
    Lister(listing, std::nullopt).add_rest("", splits);
    note_test(top, listing);
    return listing;
}

/// A folder of class folders. One whose own name is that of a split for evaluation is that split.
PhotoListing list_classes(const fs::path& top) {
    PhotoListing listing;
    listing.top = top.string();
    const std::string name = top.filename().string();
    const bool evaluates = name == kTest || std::ranges::find(kValidation, name) != kValidation.end();
    listing.places = {top.string(), top.string()};
    listing.holds_out = !evaluates;
    Lister(listing, evaluates ? std::optional(Split::validation) : std::nullopt).add_classes("", {std::string(kTest)});
    note_test(top, listing);
    note_validation_beside(top, listing);
    return listing;
}

}  // namespace

bool names_validation_photos(const std::string& place) {
    std::error_code failed;
    if (!is_photo_table(place)) return !validation_folders(place).empty();
    return fs::is_regular_file(place, failed) && !list_photo_table(place).holds_out;
}

bool looks_like_photos(const std::string& place) {
    constexpr int kMostFolders = 64;
    const fs::path top = place;
    std::error_code failed;
    if (is_photo_table(place)) return fs::is_regular_file(top, failed);
    if (!is_folder(top)) return false;
    const bool has_train = is_folder(top / kTrain);
    const std::vector<std::string> validation = validation_folders(top);
    const fs::path classes = has_train ? top / kTrain : validation.empty() ? top : top / validation.front();
    int looked_into = 0;
    for (fs::directory_iterator entry(classes, failed), end; !failed && entry != end; entry.increment(failed)) {
        std::error_code ignored;
        if (is_hidden(entry->path().filename().string()) || !entry->is_directory(ignored)) continue;
        if (++looked_into <= kMostFolders && holds_images(entry->path())) return true;
    }
    return false;
}

PhotoListing list_photos(const std::string& place) {
    const fs::path top = fs::absolute(without_trailing_slashes(place)).lexically_normal();
    const auto has_splits = [&] { return is_folder(top / kTrain) || !validation_folders(top).empty(); };
    PhotoListing listing = is_photo_table(place) ? list_photo_table(place)
                           : has_splits()        ? list_splits(top)
                                                 : list_classes(top);
    for (const std::string& name : listing.classes)
        check_class_name("folder: " + place, name);
    return listing;
}

}  // namespace cnntrain::data
