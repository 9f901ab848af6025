#include "data/sets/file_patterns.h"

#include <glob.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/images/file_format.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// Owns the result of glob(3).
class Matches {
public:
    explicit Matches(const std::string& pattern) { failed_ = ::glob(pattern.c_str(), GLOB_TILDE, nullptr, &found_); }
    ~Matches() { ::globfree(&found_); }
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;

    std::vector<std::string> paths() const {
        if (failed_ == 0) return {found_.gl_pathv, found_.gl_pathv + found_.gl_pathc};
        return {};
    }

private:
    glob_t found_{};
    int failed_ = 0;
};

/// True for files that this program stores beside data.
bool is_by_product(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.ends_with(".cnntrain-index") || name.ends_with("conversion.jsonl") || finished_name(name).has_value();
}

/// The only name that starts with `start`; otherwise the nearest name; "" if there is none.
std::string closest_match(const std::string& start, const std::vector<std::string>& names) {
    std::vector<std::string> longer;
    for (const std::string& name : names) {
        if (name.starts_with(start)) longer.push_back(name);
    }
    if (longer.size() == 1) return longer.front();
    return longer.empty() ? nearest_name(start, names) : "";
}

/// A hint about the first missing folder or file in `pattern`: "; in /data/text there is no 'vald.txt'; did you mean
/// 'valid.txt'?" If that part has a wildcard, lists the folder's contents instead.
std::string hint_for_missing_path(const fs::path& pattern) {
    constexpr std::size_t kShown = 8;
    fs::path folder = pattern.is_absolute() ? "/" : ".";
    fs::path missing;
    for (const fs::path& part : pattern.relative_path()) {
        missing = part;
        std::error_code failed;
        if (has_wildcard(part.string()) || !fs::is_directory(folder / part, failed)) break;
        folder /= part;
    }
    if (!is_directory(posix_files(), folder)) return "";
    std::vector<std::string> names;
    for (const std::string& name : posix_files().list(folder)) {
        if (!name.starts_with('.') && !is_by_product(name)) names.push_back(name);
    }
    std::ranges::sort(names);
    const std::string in = "; in " + folder.lexically_normal().string();
    if (names.empty()) return in + " there is nothing";
    const bool named = !has_wildcard(missing.string());
    const std::string nearest = named ? closest_match(missing.string(), names) : "";
    const std::string absent = named ? in + " there is no '" + missing.string() + "'" : "";
    if (!nearest.empty()) return absent + "; did you mean '" + nearest + "'?";
    std::string list;
    for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
        list += (i == 0 ? " " : ", ") + names[i];
    if (names.size() > kShown) list += ", ... (" + std::to_string(names.size()) + " in all)";
    return (named ? absent + " but" : in + " there is") + list;
}

}  // namespace

bool has_wildcard(const std::string& pattern) {
    return pattern.find_first_of("*?[") != std::string::npos;
}

std::vector<std::string> files_matching(const std::string& pattern) {
    std::vector<std::string> paths = Matches(pattern).paths();
    if (has_wildcard(pattern)) {
        std::erase_if(paths, [](const std::string& path) {
            std::error_code failed;
            return fs::is_directory(path, failed) || is_by_product(path);
        });
    }
    if (!paths.empty()) return paths;
    posix_files().kind(pattern);  // throws when the system does not say what is there
    throw Error(ErrorKind::data, (has_wildcard(pattern) ? "no file fits the pattern '" : "there is no file '") +
                                     pattern + "'" + hint_for_missing_path(pattern));
}

std::vector<std::string> split_list(const std::string& list) {
    constexpr std::string_view kBlanks = " \t\r\n";
    std::vector<std::string> parts;
    for (std::string_view rest = list; !rest.empty();) {
        std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        part.remove_prefix(std::min(part.find_first_not_of(kBlanks), part.size()));
        part = part.substr(0, part.find_last_not_of(kBlanks) + 1);
        if (!part.empty()) parts.emplace_back(part);
    }
    return parts;
}

std::vector<std::string> matching_files(const std::string& patterns) {
    std::vector<std::string> files;
    for (const std::string& pattern : split_list(patterns)) {
        const std::vector<std::string> found = files_matching(pattern);
        files.insert(files.end(), found.begin(), found.end());
    }
    if (files.empty()) throw Error(ErrorKind::usage, "no files are given: a list of names or patterns is needed");
    return files;
}

namespace {

/// Folders are rarely deeper; greater depth indicates a loop of links.
constexpr int kMaxRawDepth = 32;

bool holds_image(const std::string& path) {
    try {
        const std::unique_ptr<InputFile> file = posix_files().open(path);
        std::vector<std::byte> head(std::min<std::uint64_t>(file->size_bytes(), kFormatBytes));
        file->read_at(0, head);
        return file_format(head).has_value();
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

std::string lower_extension(const std::string& path) {
    std::string extension = fs::path(path).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

bool is_named_as_image(const std::string& path) {
    static constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".jpe", ".png", ".webp",
                                                       ".bmp", ".gif",  ".tif", ".tiff"};
    return std::ranges::find(kExtensions, lower_extension(path)) != std::end(kExtensions);
}

bool is_image_file(const std::string& path) {
    return is_named_as_image(path) || holds_image(path);
}

namespace {

/// True if a link leads to a folder in which it lies itself.
bool is_loop(const fs::path& link) {
    std::error_code failed;
    const fs::path target = fs::canonical(link, failed);
    const fs::path here = fs::canonical(link.parent_path(), failed);
    return !failed && std::mismatch(target.begin(), target.end(), here.begin(), here.end()).first == target.end();
}

template <typename Wanted> ListedFiles list_if(const std::string& folder, const Wanted& wanted) {
    ListedFiles files;
    try {
        for (fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink), end;
             entry != end; ++entry) {
            const fs::path& path = entry->path();
            if (entry.depth() > kMaxRawDepth) {
                throw Error(ErrorKind::data, "folder " + path.parent_path().string() + " is more than " +
                                                 std::to_string(kMaxRawDepth) +
                                                 " folders deep; is a link in it a loop?");
            }
            std::error_code failed;  // a link that leads to itself
            const bool is_hidden = path.filename().string().starts_with('.');
            const bool is_folder = entry->is_directory(failed);
            const bool loops = is_folder && entry->is_symlink(failed) && is_loop(path);
            if (is_hidden || !is_folder || loops) entry.disable_recursion_pending();
            if (is_hidden || (is_folder && !loops)) continue;
            const bool is_special = entry->exists(failed) && !entry->is_regular_file(failed);  // a pipe, say
            if (!is_special && wanted(path.string())) {
                files.names.push_back(path.lexically_relative(folder).string());
            } else {
                ++files.left_out[lower_extension(path.string())];
            }
        }
    } catch (const fs::filesystem_error& error) {
        throw Error(ErrorKind::data, "cannot read folder " + error.path1().string() + ": " + error.code().message());
    }
    std::sort(files.names.begin(), files.names.end());
    return files;
}

}  // namespace

ListedFiles list_files(const std::string& folder, std::string_view extension) {
    return list_if(folder, [&](const std::string& path) { return lower_extension(path) == extension; });
}

ListedFiles list_images(const std::string& folder) {
    return list_if(folder, is_image_file);
}

std::string left_out_text(const ListedFiles& files) {
    std::string text;
    for (const auto& [extension, count] : files.left_out) {
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " ";
        text += extension.empty() ? "without an extension" : extension;
    }
    return text;
}

namespace {

/// Removes the number at the front of `text` and returns it; nothing unless it has kShardDigits digits.
std::optional<int> take_number(std::string_view& text) {
    if (text.size() < kShardDigits) return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + kShardDigits, value);
    if (error != std::errc{} || end != text.data() + kShardDigits || text.front() == '-') return std::nullopt;
    text.remove_prefix(kShardDigits);
    return value;
}

}  // namespace

std::optional<ShardName> parse_shard_name(std::string_view file_name) {
    constexpr std::string_view kOf = "-of-";
    ShardName shard;
    if (file_name.ends_with(kRecordSuffix)) {
        shard.suffix = kRecordSuffix;
        file_name.remove_suffix(kRecordSuffix.size());
    }
    constexpr std::size_t kTail = 1 + kShardDigits + kOf.size() + kShardDigits;
    if (file_name.size() <= kTail) return std::nullopt;
    shard.prefix = file_name.substr(0, file_name.size() - kTail);
    std::string_view rest = file_name.substr(shard.prefix.size());
    if (!rest.starts_with('-')) return std::nullopt;
    rest.remove_prefix(1);
    const std::optional<int> index = take_number(rest);
    if (!index || !rest.starts_with(kOf)) return std::nullopt;
    rest.remove_prefix(kOf.size());
    const std::optional<int> count = take_number(rest);
    if (!count || *count == 0) return std::nullopt;
    shard.index = *index;
    shard.count = *count;
    return shard;
}

}  // namespace cnntrain::data
