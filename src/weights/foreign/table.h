// Sorted tables of keys and values, as LevelDB and TensorFlow's index files have them.
// Format: google/leveldb's doc/table_format.md.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "weights/foreign/bytes.h"

namespace cnntrain::weights {

/// Bytes with which a table ends.
inline constexpr std::string_view kTableEnd("\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);

/// Visits all entries in order. Error(data) for damage, also by the checksums of blocks; Error(unsupported) for
/// another compression than Snappy.
void for_each_entry(const FileSlice& table,
                    const std::function<void(std::string_view key, std::string_view value)>& visit);

/// Entries of a block. Keys share the beginnings of the keys before them.
class BlockWriter {
public:
    void add(std::string_view key, std::string_view value);
    bool empty() const { return entries_ == 0; }
    std::size_t bytes() const { return bytes_.size(); }
    const std::string& last_key() const { return last_key_; }
    /// The block's content. The writer is empty then.
    std::string finish();

private:
    std::string bytes_;
    std::string last_key_;
    std::string whole_keys_;  // positions of entries that share nothing
    std::size_t entries_ = 0;
};

/// A table without compression.
class TableWriter {
public:
    /// Adds an entry. Keys must come in ascending order of their bytes.
    void add(std::string_view key, std::string_view value);
    /// The content of the file.
    std::string finish();

private:
    /// Returns the handle.
    std::string append(const std::string& block);
    void finish_block();

    std::string file_;
    BlockWriter block_;
    BlockWriter index_;
};

}  // namespace cnntrain::weights
