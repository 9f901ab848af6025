#include "data/records/tfrecord.h"

#include <algorithm>
#include <array>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "data/records/record_frame.h"
#include "data/records/record_index.h"

namespace cnntrain::data {
namespace {

/// Refuses empty files: TFRecord files have no end mark, so an incomplete copy looks like a file without records.
void refuse_lost_files(const std::vector<std::string>& paths, const std::vector<IndexedFile>& indexed) {
    std::int64_t most = 0;
    for (const IndexedFile& file : indexed)
        most = std::max(most, std::ssize(file.lengths));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (!is_lost(std::ssize(indexed[i].lengths), most)) continue;
        throw Error(ErrorKind::data, paths[i] + " is empty, while other files of its set have up to " +
                                         std::to_string(most) + " records; copy or make the file again");
    }
}

}  // namespace

RecordFiles::RecordFiles(std::vector<std::string> paths, const RecordOptions& options, FileSystem& files)
    : files_(&files), paths_(std::move(paths)), open_(allow_open_files(paths_.size())) {
    const std::vector<IndexedFile> indexed = index_files(paths_, options, files, open_);
    refuse_lost_files(paths_, indexed);
    starts_.reserve(paths_.size() + 1);
    starts_.push_back(0);
    for (const IndexedFile& file : indexed)
        starts_.push_back(starts_.back() + static_cast<std::int64_t>(file.lengths.size()));
    offsets_.reserve(static_cast<std::size_t>(size()) + paths_.size());
    for (const IndexedFile& file : indexed) {
        offsets_.push_back(0);
        for (const std::uint64_t length : file.lengths)
            offsets_.push_back(offsets_.back() + kRecordFrameBytes + length);
    }
}

RecordFiles::Place RecordFiles::place(std::int64_t index) const {
    CNNTRAIN_CHECK(index >= 0 && index < size(), "record number out of range");
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), index);
    const auto file = static_cast<std::size_t>(next - starts_.begin()) - 1;
    const std::size_t at = static_cast<std::size_t>(index) + file;  // each earlier file adds an entry for its end
    return {file, index - starts_[file], offsets_[at], offsets_[at + 1] - offsets_[at] - kRecordFrameBytes};
}

std::span<const std::byte> RecordFiles::read(std::int64_t index, std::vector<std::byte>& buffer) const {
    const Place at = place(index);
    const std::uint64_t needed = at.length + kRecordFooterBytes;
    if (buffer.size() < needed) {
        const std::size_t grown = std::max<std::size_t>(needed, buffer.size() + buffer.size() / 2);
        buffer.clear();  // avoids copying the old contents
        buffer.resize(grown);
    }
    return read_checked(at, std::span(buffer).first(needed));
}

std::span<const std::byte> RecordFiles::read_checked(const Place& at, std::span<std::byte> frame) const {
    const bool is_open = at.file < open_.size();
    const std::unique_ptr<InputFile> temporary = is_open ? nullptr : files_->open(paths_[at.file]);
    const InputFile& input = is_open ? *open_[at.file] : *temporary;
    input.read_at(at.offset + kRecordHeaderBytes, frame);
    const std::span<const std::byte> payload = frame.first(at.length);
    if (mask_crc(crc32c(payload)) != load_little_endian<std::uint32_t>(frame.last(kRecordFooterBytes))) {
        fail_record(
            paths_[at.file], at.record, at.offset,
            "the checksum of the record's " + std::to_string(at.length) + " bytes is wrong: the file is damaged");
    }
    return payload;
}

void RecordFiles::will_need(std::int64_t index) const noexcept {
    if (index < 0 || index >= size()) return;
    const Place at = place(index);
    if (at.file < open_.size()) open_[at.file]->will_need(at.offset, kRecordFrameBytes + at.length);
}

std::vector<OriginPart> RecordFiles::parts() const {
    std::vector<OriginPart> parts;
    for (std::string& name : names_below_common_folder(paths_)) {
        const std::size_t file = parts.size();
        const std::int64_t records = starts_[file + 1] - starts_[file];
        const std::span<const std::uint64_t> offsets = std::span(offsets_).subspan(
            static_cast<std::size_t>(starts_[file]) + file, static_cast<std::size_t>(records) + 1);
        parts.push_back({std::move(name), offsets.back(), records, crc32c(std::as_bytes(offsets))});
    }
    return parts;
}

std::uint64_t RecordFiles::memory_bytes() const {
    std::uint64_t total = offsets_.capacity() * sizeof(offsets_[0]) + starts_.capacity() * sizeof(starts_[0]) +
                          open_.capacity() * sizeof(open_[0]) + paths_.capacity() * sizeof(std::string);
    for (const std::string& path : paths_)
        total += path.capacity();
    return total;
}

std::string RecordFiles::describe(std::int64_t index) const {
    const Place at = place(index);
    return paths_[at.file] + ", record " + std::to_string(at.record) + " (at byte " + std::to_string(at.offset) + ")";
}

void append_record(std::span<const std::byte> payload, std::string& bytes) {
    std::array<std::byte, kRecordHeaderBytes> header{};
    const std::span<std::byte> parts(header);
    store_little_endian<std::uint64_t>(payload.size(), parts.first<8>());
    store_little_endian<std::uint32_t>(mask_crc(crc32c(parts.first<8>())), parts.last<4>());
    std::array<std::byte, kRecordFooterBytes> footer{};
    store_little_endian<std::uint32_t>(mask_crc(crc32c(payload)), footer);
    for (const std::span<const std::byte> part :
         {std::span<const std::byte>(header), payload, std::span<const std::byte>(footer)})
        bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
}

void RecordWriter::write(std::span<const std::byte> payload) {
    std::array<std::byte, kRecordHeaderBytes> header{};
    const std::span<std::byte> bytes(header);
    store_little_endian<std::uint64_t>(payload.size(), bytes.first<8>());
    store_little_endian<std::uint32_t>(mask_crc(crc32c(bytes.first<8>())), bytes.last<4>());
    std::array<std::byte, kRecordFooterBytes> footer{};
    store_little_endian<std::uint32_t>(mask_crc(crc32c(payload)), footer);
    for (const std::span<const std::byte> part :
         {std::span<const std::byte>(header), payload, std::span<const std::byte>(footer)}) {
        file_->write(part);
        content_.add(part);
    }
}

}  // namespace cnntrain::data
