// Inspects the contents of data files: counts, keys, sizes, labels. Used by `cnntrain dataset inspect`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/data/feature_type.h"

namespace cnntrain::data {

// Progress of a long read of data files.

/// Called at intervals with the bytes done and the total bytes, from any thread but not concurrently. May be empty.
using ReadProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

/// One key of tf.Examples.
struct FeatureReport {
    std::array<std::int64_t, 4> records_by_type{};  // by FeatureType; only one type in an undamaged file
    Range<std::int64_t> list_length;                // number of values per record
    Range<std::int64_t> value_bytes;                // size of each value, if the type is bytes
    Range<std::int64_t> integers;                   // values
    Range<double> floats;                           // finite values only

    std::int64_t records() const;
    FeatureType type() const;  // type in most records
};

/// Statistics from the JPEG headers; images are not decoded.
struct ImageReport {
    Range<std::int64_t> height;
    Range<std::int64_t> width;
    std::int64_t grey = 0;
    std::int64_t inks = 0;  // CMYK or YCCK
    std::int64_t progressive = 0;
    std::int64_t not_jpeg = 0;     // not JPEG, or with an unreadable header
    Range<std::int64_t> boxes;     // per image
    std::int64_t without_box = 0;  // number of images
};

/// A set of files: the shards of one split, the batches of one split, or one file.
struct SetReport {
    std::string name;    // "train", "validation", "cifar-10 train", or a file's name
    std::string format;  // "TFRecord", "cifar-10", "cifar-100"
    std::int64_t files = 0;
    std::int64_t bytes = 0;  // total size of the files
    std::int64_t records = 0;
    Range<std::int64_t> record_bytes;      // payloads
    std::int64_t median_record_bytes = 0;  // the lower one if there are two
    std::map<std::string, FeatureReport, std::less<>> features;
    std::int64_t other_features = 0;              // keys (per record) beyond the first kMostKeys distinct ones
    std::map<std::int64_t, std::int64_t> labels;  // number of records by label
    std::int64_t other_labels = 0;                // number of records beyond the first kMostLabels distinct labels
    ImageReport images;
    std::int64_t not_examples = 0;           // number of records, which are counted in record_bytes only
    std::int64_t damaged_records = 0;        // records with a wrong payload checksum, also counted in record_bytes only
    std::vector<std::string> damaged_files;  // "<file>, record 3 (at byte 120): what is wrong"; read up to there
};

inline constexpr std::size_t kMostKeys = 1000;
inline constexpr std::size_t kMostLabels = 100000;

struct InspectSettings {
    std::string path;                   // a file or a folder
    std::int64_t records_per_file = 0;  // maximum number of records to read per file; 0: all
    int threads = 1;                    // files are read in parallel
    ReadProgress progress = {};
};

/// One report per set of files, in name order. Memory does not grow with the number of records. Damage is reported, not
/// thrown. Throws Error(data) if the file or folder does not exist, if a folder has no data files, and if a single file
/// is neither TFRecord nor CIFAR.
std::vector<SetReport> inspect(const InspectSettings& settings);

}  // namespace cnntrain::data
