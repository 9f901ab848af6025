// Inspects the contents of data files: counts, keys, sizes, labels. Used by `cnntrain dataset inspect`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

// Types of tf.Example features and the range of their values.

template <typename T> struct Range {
    std::int64_t count = 0;  // if 0, the other members are meaningless
    T min{};
    T max{};
    double sum = 0;

    double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    void add(T value) { add({1, value, value, static_cast<double>(value)}); }
    void add(const Range& other) {
        if (other.count == 0) return;
        min = count == 0 ? other.min : std::min(min, other.min);
        max = count == 0 ? other.max : std::max(max, other.max);
        count += other.count;
        sum += other.sum;
    }
};

enum class FeatureType { none, bytes, floats, integers };
std::string_view name(FeatureType type);  // "none", "bytes", "float", "int64"

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

// Checks that a data set is complete and undamaged. Used by `cnntrain dataset verify`.

enum class Fault {
    missing_file,     // a shard of a "-of-" set, or a CIFAR batch
    mixed_sets,       // shards of one split from two sets, or a number beyond the set's count
    empty_file,       // a file without records
    leftover,         // a file that its writer did not finish
    unreadable,       // the operating system reports an error
    damaged_length,   // a record's length is wrong, or the file is incomplete; the rest cannot be checked
    damaged_payload,  // the payload's checksum is wrong
    not_an_example,   // not a tf.Example, or a key of the wrong type
    no_image,
    wrong_label,
    wrong_value,    // in a pretraining record
    damaged_image,  // only if images are decoded: an error or a warning of libjpeg
    wrong_size,     // a CIFAR file that is not a whole number of records, or a file without the number of records in
                    // conversion.jsonl
};
inline constexpr int kFaults = static_cast<int>(Fault::wrong_size) + 1;
std::string_view name(Fault fault);  // "missing file", ...

struct Finding {
    Fault fault = Fault::unreadable;
    std::string file;          // file name in the folder
    std::int64_t record = -1;  // number in the file, from 0; -1: the file as a whole
    std::uint64_t offset = 0;  // of the record in the file, in bytes
    std::string what;
};

struct VerifySettings {
    std::string path;     // a folder, or one file
    bool decode = false;  // decode every JPEG at full size
    int threads = 1;      // files are read in parallel
    ReadProgress progress = {};
};

struct VerifyResult {
    std::int64_t files = 0;
    std::int64_t records = 0;  // records whose checksums were compared (CIFAR has none: whose labels were checked)
    std::int64_t images_decoded = 0;
    std::uint64_t bytes = 0;            // checked
    std::uint64_t unchecked_bytes = 0;  // after damaged lengths
    std::vector<Finding> findings;      // about the folder, then by file in name order
    std::vector<std::string> notes;     // what was not checked, and unusual facts that are not errors
};

/// Reads everything once. Every fault is a finding; throws Error(data) only if the file or folder does not exist or
/// contains no data file. An image record (in files named train- or validation-, or with a key image/...) must hold an
/// image and a label in 1..1000. A pretraining record (with the key input_ids) must hold the keys of its layout, list
/// lengths as in the file's first record, and values that some model accepts. Other records must be tf.Examples.
VerifyResult verify(const VerifySettings& settings);

}  // namespace cnntrain::data
