#include "cnntrain/dataset_tools/reshard.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/resolve.h"
#include "cnntrain/data/tfrecord.h"
#include "dataset_tools/inspection/data_files.h"
#include "dataset_tools/writing/shard_writer.h"

namespace cnntrain::dataset_tools {
namespace {

namespace fs = std::filesystem;

constexpr int kMostShards = 99999;

void check_settings(const ReshardSettings& settings) {
    if (settings.splits.empty()) throw Error(ErrorKind::usage, "no split to reshard");
    for (const ReshardSplit& split : settings.splits) {
        if (split.shards >= 1 && split.shards <= kMostShards) continue;
        throw Error(ErrorKind::usage, "the number of " + split.name + " shards is " + std::to_string(split.shards) +
                                          ", not in 1.." + std::to_string(kMostShards));
    }
}

/// Refuses to overwrite the source.
void check_output(const std::string& input, const std::string& output) {
    if (!same_place(input, output)) return;
    throw Error(ErrorKind::usage,
                "the output folder " + output + " is the input folder; the new shards need a folder of their own");
}

const FileSet& split_of(const DataFiles& found, const std::string& split) {
    const FileSet* set = nullptr;
    for (const FileSet& candidate : found.sets) {
        if (candidate.prefix != split || candidate.count == 0) continue;
        if (set != nullptr) {
            throw Error(ErrorKind::data, found.folder + " holds " + split +
                                             " shards of two sets: " + set->files.front() + " and " +
                                             candidate.files.front() + "; keep one set in the folder");
        }
        set = &candidate;
    }
    if (set == nullptr) {
        throw Error(ErrorKind::data, "no " + split + " shard (" + shard_name(split, 0, 1024) +
                                         " or of another shard count) in " + found.folder +
                                         "; choose the splits that are there");
    }
    if (!set->missing.empty()) {
        throw Error(ErrorKind::data, std::to_string(set->missing.size()) + " of the " + std::to_string(set->count) +
                                         " " + split + " shards are missing in " + found.folder + ", the first is " +
                                         set->missing.front() +
                                         "; the new set would look whole without being it: add them");
    }
    return *set;
}

/// The records of the splits, one split after the other, in file order.
class Source {
public:
    Source(const DataFiles& found, const ReshardSettings& settings) {
        data::RecordOptions options;
        options.threads = settings.threads;
        for (const ReshardSplit& split : settings.splits) {
            std::vector<std::string> paths;
            for (const std::string& file : split_of(found, split.name).files) {
                paths.push_back((fs::path(found.folder) / file).string());
            }
            splits_.push_back(std::make_unique<data::RecordFiles>(std::move(paths), options));
            first_.push_back(first_.back() + splits_.back()->size());
        }
    }

    std::int64_t first(std::size_t split) const { return first_[split]; }
    std::int64_t size(std::size_t split) const { return splits_[split]->size(); }

    std::span<const std::byte> read(std::int64_t record, std::vector<std::byte>& buffer) const {
        const std::size_t split = split_with(record);
        return splits_[split]->read(record - first_[split], buffer);
    }
    std::string describe(std::int64_t record) const {
        const std::size_t split = split_with(record);
        return splits_[split]->describe(record - first_[split]);
    }
    /// Digest of file names, modification times and record sizes.
    std::string digest() const {
        std::uint32_t crc = 0;
        for (const auto& split : splits_) {
            for (const std::string& path : split->paths()) {
                const std::string file = fs::path(path).filename().string();
                crc = crc32c(std::as_bytes(std::span(file)), crc);
                const std::int64_t changed_ns = posix_files().open(path)->modified_ns();
                crc = crc32c(std::as_bytes(std::span(&changed_ns, 1)), crc);
            }
            for (std::int64_t record = 0; record < split->size(); ++record) {
                const std::uint64_t bytes = split->payload_bytes(record);
                crc = crc32c(std::as_bytes(std::span(&bytes, 1)), crc);
            }
        }
        return std::to_string(first_.back()) + " records with crc " + std::to_string(crc);
    }

private:
    std::size_t split_with(std::int64_t record) const {
        return static_cast<std::size_t>(std::ranges::upper_bound(first_, record) - first_.begin()) - 1;
    }

    std::vector<std::unique_ptr<data::RecordFiles>> splits_;
    std::vector<std::int64_t> first_ = {0};  // first record of each split, then the total
};

std::vector<std::int64_t> record_order(const Source& source, std::size_t split, const ReshardSettings& settings) {
    const std::int64_t first = source.first(split);
    const std::int64_t count = source.size(split);
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), first);
    if (!settings.shuffle) return order;
    if (count > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorKind::unsupported,
                    "a split of " + std::to_string(count) + " records is too large to shuffle; keep the order instead");
    }
    // The splits of a set have different orders; the order of a split does not depend on which splits are resharded.
    const std::uint32_t stream = settings.splits[split].name == "train" ? 0 : 1;
    const std::vector<std::uint32_t> shuffled =
        shuffled_order(settings.seed, stream, static_cast<std::uint32_t>(count));
    std::ranges::transform(shuffled, order.begin(), [&](std::uint32_t record) { return first + record; });
    return order;
}

/// Sizes of shards differ by at most one record.
ShardSet plan_split(const ReshardSplit& split, const std::vector<std::int64_t>& order) {
    ShardSet set;
    set.prefix = split.name;
    const auto shards = static_cast<std::size_t>(split.shards);
    const auto begin_of = [&](std::size_t shard) {
        return order.begin() + static_cast<std::ptrdiff_t>(order.size() * shard / shards);
    };
    for (std::size_t shard = 0; shard < shards; ++shard) {
        set.sources.emplace_back(begin_of(shard), begin_of(shard + 1));
    }
    return set;
}

}  // namespace

ReshardResult reshard(const ReshardSettings& settings) {
    check_settings(settings);
    const DataFiles found = find_data_files(settings.input_folder);
    check_output(settings.input_folder, settings.output_folder);
    check_output(found.folder, settings.output_folder);
    const Source source(found, settings);

    ShardPlan plan;
    plan.folder = settings.output_folder;
    for (std::size_t i = 0; i < settings.splits.size(); ++i) {
        plan.sets.push_back(plan_split(settings.splits[i], record_order(source, i, settings)));
    }
    plan.fingerprint = {{"source", source.digest()},
                        {"order", settings.shuffle ? "seed " + std::to_string(settings.seed) : "as in the source"}};
    const std::string classes = (fs::path(found.folder) / data::kLabelsFile).string();
    if (exists(posix_files(), classes)) plan.texts[data::kLabelsFile] = read_text(posix_files(), classes);

    std::vector<std::vector<std::byte>> buffers(static_cast<std::size_t>(std::max(settings.threads, 1)));
    ShardJob job;
    job.threads = static_cast<int>(buffers.size());
    job.produce = [&](std::int64_t record, int worker) {
        const std::span<const std::byte> payload = source.read(record, buffers[static_cast<std::size_t>(worker)]);
        MadeRecord made;
        made.bytes.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
        return made;
    };
    job.source_name = [&](std::int64_t record) { return source.describe(record); };
    job.overwrite = settings.overwrite;
    job.stop_requested = settings.stop_requested;
    if (settings.progress) {
        job.progress = [&](const ShardProgress& progress) {
            settings.progress({progress.done, progress.kept, progress.total});
        };
    }
    const ShardResult written = write_shards(plan, job);
    return {written.interrupted, written.records, written.bytes, written.files_written, written.files_kept};
}

}  // namespace cnntrain::dataset_tools
