// Finds the files of a data set.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/data/settings.h"

namespace cnntrain::data {

/// The folder with the data set's files: `data_dir`, or the first folder below it with the data set's name (searched in
/// sorted order, following links). The result is normalised and absolute. Throws Error(usage) if `data_dir` is empty;
/// Error(data), naming data set, folder and first file, if nothing is found.
std::string find_data_folder(DatasetId dataset, const std::string& data_dir);

/// Paths of the files of a split, in order. For ImageNet, any shard count (`train-00000-of-00004`) and any subset of
/// the shards is accepted. Error(data) names data set, folder and the first missing file.
std::vector<std::string> split_files(DatasetId dataset, const std::string& folder, Split split);

/// The number of image classes: fixed for the data set, or counted below settings.data_dir. Errors as in
/// find_data_folder().
std::int64_t class_count(const DataSettings& settings);
/// The names of the classes by number, from below settings.data_dir; empty if the data set has numbers only. Errors as
/// in find_data_folder().
std::vector<std::string> class_names(const DataSettings& settings);

}  // namespace cnntrain::data
