#include "data/sets/file_patterns.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"

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
std::string meant_by(const std::string& start, const std::vector<std::string>& names) {
    std::vector<std::string> longer;
    for (const std::string& name : names) {
        if (name.starts_with(start)) longer.push_back(name);
    }
    if (longer.size() == 1) return longer.front();
    return longer.empty() ? nearest_name(start, names) : "";
}

/// A hint about the first missing folder or file in `pattern`: "; in /data/text there is no 'vald.txt'; did you mean
/// 'valid.txt'?" If that part has a wildcard, lists the folder's contents instead.
std::string what_is_there(const fs::path& pattern) {
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
    const std::string nearest = named ? meant_by(missing.string(), names) : "";
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
                                     pattern + "'" + what_is_there(pattern));
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

}  // namespace cnntrain::data
