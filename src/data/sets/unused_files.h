// Files that lie among a user's photos and are not used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cnntrain::data {

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

}  // namespace cnntrain::data
