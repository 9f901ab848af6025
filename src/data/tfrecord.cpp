#include "cnntrain/data/tfrecord.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"

namespace cnntrain::data {
namespace {

constexpr std::uint64_t kHeaderBytes = 12;  // length and its crc
constexpr std::uint64_t kFooterBytes = 4;   // crc of the payload
/// More open files than this are opened for each read: the usual limit of a process is 1024.
constexpr std::size_t kMaxOpenFiles = 512;

template <typename T> T load_little_endian(std::span<const std::byte> bytes) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= static_cast<T>(static_cast<T>(bytes[i]) << (8 * i));
    }
    return value;
}

template <typename T> void store_little_endian(T value, std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        bytes[i] = static_cast<std::byte>(value >> (8 * i));
    }
}

[[noreturn]] void fail(const std::string& path, std::size_t record, std::uint64_t offset, const std::string& what) {
    throw Error(ErrorKind::data,
                path + ", record " + std::to_string(record) + " (at byte " + std::to_string(offset) + "): " + what);
}

[[noreturn]] void fail_cut(const std::string& path, std::size_t record, std::uint64_t offset, std::uint64_t needed,
                           std::uint64_t left) {
    fail(path, record, offset,
         "the file is cut short: the record needs " + std::to_string(needed) + " bytes, " + std::to_string(left) +
             " are left; copy or make the file again");
}

}  // namespace

RecordFiles::RecordFiles(std::vector<std::string> paths, int threads, const FileSystem& files)
    : files_(&files), paths_(std::move(paths)), open_(paths_.size()), entries_(paths_.size()) {
    tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
    arena.execute(
        [&] { tbb::parallel_for(std::size_t{0}, paths_.size(), [&](std::size_t file) { index_file(file); }); });
    starts_.push_back(0);
    for (const auto& entries : entries_) {
        starts_.push_back(starts_.back() + static_cast<std::int64_t>(entries.size()));
    }
}

void RecordFiles::index_file(std::size_t file) {
    const std::string& path = paths_[file];
    std::unique_ptr<InputFile> input = files_->open(path);
    const std::uint64_t size = input->size_bytes();
    std::vector<Entry>& entries = entries_[file];
    std::array<std::byte, kHeaderBytes> header{};
    for (std::uint64_t offset = 0; offset < size;) {
        const std::size_t record = entries.size();
        const std::uint64_t left = size - offset;
        if (left < kHeaderBytes && record == 0) {
            fail(path, record, offset, "this is not a TFRecord file (it has " + std::to_string(size) + " bytes only)");
        }
        if (left < kHeaderBytes) fail_cut(path, record, offset, kHeaderBytes + kFooterBytes, left);
        input->read_at(offset, header);
        const std::span<const std::byte> bytes(header);
        const auto length = load_little_endian<std::uint64_t>(bytes.first<8>());
        if (mask_crc(crc32c(bytes.first<8>())) != load_little_endian<std::uint32_t>(bytes.last<4>())) {
            fail(path, record, offset,
                 record == 0 ? "this is not a TFRecord file (the checksum of the first record's length is wrong)"
                             : "the checksum of the record's length is wrong: the file is damaged");
        }
        // Compared without adding to `length`, which may be anything up to 2^64 - 1.
        if (length > left - kHeaderBytes || left - kHeaderBytes - length < kFooterBytes) {
            fail_cut(path, record, offset, kHeaderBytes + length + kFooterBytes, left);
        }
        entries.push_back({offset, length});
        offset += kHeaderBytes + length + kFooterBytes;
    }
    if (file < kMaxOpenFiles) open_[file] = std::move(input);
}

RecordFiles::Place RecordFiles::place(std::int64_t index) const {
    CNNTRAIN_CHECK(index >= 0 && index < size(), "record number out of range");
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), index);
    const auto file = static_cast<std::size_t>(next - starts_.begin()) - 1;
    return {file, static_cast<std::size_t>(index - starts_[file])};
}

void RecordFiles::read(std::int64_t index, std::vector<std::byte>& payload) const {
    const auto [file, record] = place(index);
    const Entry& entry = entries_[file][record];
    const std::unique_ptr<InputFile> temporary = open_[file] ? nullptr : files_->open(paths_[file]);
    const InputFile& input = temporary ? *temporary : *open_[file];
    payload.resize(entry.length + kFooterBytes);
    input.read_at(entry.offset + kHeaderBytes, payload);
    const auto stored = load_little_endian<std::uint32_t>(std::span(payload).last<kFooterBytes>());
    payload.resize(entry.length);
    if (mask_crc(crc32c(payload)) != stored) {
        fail(paths_[file], record, entry.offset,
             "the checksum of the record's " + std::to_string(entry.length) + " bytes is wrong: the file is damaged");
    }
}

std::string RecordFiles::describe(std::int64_t index) const {
    const auto [file, record] = place(index);
    return paths_[file] + ", record " + std::to_string(record) + " (at byte " +
           std::to_string(entries_[file][record].offset) + ")";
}

void RecordWriter::write(std::span<const std::byte> payload) {
    std::array<std::byte, kHeaderBytes> header{};
    const std::span<std::byte> bytes(header);
    store_little_endian<std::uint64_t>(payload.size(), bytes.first<8>());
    store_little_endian<std::uint32_t>(mask_crc(crc32c(bytes.first<8>())), bytes.last<4>());
    std::array<std::byte, kFooterBytes> footer{};
    store_little_endian<std::uint32_t>(mask_crc(crc32c(payload)), footer);
    file_->write(header);
    file_->write(payload);
    file_->write(footer);
}

}  // namespace cnntrain::data
