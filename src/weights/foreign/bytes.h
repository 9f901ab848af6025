// Little-endian numbers in files and in memory, with bounds: reading beyond the end is Error(data).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/weights/foreign.h"

namespace cnntrain::weights {

/// Error(data): "'path': what; the file is damaged ...".
[[noreturn]] void fail_damaged(const std::string& path, const std::string& what);
/// Error(unsupported): "'path': what".
[[noreturn]] void fail_unsupported(const std::string& path, const std::string& what);

/// Reads from the front. `where` names the bytes in errors: "weights.pth: data.pkl".
class ByteCursor {
public:
    ByteCursor(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

    std::string place() const { return "'" + std::string(where_) + "'"; }
    std::size_t position() const { return position_; }
    std::size_t left() const { return bytes_.size() - position_; }
    bool at_end() const { return left() == 0; }

    std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
    std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
    std::uint64_t u64() { return number(8); }
    /// A number of 1 to 8 bytes.
    std::uint64_t number(std::size_t size);
    /// LEB128, as in protocol buffers.
    std::uint64_t varint();
    std::span<const std::byte> take(std::uint64_t count);
    std::string_view text(std::uint64_t count);
    /// The text up to the line's end, which is taken too.
    std::string_view line();
    void skip(std::uint64_t count) { take(count); }
    void go_to(std::uint64_t position);

    [[noreturn]] void fail(const std::string& what) const;

private:
    std::span<const std::byte> bytes_;
    std::string_view where_;
    std::size_t position_ = 0;
};

std::string_view text_of(std::span<const std::byte> bytes);

/// A part of a file, or all of it.
class FileSlice {
public:
    explicit FileSlice(const InputFile& file) : FileSlice(file, 0, file.size_bytes()) {}
    /// The part must lie in the file.
    FileSlice(const InputFile& file, std::uint64_t offset, std::uint64_t size)
        : file_(&file), offset_(offset), size_(size) {}

    const std::string& path() const { return file_->path(); }
    std::uint64_t size() const { return size_; }
    bool holds(std::uint64_t at, std::uint64_t count) const { return at <= size_ && count <= size_ - at; }
    /// Error(data) unless these bytes lie in the slice; `what` names them: "its header".
    FileSlice part(std::uint64_t at, std::uint64_t count, std::string_view what) const;
    std::vector<std::byte> read(std::uint64_t at, std::uint64_t count, std::string_view what) const;
    /// Reads as many bytes as there are, up to `most`.
    std::vector<std::byte> read_up_to(std::uint64_t at, std::uint64_t most) const;
    void read_into(std::uint64_t at, std::span<std::byte> out, std::string_view what) const;
    /// Visits all bytes in pieces.
    void for_each_piece(const std::function<void(std::span<const std::byte>)>& visit) const;

private:
    const InputFile* file_;
    std::uint64_t offset_;
    std::uint64_t size_;
};

/// The names and paths that a reader keeps. Small hostile files repeat long ones for every tensor.
class NameBudget {
public:
    /// A multiple of the file's bytes, and at most a part of the memory that the process may still take.
    NameBudget(std::string path, std::uint64_t file_bytes);
    /// Error(data), or Error(unsupported) if memory is the limit.
    void spend(std::uint64_t bytes);

private:
    std::string path_;
    std::uint64_t of_file_;
    std::uint64_t of_memory_;
    std::uint64_t spent_ = 0;
};

/// The beginning of a name, for messages.
std::string shown_name(std::string_view name);

/// Appends a length to a shape; false if the tensor's bytes could overflow 64 bits.
bool add_length(Shape& shape, std::uint64_t length);

// The readers of single formats, with which cnntrain/weights/foreign.h is implemented.

/// Result of a reader.
struct ForeignContent {
    ForeignFile file;
    std::uint64_t stored_bytes = 0;  // of all files that it reads
};

/// torch.save() as a zip archive.
ForeignContent open_torch_zip(std::shared_ptr<const InputFile> file, const std::string& part);
/// torch.save() before version 1.6: pickles, one after the other, and the storages.
ForeignContent open_torch_legacy(const std::shared_ptr<const InputFile>& file, const std::string& part);
/// Bytes with which such a file begins.
inline constexpr std::string_view kTorchLegacy("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);

/// An HDF5 file.
ForeignContent open_hdf5(std::shared_ptr<const InputFile> file);
inline constexpr std::string_view kHdf5("\x89HDF\r\n\x1a\n", 8);
/// .keras: a zip archive with an HDF5 file in it.
ForeignContent open_keras_zip(std::shared_ptr<const InputFile> file);
inline constexpr const char* kKerasWeights = "model.weights.h5";

/// `index`: the path of PREFIX.index.
ForeignContent open_tensorflow(const FileSystem& files, const std::string& index);

/// Visits all entries of a sorted table in order, as LevelDB and TensorFlow's index files have them. Error(data) for
/// damage, also by the checksums of blocks; Error(unsupported) for another compression than Snappy.
/// Format: google/leveldb's doc/table_format.md.
void for_each_entry(const FileSlice& table,
                    const std::function<void(std::string_view key, std::string_view value)>& visit);
/// Bytes with which a table ends.
inline constexpr std::string_view kTableEnd("\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);

// Zip archives with stored entries, also of more than 4 GB (zip64). Format: PKWARE's APPNOTE.TXT.

struct ZipEntry {
    FileSlice content;
    std::uint32_t crc = 0;
};

class ZipArchive {
public:
    /// Reads the directory. Error(data) unless it and all entries lie in the file.
    explicit ZipArchive(FileSlice file);

    /// Entries by path, without compressed and encrypted ones.
    const std::map<std::string, ZipEntry>& entries() const { return entries_; }
    /// Error(data) if it is absent, Error(unsupported) if it is compressed.
    const ZipEntry& entry(const std::string& name) const;
    /// Names of all entries, sorted; also of those that cannot be read.
    std::vector<std::string> names() const;
    bool contains(const std::string& name) const { return entries_.contains(name) || refused_.contains(name); }
    /// Error(data) unless the content has the entry's checksum.
    void check(const std::string& name) const;

private:
    struct Directory {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        std::uint64_t entries = 0;
    };
    Directory find_directory() const;
    Directory zip64_directory(std::uint64_t end_record) const;
    void read_entry(ByteCursor& directory);

    FileSlice file_;
    std::map<std::string, ZipEntry> entries_;
    std::map<std::string, std::string> refused_;  // why an entry cannot be read
};

}  // namespace cnntrain::weights
