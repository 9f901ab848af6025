#include "data/sets/data_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/records/raw_records.h"
#include "data/sets/cifar.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 5;  // of a shard's number and of the count
constexpr std::string_view kRecordSuffix = ".tfrecord";

constexpr DatasetId kCifars[] = {DatasetId::cifar10, DatasetId::cifar100};

/// The number at the front of `text`, which then begins behind it; nothing unless it has kDigits digits.
std::optional<int> take_number(std::string_view& text) {
    if (text.size() < kDigits) return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + kDigits, value);
    if (error != std::errc{} || end != text.data() + kDigits || text.front() == '-') return std::nullopt;
    text.remove_prefix(kDigits);
    return value;
}

std::string shard_file(std::string_view prefix, int index, int count, std::string_view suffix) {
    const auto number = [](int value) {
        const std::string digits = std::to_string(value);
        return std::string(kDigits - digits.size(), '0') + digits;
    };
    return std::string(prefix) + "-" + number(index) + "-of-" + number(count) + std::string(suffix);
}

/// The batches of each data set of which there is a file.
void take_cifar(std::vector<std::string>& names, DataFiles& found) {
    for (const DatasetId id : kCifars) {
        std::vector<FileSet> sets;
        for (const Split split : {Split::train, Split::validation}) {
            FileSet& set = sets.emplace_back();
            set.name = std::string(dataset_info(id).name) + (split == Split::train ? " train" : " test");
            set.cifar = id;
            for (const std::string& file : cifar_layout(id).files(split)) {
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
        const ShardName shard = *parse_shard_name(file);
        if (shard.index < set.count) {
            there[static_cast<std::size_t>(shard.index)] = true;
        } else {
            set.beyond.push_back(file);
        }
    }
    const std::string suffix = parse_shard_name(set.files.front())->suffix;
    for (int index = 0; index < set.count; ++index) {
        if (there[static_cast<std::size_t>(index)]) continue;
        set.missing.push_back(shard_file(set.prefix, index, set.count, suffix));
    }
}

void take_shards(std::vector<std::string>& names, DataFiles& found) {
    std::map<std::pair<std::string, int>, FileSet> sets;
    std::map<std::string, int> sets_of;
    std::erase_if(names, [&](const std::string& file) {
        const std::optional<ShardName> shard = parse_shard_name(file);
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
    if (path.extension() == kRecordSuffix || path.extension() == ".tfrecords") return true;
    try {
        return begins_as_records(*posix_files().open(path.string()));
    } catch (const Error&) {
        return false;  // cannot be read, and has no name that would say that it is data
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

/// Empty: TFRecords.
std::optional<DatasetId> cifar_of(const fs::path& path) {
    const std::string file = path.filename().string();
    for (const DatasetId id : kCifars) {
        for (const Split split : {Split::train, Split::validation}) {
            if (std::ranges::count(cifar_layout(id).files(split), file) > 0) return id;
        }
    }
    if (path.extension() != ".bin") return std::nullopt;
    const std::unique_ptr<InputFile> input = posix_files().open(path.string());
    if (begins_as_records(*input)) return std::nullopt;
    const bool cifar100 = input->size_bytes() % cifar_layout(DatasetId::cifar100).record_bytes == 0;
    return cifar100 ? DatasetId::cifar100 : DatasetId::cifar10;
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
    return set.cifar ? dataset_info(*set.cifar).name : "TFRecord";
}

std::optional<ShardName> parse_shard_name(std::string_view file_name) {
    constexpr std::string_view kOf = "-of-";
    ShardName shard;
    if (file_name.ends_with(kRecordSuffix)) {
        shard.suffix = kRecordSuffix;
        file_name.remove_suffix(kRecordSuffix.size());
    }
    constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits;
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

DataFiles find_data_files(const std::string& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) throw Error(ErrorKind::data, "no such file or folder: " + path);
    if (!fs::is_directory(path, failed)) return single_file(path);
    DataFiles found = list_folder(path);
    if (!found.sets.empty()) return found;
    for (const DatasetId id : {DatasetId::imagenet, DatasetId::cifar10, DatasetId::cifar100}) {
        const fs::path folder = fs::path(path) / dataset_info(id).folder;
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

}  // namespace cnntrain::data
