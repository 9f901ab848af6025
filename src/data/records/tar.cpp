#include "data/records/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::data {
namespace {

constexpr std::uint64_t kBlock = 512;
/// Longer names and extended headers are damage.
constexpr std::uint64_t kMostExtended = std::uint64_t{1} << 20;
constexpr std::string_view kTar = ".tar";

/// Places in a header, as POSIX's <tar.h> and the manual of GNU tar state them.
struct FieldPlace {
    std::size_t begin;
    std::size_t bytes;
};
constexpr FieldPlace kName{0, 100};
constexpr FieldPlace kSize{124, 12};
constexpr FieldPlace kChecksum{148, 8};
constexpr FieldPlace kMagic{257, 6};
constexpr FieldPlace kPrefix{345, 155};
constexpr std::size_t kType = 156;

using Header = std::array<std::byte, kBlock>;

std::string_view text_at(const Header& header, const FieldPlace& place) {
    const std::string_view text(reinterpret_cast<const char*>(header.data()) + place.begin, place.bytes);
    return text.substr(0, text.find('\0'));
}

/// Octal digits; nothing for another text.
std::optional<std::uint64_t> octal(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return 0;
    text.remove_prefix(first);
    std::uint64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
    const bool whole = std::all_of(end, text.data() + text.size(), [](char c) { return c == ' '; });
    return failed == std::errc() && whole ? std::optional(value) : std::nullopt;
}

/// A size: octal digits or, for those of 8 GiB and more, GNU's big-endian number after a first byte of 0x80.
std::optional<std::uint64_t> size_of(const Header& header) {
    if (header[kSize.begin] != std::byte{0x80}) return octal(text_at(header, kSize));
    std::uint64_t value = 0;
    for (std::size_t i = 1; i < kSize.bytes; ++i) {
        if (value >> 56 != 0) return std::nullopt;
        value = value << 8 | std::to_integer<std::uint64_t>(header[kSize.begin + i]);
    }
    return value;
}

/// The sum of all bytes, those of the checksum counted as blanks.
bool has_checksum(const Header& header) {
    std::uint64_t sum = kChecksum.bytes * ' ';
    for (std::size_t i = 0; i < header.size(); ++i) {
        if (i - kChecksum.begin >= kChecksum.bytes) sum += std::to_integer<std::uint64_t>(header[i]);
    }
    return octal(text_at(header, kChecksum)) == sum;
}

class TarReader {
public:
    explicit TarReader(const InputFile& archive) : archive_(archive) {}

    std::vector<TarMember> members() {
        Header header;
        while (at_ < archive_.size_bytes() && read(header)) {
            const std::uint64_t begin = at_ + kBlock;
            const auto type = std::to_integer<char>(header[kType]);
            std::optional<std::uint64_t> bytes = size_of(header);
            const bool is_file = type == '0' || type == '\0' || type == '7';
            if (is_file && size_) bytes = size_;
            if (!bytes || *bytes > archive_.size_bytes() - begin)
                fail("a file that ends beyond the archive; is it a part of a copy?");
            if (type == 'L') {
                name_ = extended(begin, *bytes);
                name_.resize(std::min(name_.find('\0'), name_.size()));
            } else if (type == 'x') {
                read_pax(extended(begin, *bytes));
            } else if (type != 'g' && type != 'K') {
                if (is_file) add(header, {name_, begin, *bytes});
                name_.clear();
                size_.reset();
            }
            at_ = begin + *bytes + (kBlock - *bytes % kBlock) % kBlock;
        }
        return without_repeated();
    }

private:
    [[noreturn]] void fail(const std::string& got) const {
        throw Error(ErrorKind::data, archive_.path() + ", byte " + std::to_string(at_) +
                                         ": expected a tar archive's header of a file, got " + got);
    }

    /// False for the block of zeros at the archive's end.
    bool read(Header& header) {
        if (archive_.size_bytes() - at_ < kBlock) fail("only a part of one; is the archive a part of a copy?");
        archive_.read_at(at_, header);
        if (std::ranges::all_of(header, [](std::byte byte) { return byte == std::byte{0}; })) return false;
        constexpr std::byte kGzip{0x1f};
        if (at_ == 0 && header[0] == kGzip) fail("compressed bytes; unpack them first, with gunzip");
        if (!has_checksum(header)) fail("other bytes (their checksum differs)");
        return true;
    }

    /// The content of an extended header.
    std::string extended(std::uint64_t begin, std::uint64_t bytes) const {
        if (bytes > kMostExtended) fail("a name of " + std::to_string(bytes) + " bytes");
        return text_in(archive_, begin, bytes);
    }

    /// Records of pax: "LENGTH KEY=VALUE\n", where the length counts all of it.
    void read_pax(std::string_view text) {
        while (!text.empty()) {
            std::size_t length = 0;
            const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
            const auto digits = static_cast<std::size_t>(end - text.data());
            if (failed != std::errc() || length > text.size() || length < digits + 2 || text[digits] != ' ')
                fail("an extended header that is not made of records");
            const std::string_view record = text.substr(digits + 1, length - digits - 2);
            const std::string_view key = record.substr(0, record.find('='));
            const std::string_view value = record.substr(std::min(key.size() + 1, record.size()));
            if (key == "path") name_ = value;
            if (key == "size") size_ = decimal(value);
            text.remove_prefix(length);
        }
    }

    std::uint64_t decimal(std::string_view text) const {
        const auto value = as_number<std::uint64_t>(text);
        if (!value) fail("the size '" + std::string(text) + "'");
        return *value;
    }

    void add(const Header& header, TarMember member) {
        if (member.name.empty()) {
            const bool has_prefix = text_at(header, kMagic) == "ustar";  // POSIX's; GNU's goes on with a blank
            const std::string_view prefix = has_prefix ? text_at(header, kPrefix) : std::string_view();
            member.name = std::string(prefix) + (prefix.empty() ? "" : "/") + std::string(text_at(header, kName));
        }
        const std::filesystem::path path = std::filesystem::path(member.name).lexically_normal();
        member.name = path.string();
        const bool inside = !path.is_absolute() && path.begin() != path.end() && *path.begin() != "..";
        if (!inside || member.name.find('\0') != std::string::npos) fail("a name that leads out of the archive");
        if (path.has_filename()) found_.push_back(std::move(member));
    }

    std::vector<TarMember> without_repeated() {
        std::map<std::string_view, std::size_t> last;
        for (std::size_t i = 0; i < found_.size(); ++i)
            last[found_[i].name] = i;
        if (last.size() == found_.size()) return std::move(found_);
        std::vector<TarMember> result;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            if (last.at(found_[i].name) == i) result.push_back(found_[i]);
        }
        return result;
    }

    const InputFile& archive_;
    std::uint64_t at_ = 0;  // of the current header
    std::vector<TarMember> found_;
    std::string name_;                   // of the next file, from extended headers
    std::optional<std::uint64_t> size_;  // the same
};

/// A part of an archive as a file.
class MemberFile final : public InputFile {
public:
    MemberFile(std::unique_ptr<InputFile> archive, std::string path, std::uint64_t begin, std::uint64_t bytes)
        : archive_(std::move(archive)), path_(std::move(path)), begin_(begin), bytes_(bytes) {}

    const std::string& path() const override { return path_; }
    std::uint64_t size_bytes() const override { return bytes_; }
    std::int64_t modified_ns() const override { return archive_->modified_ns(); }
    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        if (offset > bytes_ || out.size() > bytes_ - offset)
            throw Error(ErrorKind::data, path_ + " ends after " + std::to_string(bytes_) + " bytes");
        archive_->read_at(begin_ + offset, out);
    }
    void will_need(std::uint64_t offset, std::uint64_t count) const noexcept override {
        archive_->will_need(begin_ + offset, count);
    }

private:
    std::unique_ptr<InputFile> archive_;
    std::string path_;
    std::uint64_t begin_;
    std::uint64_t bytes_;
};

using TarMembers = std::vector<TarMember>;

/// The members of an archive when it had this size and time. Threads that ask for one archive wait for the first.
struct TarIndex {
    std::mutex mutex;
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    std::shared_ptr<const TarMembers> members;  // sorted by name
};

TarIndex& index_of(const std::string& archive) {
    static std::mutex mutex;
    static std::map<std::string, TarIndex> indexes;
    const std::lock_guard lock(mutex);
    return indexes[archive];
}

/// The length of the archive's path in a member's path; 0 for the path of another file.
std::size_t archive_length(const std::string& path) {
    for (std::size_t at = path.find(".tar/"); at != std::string::npos; at = path.find(".tar/", at + 1)) {
        std::error_code failed;
        if (std::filesystem::is_regular_file(path.substr(0, at + kTar.size()), failed)) return at + kTar.size();
    }
    return 0;
}

}  // namespace

bool is_named_as_tar(std::string_view path) {
    return path.ends_with(kTar) || path.ends_with(".tar.gz") || path.ends_with(".tgz");
}

std::vector<TarMember> tar_members(const InputFile& archive) {
    return TarReader(archive).members();
}

std::shared_ptr<const TarMembers> kept_tar_members(const InputFile& archive) {
    TarIndex& index = index_of(archive.path());
    const std::lock_guard lock(index.mutex);
    if (!index.members || index.bytes != archive.size_bytes() || index.modified_ns != archive.modified_ns()) {
        TarMembers members = tar_members(archive);
        std::ranges::sort(members, {}, &TarMember::name);
        index.members = std::make_shared<const TarMembers>(std::move(members));
        index.bytes = archive.size_bytes();
        index.modified_ns = archive.modified_ns();
    }
    return index.members;
}

bool exists_in_tar(const std::string& path) {
    if (archive_length(path) == 0) return exists(posix_files(), path);
    try {
        return open_in_tar(path) != nullptr;
    } catch (const Error&) {
        return false;
    }
}

std::unique_ptr<InputFile> open_in_tar(const std::string& path) {
    const std::size_t length = archive_length(path);
    if (length == 0) return posix_files().open(path);
    std::unique_ptr<InputFile> archive = posix_files().open(path.substr(0, length));
    const std::string_view name = std::string_view(path).substr(length + 1);
    const std::shared_ptr<const TarMembers> members = kept_tar_members(*archive);
    const auto member = std::ranges::lower_bound(*members, name, {}, &TarMember::name);
    if (member == members->end() || member->name != name)
        throw Error(ErrorKind::data, archive->path() + " holds no file " + std::string(name));
    return std::make_unique<MemberFile>(std::move(archive), path, member->begin, member->bytes);
}

}  // namespace cnntrain::data
