// What data files hold: counts, keys, sizes, labels. Behind `cnntrain dataset inspect`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/feature_type.h"
#include "cnntrain/dataset_tools/read_progress.h"

namespace cnntrain::dataset_tools {

/// One key of the tf.Examples.
struct FeatureReport {
    std::array<std::int64_t, 4> records_by_type{};  // by FeatureType; one type in a sound file
    data::Range<std::int64_t> list_length;          // values in one record
    data::Range<std::int64_t> value_bytes;          // of one value, if the type is bytes
    data::Range<std::int64_t> integers;             // values
    data::Range<double> floats;                     // values; those that are not finite are left out

    std::int64_t records() const;
    data::FeatureType type() const;  // of most records
};

/// From the JPEG headers, without decoding.
struct ImageReport {
    data::Range<std::int64_t> height;
    data::Range<std::int64_t> width;
    std::int64_t grey = 0;
    std::int64_t inks = 0;  // CMYK or YCCK
    std::int64_t progressive = 0;
    std::int64_t not_jpeg = 0;        // or a header that cannot be read
    data::Range<std::int64_t> boxes;  // per image
    std::int64_t without_box = 0;     // images
};

/// Files that belong together: the shards of one split, the batches of one split, or one file.
struct SetReport {
    std::string name;    // "train", "validation", "cifar-10 train", or a file's name
    std::string format;  // "TFRecord", "cifar-10", "cifar-100"
    std::int64_t files = 0;
    std::int64_t bytes = 0;  // of the files
    std::int64_t records = 0;
    data::Range<std::int64_t> record_bytes;  // payloads
    std::int64_t median_record_bytes = 0;    // the lower one of two
    std::map<std::string, FeatureReport, std::less<>> features;
    std::int64_t other_features = 0;              // keys (counted per record) beyond kMostKeys different ones
    std::map<std::int64_t, std::int64_t> labels;  // label -> records
    std::int64_t other_labels = 0;                // records, beyond kMostLabels different ones
    ImageReport images;
    std::int64_t not_examples = 0;           // records; they are in record_bytes only
    std::int64_t damaged_records = 0;        // checksum of the payload wrong; likewise
    std::vector<std::string> damaged_files;  // "<file>, record 3 (at byte 120): what is wrong"; read up to there
};

inline constexpr std::size_t kMostKeys = 1000;
inline constexpr std::size_t kMostLabels = 100000;

struct InspectSettings {
    std::string path;                   // a file, or a folder of them
    std::int64_t records_per_file = 0;  // only the first so many of each file; 0 = all
    int threads = 1;                    // files are read side by side
    ReadProgress progress = {};
};

/// One report for each set of files, in order of names. Memory does not grow with the number of records. Damage is
/// reported, not thrown; Error(data) when there is no such file or folder, when a folder has no data files, and when a
/// single file is neither TFRecord nor CIFAR.
std::vector<SetReport> inspect(const InspectSettings& settings);

}  // namespace cnntrain::dataset_tools
