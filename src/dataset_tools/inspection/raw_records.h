// Reads a TFRecord file from start to end in any condition: for inspecting files, not for training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cnntrain/base/io.h"

namespace cnntrain::dataset_tools {

struct RawRecord {
    std::int64_t number = 0;             // counted from 0
    std::uint64_t offset = 0;            // of its header in the file
    std::span<const std::byte> payload;  // valid until the next call of next()
    bool intact = true;                  // the payload's checksum is correct
};

/// Why a file could not be read to its end.
struct FrameDamage {
    std::int64_t record = 0;
    std::uint64_t offset = 0;  // of the record; everything from there on is unchecked
    std::uint64_t unchecked_bytes = 0;
    std::string what;
};

/// "<file>, record 3 (at byte 120): ", the start of a message.
std::string place_of(const std::string& file, std::int64_t record, std::uint64_t offset);

/// True if the file starts like a TFRecord file; false for files that are too short to tell.
bool begins_as_records(const InputFile& file);

/// Reads in large pieces. Memory: one piece, or the largest record.
class RawRecords {
public:
    explicit RawRecords(const InputFile& file) : file_(&file) {}

    /// Returns false at the end of the file, or where its framing is damaged; then damage() is set. Throws Error(data)
    /// if the operating system cannot read the file.
    bool next(RawRecord& record);
    const std::optional<FrameDamage>& damage() const { return damage_; }
    std::uint64_t done_bytes() const { return position_; }  // size of the records returned so far

private:
    std::span<const std::byte> peek(std::uint64_t size);
    bool stop(std::string what);

    const InputFile* file_;
    std::unique_ptr<std::byte[]> buffer_;  // bytes of the file starting at window_
    std::size_t capacity_ = 0;
    std::size_t filled_ = 0;
    std::uint64_t window_ = 0;
    std::uint64_t position_ = 0;  // of the next record
    std::int64_t number_ = 0;
    std::optional<FrameDamage> damage_;
};

}  // namespace cnntrain::dataset_tools
