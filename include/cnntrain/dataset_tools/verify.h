// Is a data set whole and sound? Behind `cnntrain dataset verify`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/dataset_tools/read_progress.h"

namespace cnntrain::dataset_tools {

enum class Fault {
    missing_file,     // a shard of a "-of-" set, or a CIFAR batch
    mixed_sets,       // shards of one split from two sets, or a number beyond the set's
    empty_file,       // no record
    leftover,         // a file that was not finished when its writer ended
    unreadable,       // the operating system refuses
    damaged_length,   // a record's length is wrong, or the file is cut short: what follows cannot be checked
    damaged_payload,  // its checksum is wrong
    not_an_example,   // no tf.Example, or a key of the wrong type
    no_image,
    wrong_label,
    wrong_value,    // of a pretraining record
    damaged_image,  // only when images are decoded: an error or a warning of libjpeg's
    wrong_size,     // a CIFAR file that is no whole number of records; not the records that conversion.jsonl notes
};
inline constexpr int kFaults = static_cast<int>(Fault::wrong_size) + 1;
std::string_view name(Fault fault);  // "missing file", ...

struct Finding {
    Fault fault = Fault::unreadable;
    std::string file;          // name in the folder
    std::int64_t record = -1;  // in the file, from 0; -1: the file as a whole
    std::uint64_t offset = 0;  // of the record in the file, in bytes
    std::string what;
};

struct VerifySettings {
    std::string path;     // a folder, or one file
    bool decode = false;  // every JPEG at full size
    int threads = 1;      // files are read side by side
    ReadProgress progress = {};
};

struct VerifyResult {
    std::int64_t files = 0;
    std::int64_t records = 0;  // whose checksums were compared (CIFAR has none: whose labels were)
    std::int64_t images_decoded = 0;
    std::uint64_t bytes = 0;            // checked
    std::uint64_t unchecked_bytes = 0;  // behind damaged lengths
    std::vector<Finding> findings;      // about the folder, then file by file in order of names
    std::vector<std::string> notes;     // what was not checked, and what is unusual but right
};

/// Reads everything once. Everything that is wrong is a finding; Error(data) only when there is no such file or folder
/// or no data file in it. What a record must hold: an image record (of files named train- or validation-, or with a key
/// image/...) an image and a label in 1..1000, a pretraining record (key input_ids) the keys of its layout, as many
/// values as the file's first record has, and values that some model takes; others are tf.Examples only.
VerifyResult verify(const VerifySettings& settings);

}  // namespace cnntrain::dataset_tools
