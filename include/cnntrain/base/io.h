// Files behind a small interface, with a POSIX implementation and an in-memory twin for tests.
//
// A file written through create() is finished or absent: it is written under a temporary name in the target's folder
// that nobody can guess and that no other file has, synced, and renamed at commit().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain {

class InputFile {
public:
    virtual ~InputFile() = default;
    virtual const std::string& path() const = 0;
    virtual std::uint64_t size_bytes() const = 0;
    virtual std::int64_t modified_ns() const = 0;  // time of the last change; comparable within one file system only
    /// Fills `out` from `offset`; Error(data) when the file ends before `out` is full. Thread-safe.
    virtual void read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
    /// Asks the system to read these bytes ahead; they may lie beyond the end.
    virtual void will_need(std::uint64_t offset, std::uint64_t count) const noexcept = 0;
};

/// Suffix of a file that is still being written. A killed process's partial file is removed when the same file is
/// written again.
inline constexpr std::string_view kPartialSuffix = ".partial";
/// The finished file's name: "a" for "a.0123456789ab.partial" and for "a.partial", as earlier versions wrote. Nothing
/// for the name of a finished file.
std::optional<std::string_view> finished_name(std::string_view file_name);

/// Upper limit of texts that this program reads; training.csv of a year has a tenth of it.
inline constexpr std::uint64_t kLargestTextBytes = std::uint64_t{1} << 30;

class OutputFile {
public:
    virtual ~OutputFile() = default;                          // without commit(): the temporary file is removed
    virtual void write(std::span<const std::byte> data) = 0;  // Error(storage) names the target
    virtual void commit() = 0;
};

/// Held until it is destroyed or its process dies.
class FileLock {
public:
    virtual ~FileLock() = default;
};

struct LockAttempt {
    std::unique_ptr<FileLock> lock;  // null: another process holds it
    std::string holder = {};         // then: the text that the holder wrote
};

/// Kind of file that a path leads to, through links; a link that leads nowhere is absent.
enum class FileKind { absent, file, directory, other };  // other: a pipe, a socket or a device

class FileSystem {
public:
    virtual ~FileSystem() = default;
    /// Error(data) if missing or not a regular file: a named pipe or a device may block for ever, or never end.
    virtual std::unique_ptr<InputFile> open(const std::string& path) const = 0;
    virtual std::unique_ptr<OutputFile> create(const std::string& path) = 0;
    virtual void append(const std::string& path, std::string_view text) = 0;  // for log.txt and CSV
    /// Error(data) when the system does not say: a folder without permission, a loop of links.
    virtual FileKind kind(const std::string& path) const = 0;
    /// Names (not paths) in a folder, sorted as text.
    virtual std::vector<std::string> list(const std::string& directory) const = 0;
    virtual void make_directories(const std::string& path) = 0;
    virtual void remove(const std::string& path) = 0;  // a file or an empty folder; no error if absent
    /// Locks `path`, which is made if it is absent, against all other processes and all other calls in this one, and
    /// writes `holder` into it for them to read. On a file system without locks, the lock keeps nobody out and a
    /// warning says so.
    virtual LockAttempt try_lock(const std::string& path, std::string_view holder) = 0;
};

/// False also when the system does not say what is there, which suffices for caches, suggestions and companion files.
/// Use kind() before reporting to a user that something is missing.
bool exists(const FileSystem& files, const std::string& path);
bool is_directory(const FileSystem& files, const std::string& path);

/// Visits bytes [begin, begin + bytes) of a file, a megabyte at a time.
void for_each_piece(const InputFile& file, std::uint64_t begin, std::uint64_t bytes,
                    const std::function<void(std::span<const std::byte>)>& visit);
/// Error(data) when the file ends before.
std::string text_in(const InputFile& file, std::uint64_t begin, std::uint64_t bytes);
/// All of a file. Error(data) when it is larger than `most_bytes`.
std::string whole_text(const InputFile& file, std::uint64_t most_bytes = kLargestTextBytes);
std::string read_text(const FileSystem& files, const std::string& path, std::uint64_t most_bytes = kLargestTextBytes);
/// The first bytes of a file, at most so many.
std::string beginning_of(const FileSystem& files, const std::string& path, std::uint64_t most_bytes);
void write_text(FileSystem& files, const std::string& path, std::string_view text);  // create + commit

/// Makes room for this process to open `count` more files; returns how many of them the system allows.
std::size_t allow_open_files(std::size_t count);

/// "/a/b//" -> "/a/b"; "/" stays.
std::string without_trailing_slashes(std::string path);
/// Path of a file in a folder.
std::string path_in(const std::string& folder, std::string_view name);

/// The process's real file system.
FileSystem& posix_files();

/// Everything in memory; `capacity_bytes` lets tests run out of space.
class MemoryFiles : public FileSystem {
public:
    explicit MemoryFiles(std::uint64_t capacity_bytes = UINT64_MAX) : capacity_bytes_(capacity_bytes) {}

    std::unique_ptr<InputFile> open(const std::string& path) const override;
    std::unique_ptr<OutputFile> create(const std::string& path) override;
    void append(const std::string& path, std::string_view text) override;
    FileKind kind(const std::string& path) const override;
    std::vector<std::string> list(const std::string& directory) const override;
    void make_directories(const std::string& path) override;
    void remove(const std::string& path) override;
    LockAttempt try_lock(const std::string& path, std::string_view holder) override;

    std::uint64_t used_bytes() const;
    void set_capacity_bytes(std::uint64_t capacity_bytes) { capacity_bytes_ = capacity_bytes; }

private:
    friend class MemoryOutput;
    friend class MemoryLock;
    struct Content {
        std::string bytes;
        std::int64_t modified_ns = 0;  // counts changes instead of time
    };
    std::map<std::string, Content> files_;
    std::int64_t changes_ = 0;
    std::uint64_t capacity_bytes_;
};

// One process at a time writes into a folder, or a file.

/// The locked file. It stays in the folder, empty while no process holds the lock.
inline constexpr std::string_view kFolderLockName = ".cnntrain-lock";

/// Locks an existing folder for writing. Error(usage) when another process holds the lock, with its number, host, start
/// and command; `command_line` is shown to other processes in the same way.
std::unique_ptr<FileLock> lock_folder(FileSystem& files, const std::string& folder, std::string_view command_line);
/// Locks the file `path` for writing, by ".<its name>.cnntrain-lock" in the same folder.
std::unique_ptr<FileLock> lock_file(FileSystem& files, const std::string& path, std::string_view command_line);

// The one rule for output files, applied before a command writes anything: a file that this program did not write, or
// that was changed since, is replaced only if the user gave the command's overwrite option; an input, a device, a pipe,
// a socket or a link that leads nowhere never.

/// A path, and what the user knows it by: "--to" or "the vocabulary".
struct NamedPath {
    std::string name;
    std::string path;
};

/// A file that will be written as a whole.
struct Output : NamedPath {
    bool overwrite = false;             // the user gave `overwrite_option`
    std::string overwrite_option = {};  // that replaces files of others; empty: the command has none
    /// True for a file that this program wrote for the same purpose: it is replaced without an option. Empty: for none.
    std::function<bool(const FileSystem& files, const std::string& path)> is_own = {};
};

/// Throws Error(usage) if an output is a folder, a device, a pipe, a socket or a link that leads nowhere; an input or
/// another output, also by another name; or a file that may not be replaced.
void check_outputs(const FileSystem& files, const std::vector<Output>& outputs,
                   const std::vector<NamedPath>& inputs = {});

/// Size and checksum of a file that a program wrote, by which it recognises the file later.
struct FileContent {
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0;  // crc32c

    void add(std::span<const std::byte> more);
    bool operator==(const FileContent&) const = default;
};
FileContent content_of(std::string_view text);
FileContent content_of(const InputFile& file);

/// True if `path` is a file with this content, byte for byte.
bool holds(const FileSystem& files, const std::string& path, const FileContent& content);

}  // namespace cnntrain
