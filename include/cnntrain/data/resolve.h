// Finds the files of a data set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/settings.h"

namespace cnntrain::data {

/// The folder with the data set's files: `data_dir`, or the first folder below it with the data set's name (searched in
/// sorted order, following links). The result is normalised and absolute. Throws Error(usage) if `data_dir` is empty;
/// Error(data), naming data set, folder and first file, if nothing is found.
std::string find_data_folder(DatasetId dataset, const std::string& data_dir);

/// True for a folder or a table of photos that --dataset folder reads, judged by a few of its files.
bool looks_like_photos(const std::string& place);
/// True for a folder or a table of photos that says which photos are for validation.
bool names_validation_photos(const std::string& place);

/// Makes a value for DataSettings::found_photos.
std::shared_ptr<FoundPhotos> found_photos();

/// Paths of the files of a split, in order. For ImageNet, any shard count (`train-00000-of-00004`) and any subset of
/// the shards is accepted. Error(data) names data set, folder and the first missing file.
std::vector<std::string> split_files(DatasetId dataset, const std::string& folder, Split split);

/// Photos of up to this --image-size (pixels) are taken for a data set of small images.
inline constexpr std::int64_t kLargestSmallImage = 64;

/// A list of the classes of image records, beside these: one name in each line, in the order of the labels, which count
/// from 1.
inline constexpr const char* kLabelsFile = "labels.txt";
/// The names in the folder's list; empty if it has none. Error(data) names a line without a name, or with one that is
/// not UTF-8. Warns once of names that several lines have.
std::vector<std::string> classes_of_records(const std::string& folder);
/// Error(data) about `place` unless the name of a class is UTF-8, as arguments.json and checkpoints are.
void check_class_name(const std::string& place, const std::string& name);

/// The number of image classes: fixed for the data set, counted below settings.data_dir, or settings.classes for
/// records that do not say it. Errors as in find_data_folder(); Error(usage) if settings.classes is another number.
std::int64_t class_count(const DataSettings& settings);
/// The names of the classes by number, from below settings.data_dir; empty if the data set has numbers only. Errors as
/// in find_data_folder().
std::vector<std::string> class_names(const DataSettings& settings);

}  // namespace cnntrain::data
