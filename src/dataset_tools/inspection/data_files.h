// The data files of a folder, sorted into the sets that they belong to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/settings.h"

namespace cnntrain::dataset_tools {

/// Shards with one prefix and one count, the batches of one CIFAR split, or the other TFRecord files of a folder.
struct FileSet {
    std::string prefix;  // "train"; "" if not numbered
    std::string name;    // the prefix (and " of <count>" where there are several), "cifar-10 train", "records"
    std::optional<data::DatasetId> cifar = {};  // empty: TFRecords
    int count = 0;                              // of the numbered shards that there should be; 0: not numbered
    std::vector<std::string> files;             // names in the folder, sorted
    std::vector<std::string> missing;           // likewise
    std::vector<std::string> beyond;            // shards whose number is not below `count`; they are in `files` too
};

/// "TFRecord", "cifar-10" or "cifar-100".
std::string_view format_name(const FileSet& set);

struct DataFiles {
    std::string folder;  // where the files are: the one given, or one below it with a data set's name
    std::vector<FileSet> sets;
    std::vector<std::string> leftovers;  // names of unfinished files
};

/// Of a folder, or of a single file (one set). Files that are no data are left out: what is neither named as data nor
/// begins as TFRecord files do. Error(data) when nothing is there.
DataFiles find_data_files(const std::string& path);

/// Of all sets; files whose size cannot be read count as empty.
std::uint64_t total_bytes(const DataFiles& files);

}  // namespace cnntrain::dataset_tools
