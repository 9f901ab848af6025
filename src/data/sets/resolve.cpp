#include "cnntrain/data/resolve.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <filesystem>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "data/sets/data_files.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cifar_files(DatasetId dataset, Split split) {
    if (dataset == DatasetId::cifar100) return {split == Split::train ? "train.bin" : "test.bin"};
    if (split == Split::validation) return {"test_batch.bin"};
    return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
}

std::string_view shard_prefix(Split split) {
    return split == Split::train ? "train" : "validation";
}

std::string first_file(DatasetId dataset, Split split) {
    if (dataset != DatasetId::imagenet) return cifar_files(dataset, split).front();
    return split == Split::train ? "train-00000-of-01024" : "validation-00000-of-00128";
}

/// Of "<split>-NNNNN-of-NNNNN"; 0 if `name` is not of that form.
int shard_count(const std::string& name, Split split) {
    const std::optional<ShardName> shard = parse_shard_name(name);
    return shard && shard->prefix == shard_prefix(split) && shard->suffix.empty() ? shard->count : 0;
}

std::vector<std::string> sorted_names(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code ignored;  // a folder that cannot be read holds nothing for us
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
        names.push_back(it->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool holds(DatasetId dataset, const fs::path& folder, Split split) {
    if (dataset != DatasetId::imagenet) return fs::is_regular_file(folder / first_file(dataset, split));
    const std::vector<std::string> names = sorted_names(folder);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return shard_count(name, split) > 0; });
}

bool holds_any(DatasetId dataset, const fs::path& folder) {
    return holds(dataset, folder, Split::train) || holds(dataset, folder, Split::validation);
}

/// Breadth first, in sorted order, following links; each real folder once, so that a loop of links ends. Error(data) when there
/// are so many folders that `top` must be a mistake, such as the root of all files.
std::optional<fs::path> search_below(DatasetId dataset, const fs::path& top) {
    constexpr std::size_t kMostFolders = 10'000;
    const std::string_view wanted = dataset_info(dataset).folder;
    std::set<std::string> visited;
    std::deque<fs::path> waiting = {top};
    while (!waiting.empty()) {
        const fs::path folder = waiting.front();
        waiting.pop_front();
        std::error_code failed;
        const fs::path real = fs::canonical(folder, failed);
        if (failed || !visited.insert(real.string()).second) continue;
        if (visited.size() > kMostFolders) {
            throw Error(ErrorKind::data, std::string(dataset_info(dataset).name) + ": no folder named " +
                                             std::string(wanted) + " among the first " + std::to_string(kMostFolders) +
                                             " below " + top.string() + "; give --data-dir a folder nearer to it");
        }
        if (folder.filename() == wanted && holds_any(dataset, folder)) return folder;
        for (const std::string& name : sorted_names(folder)) {
            if (fs::is_directory(folder / name, failed)) waiting.push_back(folder / name);
        }
    }
    return std::nullopt;
}

std::vector<std::string> shard_files(const std::string& folder, Split split) {
    std::vector<std::string> paths;
    int count = 0;
    for (const std::string& name : sorted_names(folder)) {
        const int shards = shard_count(name, split);
        if (shards == 0) continue;
        if (count != 0 && shards != count) {
            throw Error(ErrorKind::data, "imagenet: " + folder + " holds shards of two sets: " + name +
                                             " beside \"of " + std::to_string(count) +
                                             "\" ones; keep one set in the folder");
        }
        count = shards;
        paths.push_back((fs::path(folder) / name).string());
    }
    if (paths.empty()) {
        throw Error(ErrorKind::data, "imagenet: no file " + first_file(DatasetId::imagenet, split) +
                                         " (or of another shard count) in " + folder);
    }
    if (paths.size() < static_cast<std::size_t>(count)) {
        log::warning("imagenet: " + std::to_string(paths.size()) + " of " + std::to_string(count) + " " +
                     std::string(shard_prefix(split)) + " files are in " + folder + "; only these are used");
    }
    return paths;
}

}  // namespace

std::optional<DatasetId> infer_dataset(std::string_view data_dir) {
    std::string lower(data_dir);
    for (char& c : lower) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const auto has = [&](const char* part) { return lower.find(part) != std::string::npos; };
    if (has("imagenet")) return DatasetId::imagenet;
    if (has("cifar100") || has("cifar-100")) return DatasetId::cifar100;
    if (has("cifar")) return DatasetId::cifar10;
    return std::nullopt;
}

std::string find_data_folder(DatasetId dataset, const std::string& data_dir) {
    const DatasetInfo& info = dataset_info(dataset);
    if (data_dir.empty()) {
        throw Error(ErrorKind::usage, "no data folder for " + std::string(info.name) +
                                          ": give --data-dir or set the environment variable DATA_DIR");
    }
    const std::string looked_for = "looked for " + first_file(dataset, Split::train) + " in it and in a folder named " +
                                   std::string(info.folder) + " below it";
    std::error_code failed;
    if (!fs::is_directory(data_dir, failed)) {
        throw Error(ErrorKind::data, std::string(info.name) + ": data folder " + data_dir +
                                         (fs::exists(data_dir, failed) ? " is not a folder; " : " does not exist; ") +
                                         looked_for);
    }
    const fs::path top = fs::absolute(data_dir).lexically_normal();
    const std::optional<fs::path> found = holds_any(dataset, top) ? top : search_below(dataset, top);
    if (!found) {
        throw Error(ErrorKind::data, std::string(info.name) + ": no data in folder " + data_dir + "; " + looked_for);
    }
    std::string path = found->string();
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

std::vector<std::string> split_files(DatasetId dataset, const std::string& folder, Split split) {
    if (dataset == DatasetId::imagenet) return shard_files(folder, split);
    std::vector<std::string> paths;
    for (const std::string& name : cifar_files(dataset, split)) {
        const fs::path path = fs::path(folder) / name;
        if (!fs::is_regular_file(path)) {
            throw Error(ErrorKind::data,
                        std::string(dataset_info(dataset).name) + ": file " + name + " is missing in " + folder);
        }
        paths.push_back(path.string());
    }
    return paths;
}

}  // namespace cnntrain::data
