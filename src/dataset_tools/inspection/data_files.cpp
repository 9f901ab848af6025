#include "dataset_tools/inspection/data_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/records/cifar_layout.h"
#include "data/sets/file_patterns.h"
#include "dataset_tools/inspection/raw_records.h"

namespace cnntrain::dataset_tools {
namespace {

namespace fs = std::filesystem;

constexpr data::DatasetId kCifars[] = {data::DatasetId::cifar10, data::DatasetId::cifar100};

std::string shard_file(std::string_view prefix, int index, int count, std::string_view suffix) {
    const auto number = [](int value) {
        const std::string digits = std::to_string(value);
        return std::string(data::kShardDigits - digits.size(), '0') + digits;
    };
    return std::string(prefix) + "-" + number(index) + "-of-" + number(count) + std::string(suffix);
}

/// Takes the batch files of each CIFAR data set that has at least one file here.
void take_cifar(std::vector<std::string>& names, DataFiles& found) {
    for (const data::DatasetId id : kCifars) {
        std::vector<FileSet> sets;
        for (const data::Split split : {data::Split::train, data::Split::validation}) {
            FileSet& set = sets.emplace_back();
            set.name = std::string(data::dataset_info(id).name) + (split == data::Split::train ? " train" : " test");
            set.cifar = id;
            for (const std::string& file : data::cifar_layout(id).files(split)) {
                const bool there = std::erase(names, file) > 0;
                (there ? set.files : set.missing).push_back(file);
            }
        }
        const bool any = std::ranges::any_of(sets, [](const FileSet& set) { return !set.files.empty(); });
        if (any) found.sets.insert(found.sets.end(), sets.begin(), sets.end());
    }
}

void list_missing(FileSet& set) {
    std::vector<bool> there(static_cast<std::size_t>(set.count), false);
    for (const std::string& file : set.files) {
        const data::ShardName shard = *data::parse_shard_name(file);
        if (shard.index < set.count) {
            there[static_cast<std::size_t>(shard.index)] = true;
        } else {
            set.beyond.push_back(file);
        }
    }
    const std::string suffix = data::parse_shard_name(set.files.front())->suffix;
    for (int index = 0; index < set.count; ++index) {
        if (there[static_cast<std::size_t>(index)]) continue;
        set.missing.push_back(shard_file(set.prefix, index, set.count, suffix));
    }
}

void take_shards(std::vector<std::string>& names, DataFiles& found) {
    std::map<std::pair<std::string, int>, FileSet> sets;
    std::map<std::string, int> sets_of;
    std::erase_if(names, [&](const std::string& file) {
        const std::optional<data::ShardName> shard = data::parse_shard_name(file);
        if (!shard) return false;
        FileSet& set = sets[{shard->prefix, shard->count}];
        if (set.files.empty()) ++sets_of[shard->prefix];
        set.prefix = shard->prefix;
        set.count = shard->count;
        set.files.push_back(file);
        return true;
    });
    for (auto& [key, set] : sets) {
        set.name = sets_of[set.prefix] == 1 ? set.prefix : set.prefix + " of " + std::to_string(set.count);
        list_missing(set);
        found.sets.push_back(std::move(set));
    }
}

bool holds_records(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) return false;
    if (path.extension() == data::kRecordSuffix || path.extension() == ".tfrecords") return true;
    try {
        return begins_as_records(*posix_files().open(path.string()));
    } catch (const Error&) {
        return false;  // unreadable, and its name does not identify it as data
    }
}

DataFiles list_folder(const std::string& folder) {
    DataFiles found;
    found.folder = folder;
    std::vector<std::string> names = posix_files().list(folder);
    std::erase_if(names, [&](const std::string& file) {
        const bool leftover = finished_name(file).has_value();
        if (leftover) found.leftovers.push_back(file);
        return leftover;
    });
    take_cifar(names, found);
    take_shards(names, found);
    FileSet others;
    others.name = "records";
    for (const std::string& file : names) {
        if (holds_records(fs::path(folder) / file)) others.files.push_back(file);
    }
    if (!others.files.empty()) found.sets.push_back(std::move(others));
    return found;
}

/// Empty for TFRecords.
std::optional<data::DatasetId> cifar_of(const fs::path& path) {
    const std::string file = path.filename().string();
    for (const data::DatasetId id : kCifars) {
        for (const data::Split split : {data::Split::train, data::Split::validation}) {
            if (std::ranges::count(data::cifar_layout(id).files(split), file) > 0) return id;
        }
    }
    if (path.extension() != ".bin") return std::nullopt;
    const std::unique_ptr<InputFile> input = posix_files().open(path.string());
    if (begins_as_records(*input)) return std::nullopt;
    const bool cifar100 = input->size_bytes() % data::cifar_layout(data::DatasetId::cifar100).record_bytes == 0;
    return cifar100 ? data::DatasetId::cifar100 : data::DatasetId::cifar10;
}

DataFiles single_file(const fs::path& path) {
    FileSet set;
    set.name = path.filename().string();
    set.cifar = cifar_of(path);
    set.files.push_back(set.name);
    DataFiles found;
    found.folder = path.has_parent_path() ? path.parent_path().string() : ".";
    found.sets.push_back(std::move(set));
    return found;
}

}  // namespace

std::string_view format_name(const FileSet& set) {
    return set.cifar ? data::dataset_info(*set.cifar).name : "TFRecord";
}

DataFiles find_data_files(const std::string& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) throw Error(ErrorKind::data, "no such file or folder: " + path);
    if (!fs::is_directory(path, failed)) return single_file(path);
    DataFiles found = list_folder(path);
    if (!found.sets.empty()) return found;
    for (const data::DatasetId id : {data::DatasetId::imagenet, data::DatasetId::cifar10, data::DatasetId::cifar100}) {
        const fs::path folder = fs::path(path) / data::dataset_info(id).folder;
        if (!fs::is_directory(folder, failed)) continue;
        DataFiles inner = list_folder(folder.string());
        if (!inner.sets.empty()) return inner;
    }
    throw Error(
        ErrorKind::data,
        "no data file in " + path +
            ": expected TFRecord files (train-00000-of-01024, *.tfrecord) or CIFAR's (data_batch_1.bin, train.bin)" +
            (found.leftovers.empty() ? "" : "; there are only unfinished ones, such as " + found.leftovers[0]));
}

std::uint64_t total_bytes(const DataFiles& files) {
    std::uint64_t sum = 0;
    for (const FileSet& set : files.sets) {
        for (const std::string& file : set.files) {
            std::error_code failed;
            const std::uintmax_t bytes = fs::file_size(fs::path(files.folder) / file, failed);
            if (!failed) sum += bytes;
        }
    }
    return sum;
}

}  // namespace cnntrain::dataset_tools
