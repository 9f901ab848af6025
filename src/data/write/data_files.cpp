#include "data/write/data_files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "data/records/tfrecord.h"
#include "data/sets/cifar.h"
#include "data/sets/resolve.h"
#include "data/write/shard_writer.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

constexpr DatasetId kCifars[] = {DatasetId::cifar10, DatasetId::cifar100};

/// Takes the batch files of each CIFAR data set that has at least one file here.
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
    for (std::size_t index = 0; index < there.size(); ++index) {
        if (!there[index]) set.missing.push_back(shard_name(set.prefix, index, there.size()) + suffix);
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

namespace {

/// Size of a read. Small enough to stay in the second-level cache until its checksum is computed.
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

bool header_intact(std::span<const std::byte> header) {
    return mask_crc(crc32c(header.first<8>())) == load_little_endian<std::uint32_t>(header.subspan<8, 4>());
}

}  // namespace

bool begins_as_records(const InputFile& file) {
    std::array<std::byte, kRecordHeaderBytes> header{};
    if (file.size_bytes() < kRecordFrameBytes) return false;
    file.read_at(0, header);
    return header_intact(header);
}

/// The next `size` bytes; the file must have them.
std::span<const std::byte> RawRecords::peek(std::uint64_t size) {
    const std::uint64_t skip = position_ - window_;
    if (skip + size > filled_) {
        const auto keep = static_cast<std::size_t>(filled_ - skip);
        const std::uint64_t left = file_->size_bytes() - position_;
        const auto wanted = static_cast<std::size_t>(std::min(std::max(size, kPieceBytes), left));
        if (wanted > capacity_) {
            auto larger = std::make_unique_for_overwrite<std::byte[]>(wanted);
            if (keep > 0) std::memcpy(larger.get(), buffer_.get() + skip, keep);
            buffer_ = std::move(larger);
            capacity_ = wanted;
        } else if (keep > 0) {
            std::memmove(buffer_.get(), buffer_.get() + skip, keep);
        }
        window_ = position_;
        filled_ = keep;
        file_->read_at(window_ + keep, {buffer_.get() + keep, wanted - keep});
        filled_ = wanted;
    }
    return {buffer_.get() + (position_ - window_), static_cast<std::size_t>(size)};
}

bool RawRecords::stop(std::string what) {
    damage_ = {number_, position_, file_->size_bytes() - position_, std::move(what)};
    return false;
}

bool RawRecords::next(RawRecord& record) {
    const std::uint64_t left = file_->size_bytes() - position_;
    if (left == 0 || damage_) return false;
    if (left < kRecordHeaderBytes) {
        return stop(number_ == 0 ? "this is not a TFRecord file: it has " + std::to_string(left) + " bytes only"
                                 : "the file is cut short: " + std::to_string(left) + " bytes are left for a header");
    }
    const std::span<const std::byte> header = peek(kRecordHeaderBytes);
    if (!header_intact(header)) {
        return stop(number_ == 0
                        ? "this is not a TFRecord file, or damaged: the checksum of the first record's length is wrong"
                        : "the checksum of the record's length is wrong");
    }
    const auto length = load_little_endian<std::uint64_t>(header.first<8>());
    if (length > kMostPayloadBytes)
        return stop("a record of " + std::to_string(length) + " bytes; a tf.Example has less than 2 GiB");
    const std::uint64_t whole = kRecordFrameBytes + length;
    if (whole > left) {
        return stop("the file is cut short: the record needs " + std::to_string(whole) + " bytes, " +
                    std::to_string(left) + " are left");
    }
    const std::span<const std::byte> bytes = peek(whole);
    record.number = number_++;
    record.offset = position_;
    record.payload = bytes.subspan(kRecordHeaderBytes, static_cast<std::size_t>(length));
    record.intact =
        mask_crc(crc32c(record.payload)) == load_little_endian<std::uint32_t>(bytes.last<kRecordFooterBytes>());
    position_ += whole;
    return true;
}

}  // namespace cnntrain::data
