// The data files of a folder, grouped into sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/settings.h"

namespace cnntrain::dataset_tools {

/// Shards with the same prefix and count, the batches of one CIFAR split, or the other TFRecord files of a folder.
struct FileSet {
    std::string prefix;  // "train"; "" if the files are not numbered
    std::string name;    // the prefix (with " of <count>" if there are several), "cifar-10 train", "records"
    std::optional<data::DatasetId> cifar = {};  // empty: TFRecords
    int count = 0;                              // expected number of shards; 0: not numbered
    std::vector<std::string> files;             // names in the folder, sorted
    std::vector<std::string> missing;           // missing files, sorted
    std::vector<std::string> beyond;            // shards whose number is not below `count`; also in `files`
};

/// "TFRecord", "cifar-10" or "cifar-100".
std::string_view format_name(const FileSet& set);

struct DataFiles {
    std::string folder;  // folder of the files: the given one, or one below it with a data set's name
    std::vector<FileSet> sets;
    std::vector<std::string> leftovers;  // names of unfinished files
};

/// Finds the data files of a folder, or a single file (as one set). Ignores files that neither are named like data nor
/// start like TFRecord files. Throws Error(data) if there is nothing.
DataFiles find_data_files(const std::string& path);

/// Total size of all sets; files whose size cannot be read count as empty.
std::uint64_t total_bytes(const DataFiles& files);

}  // namespace cnntrain::dataset_tools
