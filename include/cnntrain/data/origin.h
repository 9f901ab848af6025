// Identifies data, so that a resumed run can check them. Large data sets are not read for this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::data {

/// A file, or a folder of many.
struct OriginPart {
    std::string name;            // below the folder of the data, so that data may be moved
    std::uint64_t bytes = 0;     // for a folder of many files: total of some of them
    std::int64_t samples = 0;    // total number in it
    std::uint32_t checksum = 0;  // crc32c of all bytes if they are read anyway, otherwise of lengths or names

    bool operator==(const OriginPart&) const = default;
};

struct Origin {
    std::int64_t samples = 0;            // number of used samples
    std::string recipe = {};             // how samples are generated; empty for files
    std::vector<OriginPart> parts = {};  // in the order of the samples

    bool operator==(const Origin&) const = default;
};

/// The paths relative to the folder that contains all of them.
std::vector<std::string> names_below_common_folder(const std::vector<std::string>& paths);

/// Describes a file that is small enough to be read as a whole.
OriginPart part_of_file(const FileSystem& files, const std::string& path, std::int64_t samples);

}  // namespace cnntrain::data
