// Checks that a data set is complete and undamaged. Used by `cnntrain dataset verify`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/inspect.h"

namespace cnntrain::data {

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
