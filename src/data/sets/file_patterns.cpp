#include "data/sets/file_patterns.h"

#include <glob.h>

#include <filesystem>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// glob(3)'s list, freed at the end.
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

/// Files that this program keeps beside the data.
bool is_by_product(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.ends_with(".cnntrain-index") || name.ends_with("conversion.jsonl") || finished_name(name).has_value();
}

bool has_wildcard(const std::string& pattern) {
    return pattern.find_first_of("*?[") != std::string::npos;
}

std::vector<std::string> matching_one(const std::string& pattern) {
    std::vector<std::string> paths = Matches(pattern).paths();
    if (has_wildcard(pattern)) {
        std::erase_if(paths, [](const std::string& path) {
            std::error_code failed;
            return fs::is_directory(path, failed) || is_by_product(path);
        });
    }
    if (!paths.empty()) return paths;
    posix_files().check_reachable(pattern);
    const fs::path folder = fs::path(pattern).parent_path();
    std::error_code failed;
    const bool no_folder = !folder.empty() && !has_wildcard(folder.string()) && !fs::exists(folder, failed);
    throw Error(ErrorKind::data, (has_wildcard(pattern) ? "no file fits the pattern '" : "there is no file '") +
                                     pattern + "'" + (no_folder ? ": there is no folder " + folder.string() : ""));
}

}  // namespace

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
        const std::vector<std::string> found = matching_one(pattern);
        files.insert(files.end(), found.begin(), found.end());
    }
    if (files.empty()) throw Error(ErrorKind::usage, "no files are given: a list of names or patterns is needed");
    return files;
}

}  // namespace cnntrain::data
