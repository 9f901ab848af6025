// Lists the files of a user's photos by their folders or by a table, without looking into them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/data/settings.h"

namespace cnntrain::data {

// Files that lie among a user's photos and are not used.

enum class Unused : std::uint8_t {
    not_an_image,
    unread_format,  // of a known format that this build does not read
    empty,
    too_large,
    unreadable,
    missing,    // named in a table, but not there
    repeated,   // named again in a table
    no_class,   // in no class folder
    no_split,   // in no folder of a split
    test_data,  // of a test split
    hidden,
};

struct UnusedFile {
    std::string path;  // or a folder, which ends with '/'
    Unused reason = Unused::not_an_image;
    std::string detail = {};
};

using UnusedFiles = std::vector<UnusedFile>;

/// "3 files are not used: 2 are not images (a.txt, b), 1 is empty (c.jpg)"; "" for none.
std::string unused_text(const UnusedFiles& files);

/// A table with a header: file, reason, detail.
std::string unused_csv(const UnusedFiles& files);

struct ListedPhoto {
    std::string path;               // below PhotoListing::top
    std::size_t class_number = 0;   // in PhotoListing::classes
    std::optional<Split> split;     // nothing: the photo goes to one of them by the validation fraction
    std::uint64_t bytes = 0;        // of the file; 0 until it was looked at
    std::int64_t shorter_side = 0;  // pixels of the image, as its header says; 0: unknown
};

/// The layouts of photos:
/// - a folder with train/, and one of validation/, valid/ and val/, each with a folder for each class;
/// - the same without validation photos: a share of the training photos is held out;
/// - a folder with a folder for each class: a share is held out. A folder named as a validation or test split is that
///   split alone;
/// - a table of files, classes and, if it has them, splits (.csv or .tsv).
/// Photos may lie deeper in a class folder, unless it is not clear which folder is the class.
struct PhotoListing {
    std::string top;
    std::vector<std::string> classes;   // sorted
    std::vector<ListedPhoto> photos;    // in no order
    std::array<std::string, 2> places;  // by Split: the folder of classes, or the table
    UnusedFiles unused;
    std::vector<std::string> notices;
    bool holds_out = false;  // there are photos without a split
};

/// Error(data) names the folder, or the table's line.
PhotoListing list_photos(const std::string& place);

/// True for the name of a table: a .csv or .tsv file.
bool is_photo_table(const std::string& path);
PhotoListing list_photo_table(const std::string& path);

}  // namespace cnntrain::data
