#include "data/records/tfrecord.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/wire.h"
#include "data/threads.h"

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
    return record_place(paths_[at.file], at.record, at.offset);
}

void append_record(std::span<const std::byte> payload, std::string& bytes) {
    const RecordFrame frame = record_frame(payload);
    bytes += frame.before;
    bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    bytes += frame.after;
}

void RecordWriter::write(std::span<const std::byte> payload) {
    const RecordFrame frame = record_frame(payload);
    for (const std::span<const std::byte> part :
         {std::as_bytes(std::span(frame.before)), payload, std::as_bytes(std::span(frame.after))}) {
        file_->write(part);
        content_.add(part);
    }
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexMagic = "cnnTFidx";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kLargestIndexBytes = std::uint64_t{1} << 30;  // enough for 130 million records

[[noreturn]] void fail_cut(const std::string& path, std::int64_t record, std::uint64_t offset, std::uint64_t needed,
                           std::uint64_t left) {
    fail_record(path, record, offset,
                "the file is cut short: the record needs " + std::to_string(needed) + " bytes, " +
                    std::to_string(left) + " are left; copy or make the file again");
}

/// Never reads beyond the end, whatever the encoded numbers are.
class Decoder {
public:
    explicit Decoder(std::span<const std::byte> bytes) : left_(bytes) {}

    template <typename T> T number() { return load_little_endian<T>(take(sizeof(T))); }
    std::span<const std::byte> take(std::uint64_t count) {
        if (count > left_.size()) throw Error(ErrorKind::data, "it ends early");
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }
    std::size_t left() const { return left_.size(); }

private:
    std::span<const std::byte> left_;
};

IndexedFile decode_file(Decoder& decoder, const std::string& name) {
    IndexedFile file;
    file.size_bytes = decoder.number<std::uint64_t>();
    file.modified_ns = static_cast<std::int64_t>(decoder.number<std::uint64_t>());
    const auto count = decoder.number<std::uint64_t>();
    if (count > decoder.left() / 8) throw Error(ErrorKind::data, "it ends early");
    const auto lengths = decoder.take(count * 8);
    file.lengths.resize(count);
    std::uint64_t left = file.size_bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const auto length = load_little_endian<std::uint64_t>(lengths.subspan(8 * i, 8));
        if (left < kRecordFrameBytes || length > left - kRecordFrameBytes)
            throw Error(ErrorKind::data, "the records of " + name + " are larger than the file");
        if (length > kMostPayloadBytes) throw Error(ErrorKind::data, "a record of " + name + " is longer than 2 GiB");
        left -= length + kRecordFrameBytes;
        file.lengths[i] = length;
    }
    if (left != 0) throw Error(ErrorKind::data, "the records of " + name + " are smaller than the file");
    return file;
}

std::string folder_of(const std::string& path) {
    return fs::path(path).parent_path().string();
}

std::string name_of(const std::string& path) {
    return fs::path(path).filename().string();
}

/// The index stored at `place`; empty if there is none or it cannot be used.
FolderIndex load_index(const std::string& place, const FileSystem& files) {
    try {
        if (!exists(files, place)) return {};
        return decode_index(read_text(files, place, kLargestIndexBytes));
    } catch (const Error& error) {
        log::debug("the index " + place + " is not used and will be made again: " + error.what());
        return {};
    }
}

/// Compares the bytes: the checksum of an index with its checksum is the same for all.
bool holds_index(const std::string& place, const std::string& bytes, const FileSystem& files) {
    try {
        return exists(files, place) && read_text(files, place, bytes.size()) == bytes;
    } catch (const Error&) {
        return false;
    }
}

/// Returns false if nothing can be written there. Processes of a host may do this at the same time, each with its own
/// temporary file; the last index written stays.
bool store_index(const std::string& place, const std::string& bytes, FileSystem& files) {
    if (holds_index(place, bytes, files)) return true;
    bool written = false;
    try {
        if (const std::string folder = folder_of(place); !folder.empty()) files.make_directories(folder);
        const std::unique_ptr<OutputFile> file = files.create(place);
        file->write(std::as_bytes(std::span(bytes)));
        written = true;
        file->commit();
    } catch (const Error& error) {
        log::debug(std::string("the index of the records is not kept: ") + error.what());
    }
    return written;
}

/// The stored indexes of the folders that contain a set of files.
class KeptIndexes {
public:
    KeptIndexes(const std::vector<std::string>& paths, std::string index_name, FileSystem& files)
        : paths_(paths), index_name_(std::move(index_name)), files_(files) {
        for (const std::string& path : paths) {
            const auto [folder, is_new] = folders_.try_emplace(folder_of(path));
            if (!is_new) continue;
            for (const std::string& place : index_places(folder->first, index_name_))
                folder->second.push_back(load_index(place, files_));
        }
    }

    /// Null if no entry matches the file's present state.
    const IndexedFile* find(const InputFile& file) const {
        for (const FolderIndex& index : folders_.at(folder_of(file.path()))) {
            const auto found = index.find(name_of(file.path()));
            if (found != index.end() && found->second.size_bytes == file.size_bytes() &&
                found->second.modified_ns == file.modified_ns()) {
                return &found->second;
            }
        }
        return nullptr;
    }

    /// `indexed`: one entry per path. Entries of other files that still exist are kept for their readers.
    void store(const std::vector<IndexedFile>& indexed, const std::vector<char>& is_new) const {
        if (index_name_.empty()) return;
        for (const auto& [folder, kept] : folders_) {
            FolderIndex index;
            bool changed = false;
            for (std::size_t i = 0; i < paths_.size(); ++i) {
                if (folder_of(paths_[i]) != folder) continue;
                index[name_of(paths_[i])] = indexed[i];
                changed = changed || is_new[i] != 0;
            }
            if (!changed) continue;
            add_others(folder, kept, index);
            const std::string bytes = encode_index(index);
            for (const std::string& place : index_places(folder, index_name_)) {
                if (store_index(place, bytes, files_)) break;
            }
        }
    }

private:
    void add_others(const std::string& folder, const std::vector<FolderIndex>& kept, FolderIndex& index) const {
        for (const FolderIndex& old : kept) {
            for (const auto& [name, file] : old) {
                if (!index.contains(name) && exists(files_, (fs::path(folder) / name).string())) index[name] = file;
            }
        }
    }

    const std::vector<std::string>& paths_;
    std::string index_name_;
    FileSystem& files_;
    std::map<std::string, std::vector<FolderIndex>> folders_;
};

}  // namespace

std::string record_place(const std::string& path, std::int64_t record, std::uint64_t offset) {
    return path + ", record " + std::to_string(record) + " (at byte " + std::to_string(offset) + ")";
}

void fail_record(const std::string& path, std::int64_t record, std::uint64_t offset, const std::string& what) {
    throw Error(ErrorKind::data, record_place(path, record, offset) + ": " + what);
}

std::string encode_index(const FolderIndex& index) {
    std::string text(kIndexMagic);
    text += fixed_width(kVersion) + fixed_width(static_cast<std::uint32_t>(index.size()));
    for (const auto& [name, file] : index) {
        text += fixed_width(static_cast<std::uint32_t>(name.size())) + name + fixed_width(file.size_bytes) +
                fixed_width(file.modified_ns) + fixed_width(std::uint64_t{file.lengths.size()});
        for (const std::uint64_t length : file.lengths)
            text += fixed_width(length);
    }
    return text + fixed_width(crc32c(std::as_bytes(std::span(text))));
}

FolderIndex decode_index(std::string_view text) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    Decoder decoder(bytes);
    if (std::memcmp(decoder.take(kIndexMagic.size()).data(), kIndexMagic.data(), kIndexMagic.size()) != 0)
        throw Error(ErrorKind::data, "it is not an index of records");
    const auto version = decoder.number<std::uint32_t>();
    if (version != kVersion) throw Error(ErrorKind::data, "it has version " + std::to_string(version));
    if (decoder.left() < 4 ||
        crc32c(bytes.first(bytes.size() - 4)) != load_little_endian<std::uint32_t>(bytes.last(4))) {
        throw Error(ErrorKind::data, "its checksum is wrong");
    }
    FolderIndex index;
    for (auto files = decoder.number<std::uint32_t>(); files > 0; --files) {
        const auto word = decoder.take(decoder.number<std::uint32_t>());
        const std::string name(reinterpret_cast<const char*>(word.data()), word.size());
        index[name] = decode_file(decoder, name);
    }
    if (decoder.left() != 4) throw Error(ErrorKind::data, "it goes on after its last file");
    return index;
}

IndexedFile scan_records(const InputFile& file) {
    IndexedFile result{file.size_bytes(), file.modified_ns(), {}};
    const std::string& path = file.path();
    std::array<std::byte, kRecordHeaderBytes> header{};
    for (std::uint64_t offset = 0; offset < result.size_bytes;) {
        const auto record = static_cast<std::int64_t>(result.lengths.size());
        const std::uint64_t left = result.size_bytes - offset;
        if (left < kRecordHeaderBytes && record == 0) {
            fail_record(path, record, offset,
                        "this is not a TFRecord file (it has " + std::to_string(left) + " bytes only)");
        }
        if (left < kRecordHeaderBytes) fail_cut(path, record, offset, kRecordFrameBytes, left);
        file.read_at(offset, header);
        const std::span<const std::byte> bytes(header);
        const auto length = load_little_endian<std::uint64_t>(bytes.first<8>());
        if (mask_crc(crc32c(bytes.first<8>())) != load_little_endian<std::uint32_t>(bytes.last<4>())) {
            fail_record(path, record, offset,
                        record == 0 ? "this is not a TFRecord file (the checksum of the first record's length is wrong)"
                                    : "the checksum of the record's length is wrong: the file is damaged");
        }
        // Compared without an addition that could overflow: `length` may be anything up to 2^64 - 1.
        if (left < kRecordFrameBytes || length > left - kRecordFrameBytes)
            fail_cut(path, record, offset, kRecordFrameBytes + length, left);
        if (length > kMostPayloadBytes) {
            fail_record(path, record, offset,
                        "a record of " + std::to_string(length) + " bytes; a tf.Example has less than 2 GiB");
        }
        result.lengths.push_back(length);
        offset += kRecordFrameBytes + length;
    }
    return result;
}

std::vector<std::string> index_places(const std::string& folder, const std::string& index_name) {
    if (index_name.empty()) return {};
    std::vector<std::string> places{(fs::path(folder) / index_name).string()};
    if (const std::string cache = cache_folder(process_variables()); !cache.empty()) {
        std::error_code error;
        const fs::path whole = fs::weakly_canonical(folder.empty() ? "." : folder, error);
        places.push_back(cache + "/" + hex_text(hash_text(error ? folder : whole.string())) + "-" + index_name);
    }
    return places;
}

std::vector<IndexedFile> index_files(const std::vector<std::string>& paths, const RecordOptions& options,
                                     FileSystem& files, std::span<std::unique_ptr<InputFile>> open) {
    const KeptIndexes kept(paths, options.index_name, files);
    std::vector<IndexedFile> indexed(paths.size());
    std::vector<char> is_new(paths.size());
    for_each_index(options.threads, paths.size(), [&](std::size_t i) {
        std::unique_ptr<InputFile> file = files.open(paths[i]);
        const IndexedFile* known = kept.find(*file);
        indexed[i] = known != nullptr ? *known : scan_records(*file);
        is_new[i] = known == nullptr ? 1 : 0;
        if (i < open.size()) open[i] = std::move(file);
    });
    kept.store(indexed, is_new);
    return indexed;
}

RecordCount count_records(const std::vector<std::string>& paths, const std::string& index_name, FileSystem& files,
                          double patience_seconds) {
    const auto begin = std::chrono::steady_clock::now();
    const KeptIndexes kept(paths, index_name, files);
    RecordCount count;
    std::uint64_t counted_bytes = 0;
    std::uint64_t left_bytes = 0;
    for (const std::string& path : paths) {
        const std::unique_ptr<InputFile> file = files.open(path);
        const IndexedFile* known = kept.find(*file);
        if (known == nullptr && counted_bytes > 0 && seconds_since(begin) > patience_seconds) {
            left_bytes += file->size_bytes();
            continue;
        }
        count.records +=
            static_cast<std::int64_t>(known != nullptr ? known->lengths.size() : scan_records(*file).lengths.size());
        counted_bytes += file->size_bytes();
    }
    if (left_bytes == 0) return count;
    const double share = static_cast<double>(left_bytes) / static_cast<double>(counted_bytes);
    return {count.records + static_cast<std::int64_t>(static_cast<double>(count.records) * share), false};
}

}  // namespace cnntrain::data
