// Where the files of a data set are.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/data/settings.h"

namespace cnntrain::data {

/// The folder that holds the data set's files: `data_dir` itself, or the first folder with the data set's name below
/// it (walked in sorted order, following links). Normalised, absolute. Error(usage) when `data_dir` is empty,
/// Error(data) naming data set, folder and first file when nothing is found.
std::string find_data_folder(DatasetId dataset, const std::string& data_dir);

/// Paths of the files of a split, in order. ImageNet takes any shard count (`train-00000-of-00004`) and any subset of
/// the shards that is present. Error(data) names data set, folder and the first missing file.
std::vector<std::string> split_files(DatasetId dataset, const std::string& folder, Split split);

/// The classes of the images: a fact of the data set, or counted below settings.data_dir. Errors as find_data_folder().
std::int64_t class_count(const DataSettings& settings);

}  // namespace cnntrain::data
