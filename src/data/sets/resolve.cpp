#include "cnntrain/data/resolve.h"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "cnntrain/base/error.h"
#include "data/sets/image_sets.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

bool holds_any(DatasetId dataset, const fs::path& folder) {
    const ImageSet& set = image_set(dataset);
    return set.holds(dataset, folder.string(), Split::train) || set.holds(dataset, folder.string(), Split::validation);
}

/// The folders in a folder, and links to folders, sorted. The listing says which entries are files, so that no file
/// needs a system call of its own.
std::vector<fs::path> folders_in(const fs::path& folder) {
    std::vector<fs::path> folders;
    std::error_code failed;
    std::error_code ignored;  // unreadable folders are skipped
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
        if (it->is_directory(failed)) folders.push_back(it->path());
    }
    std::sort(folders.begin(), folders.end());
    return folders;
}

/// A folder's identity: the same for every path and link to it; none if it cannot be read.
std::optional<std::pair<dev_t, ino_t>> identity(const fs::path& folder) {
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0) return std::nullopt;
    return std::pair(status.st_dev, status.st_ino);
}

/// Searches breadth first, in sorted order, following links; visits each folder once, so that loops of links end.
/// Throws Error(data) if there are so many folders that `top` must be a mistake, such as the root folder.
std::optional<fs::path> search_below(DatasetId dataset, const fs::path& top) {
    constexpr std::size_t kMostFolders = 5'000;
    const std::string_view wanted = dataset_info(dataset).folder;
    if (wanted.empty()) return std::nullopt;
    std::set<std::pair<dev_t, ino_t>> visited;
    std::deque<fs::path> waiting = {top};
    while (!waiting.empty()) {
        const fs::path folder = waiting.front();
        waiting.pop_front();
        const auto id = identity(folder);
        if (!id || !visited.insert(*id).second) continue;
        if (visited.size() > kMostFolders) {
            throw Error(ErrorKind::data, std::string(dataset_info(dataset).name) + ": no folder named " +
                                             std::string(wanted) + " among the first " + std::to_string(kMostFolders) +
                                             " below " + top.string() + "; give --data-dir a folder nearer to it");
        }
        if (folder.filename() == wanted && holds_any(dataset, folder)) return folder;
        std::ranges::copy(folders_in(folder), std::back_inserter(waiting));
    }
    return std::nullopt;
}

/// A hint if the folder holds another data set; "" otherwise.
std::string looks_like(DatasetId wanted, const fs::path& folder) {
    for (const DatasetInfo& info : kDatasets) {
        if (info.id != wanted && holds_any(info.id, folder))
            return "; the folder looks like --dataset " + std::string(info.name);
    }
    return "";
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code ignored;  // unreadable folders are skipped
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
        names.push_back(it->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string find_data_folder(DatasetId dataset, const std::string& data_dir) {
    const DatasetInfo& info = dataset_info(dataset);
    if (data_dir.empty()) {
        throw Error(ErrorKind::usage, "no data folder for " + std::string(info.name) +
                                          ": give --data-dir or set the environment variable DATA_DIR");
    }
    const std::string below =
        info.folder.empty() ? "" : " and in a folder named " + std::string(info.folder) + " below it";
    const std::string looked_for =
        "looked for " + std::string(image_set(dataset).first_training_file) + " in it" + below;
    std::error_code failed;
    if (fs::is_regular_file(data_dir, failed) && holds_any(dataset, data_dir))
        return fs::absolute(data_dir).lexically_normal().string();
    if (!fs::is_directory(data_dir, failed)) {
        throw Error(ErrorKind::data, std::string(info.name) + ": data folder " + data_dir +
                                         (fs::exists(data_dir, failed) ? " is not a folder; " : " does not exist; ") +
                                         looked_for + "; give --data-dir the folder where the data are");
    }
    const fs::path top = fs::absolute(data_dir).lexically_normal();
    const std::optional<fs::path> found = holds_any(dataset, top) ? top : search_below(dataset, top);
    if (!found) {
        throw Error(ErrorKind::data, std::string(info.name) + ": no data in folder " + data_dir + "; " + looked_for +
                                         looks_like(dataset, top));
    }
    std::string path = found->string();
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

std::vector<std::string> split_files(DatasetId dataset, const std::string& folder, Split split) {
    return image_set(dataset).files({{.dataset = dataset}, folder}, split);
}

std::int64_t class_count(const DataSettings& settings) {
    const DatasetInfo& info = dataset_info(settings.dataset);
    const std::int64_t named = std::ssize(class_names(settings));
    // Records without a list of classes have as many as the user says.
    const bool is_open = info.format == ImageFormat::records || settings.kind != DataKind::real;
    if (named == 0 && is_open && settings.classes) return *settings.classes;
    const std::int64_t found = named > 0 ? named : info.classes;
    if (settings.classes && *settings.classes != found) {
        throw Error(ErrorKind::usage, "--num-classes " + std::to_string(*settings.classes) + ": " +
                                          (settings.data_dir.empty() ? std::string(info.name) : settings.data_dir) +
                                          " has " + std::to_string(found) + " classes");
    }
    return found;
}

std::vector<std::string> class_names(const DataSettings& settings) {
    const auto names = image_set(settings.dataset).classes;
    if (names == nullptr || settings.kind != DataKind::real) return {};
    InputSettings input{settings};
    try {
        input.folder = find_data_folder(settings.dataset, settings.data_dir);
    } catch (const Error&) {
        const bool published = dataset_info(settings.dataset).classes > 0;
        if (published) return {};  // there may be photos to classify; who needs the data tells of them
        throw;
    }
    return names(input);
}

}  // namespace cnntrain::data
