// What samples come from, as far as it can be known without reading a large data set: for telling whether the data of a
// run that goes on are those that it began with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::data {

/// A file, or a folder of many.
struct OriginPart {
    std::string name;            // below the folder of the data, so that data may be moved
    std::uint64_t bytes = 0;     // of a folder of many files: of some of them
    std::int64_t samples = 0;    // all that it holds
    std::uint32_t checksum = 0;  // crc32c: of all bytes where they are read anyway, else of lengths or names

    bool operator==(const OriginPart&) const = default;
};

struct Origin {
    std::int64_t samples = 0;            // that are used
    std::string recipe = {};             // of made-up samples; empty for files
    std::vector<OriginPart> parts = {};  // in the order of the samples

    bool operator==(const Origin&) const = default;
};

/// The paths without the folder that all of them are in.
std::vector<std::string> names_below_common_folder(const std::vector<std::string>& paths);

/// A file that is small enough to be read as a whole.
OriginPart part_of_file(const FileSystem& files, const std::string& path, std::int64_t samples);

}  // namespace cnntrain::data
