// Functions that find, count and open the files of each image data set. One row for each row of kDatasets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

// Lists of file name patterns, as given to options for data files.

/// The file that says that this program generated a folder's photos.
inline constexpr std::string_view kGeneratedMark = ".generated";

/// "a, b" becomes {"a", "b"}. Blanks around parts and empty parts are dropped.
std::vector<std::string> split_list(const std::string& list);

/// True if the text has `*`, `?` or `[`.
bool has_wildcard(const std::string& pattern);

/// The files that match one pattern, which may have commas, as in matching_files().
std::vector<std::string> files_matching(const std::string& pattern);

// The files below a folder, for converters and for classifying images.

/// The last folder that all of these files are in; empty without files.
std::filesystem::path common_folder(std::span<const std::filesystem::path> paths);

/// ".jpg" for "a/b.JPG"; "" without an extension.
std::string lower_extension(const std::string& path);

/// True for the extension of an image: .jpg, .png and so on, in any case.
bool is_named_as_image(const std::string& path);
/// True for an image by its extension or its first bytes. A link to nothing is an image if its name says so: its reader
/// reports it.
bool is_image_file(const std::string& path);

struct ListedFiles {
    std::vector<std::string> names;                // paths relative to the folder, sorted as text
    std::map<std::string, std::int64_t> left_out;  // number of other files by extension (".webp", or "" without one)
};

/// The files in and below a folder (following links, but not those that lead back up) with an extension (".xml", lower
/// case; the files' may be in any case). Skips hidden files and folders. Throws Error(data) if a folder cannot be read.
ListedFiles list_files(const std::string& folder, std::string_view extension);

/// The same for files that are images (is_image_file()).
ListedFiles list_images(const std::string& folder);

/// "3 .webp, 1 without an extension"; "" when no file was left out.
std::string left_out_text(const ListedFiles& files);

// Names of the shards of a set of records.

inline constexpr std::size_t kShardDigits = 5;  // of a shard's number and of the count
inline constexpr std::string_view kRecordSuffix = ".tfrecord";

/// "<prefix>-<index>-of-<count>", optionally followed by ".tfrecord".
struct ShardName {
    std::string prefix;
    int index = 0;
    int count = 0;
    std::string suffix;  // ".tfrecord" or ""
};
std::optional<ShardName> parse_shard_name(std::string_view file_name);

struct ImageSet {
    DatasetId id;
    /// named in messages if nothing is found
    std::string_view first_training_file;
    bool (*holds)(DatasetId id, const std::string& folder, Split split);
    /// Error(data) names the data set, the folder and the first missing file.
    std::vector<std::string> (*files)(const InputSettings& settings, Split split);
    /// Counts the samples in settings.folder. Throws Error(data) if files are missing or damaged.
    SampleCount (*count)(const InputSettings& settings, Split split);
    std::shared_ptr<const Dataset> (*open)(const InputSettings& settings, Split split, const PixelFormat& format);
    /// Names of the classes in settings.folder, by label; empty if the data do not name them. Throws Error(data) if
    /// there are fewer than two.
    std::vector<std::string> (*classes)(const InputSettings& settings) = nullptr;
};

const ImageSet& image_set(DatasetId id);

/// Names (not paths) in a folder, sorted; empty if the folder cannot be read.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace cnntrain::data
