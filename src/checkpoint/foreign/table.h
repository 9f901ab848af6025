// Sorted tables of keys and values, as LevelDB and TensorFlow's index files have them.
// Format: google/leveldb's doc/table_format.md.
#pragma once

#include <functional>
#include <string_view>

#include "checkpoint/foreign/bytes.h"

namespace cnntrain::checkpoint {

/// Visits all entries in order. Error(data) for damage, also by the checksums of blocks; Error(unsupported) for
/// another compression than Snappy.
void for_each_entry(const FileSlice& table,
                    const std::function<void(std::string_view key, std::string_view value)>& visit);

}  // namespace cnntrain::checkpoint
