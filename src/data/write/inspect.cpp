#include "cnntrain/data/inspect.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/images/jpeg.h"
#include "data/records/example_walk.h"
#include "data/write/data_files.h"
#include "data/write/inspect.h"

namespace cnntrain::data {
namespace {

constexpr std::string_view kImage = "image/encoded";
constexpr std::string_view kLabel = "image/class/label";
constexpr std::string_view kBoxes = "image/object/bbox/xmin";

/// A report under construction.
struct Tally {
    SetReport report;
    std::unordered_map<std::int64_t, std::int64_t> record_sizes;  // number of records per size, for the median

    void add_record(std::int64_t bytes) {
        ++report.records;
        report.record_bytes.add(bytes);
        ++record_sizes[bytes];
    }
    void add_label(std::int64_t label, std::int64_t count) {
        const auto found = report.labels.find(label);
        if (found != report.labels.end()) {
            found->second += count;
        } else if (report.labels.size() < kMostLabels) {
            report.labels.emplace(label, count);
        } else {
            report.other_labels += count;
        }
    }
    /// Null if there are too many keys.
    FeatureReport* feature(std::string_view key) {
        const auto found = report.features.find(key);
        if (found != report.features.end()) return &found->second;
        if (report.features.size() >= kMostKeys) return nullptr;
        return &report.features[std::string(key)];
    }
};

void merge(const FeatureReport& from, FeatureReport& into) {
    for (std::size_t type = 0; type < from.records_by_type.size(); ++type)
        into.records_by_type[type] += from.records_by_type[type];
    into.list_length.add(from.list_length);
    into.value_bytes.add(from.value_bytes);
    into.integers.add(from.integers);
    into.floats.add(from.floats);
}

void merge(const ImageReport& from, ImageReport& into) {
    into.height.add(from.height);
    into.width.add(from.width);
    into.grey += from.grey;
    into.inks += from.inks;
    into.progressive += from.progressive;
    into.not_jpeg += from.not_jpeg;
    into.boxes.add(from.boxes);
    into.without_box += from.without_box;
}

void merge(const Tally& from, Tally& into) {
    into.report.files += from.report.files;
    into.report.bytes += from.report.bytes;
    into.report.records += from.report.records;
    into.report.record_bytes.add(from.report.record_bytes);
    into.report.other_features += from.report.other_features;
    for (const auto& [key, feature] : from.report.features) {
        FeatureReport* known = into.feature(key);
        if (known != nullptr) {
            merge(feature, *known);
        } else {
            into.report.other_features += feature.records();
        }
    }
    into.report.other_labels += from.report.other_labels;
    for (const auto& [label, count] : from.report.labels)
        into.add_label(label, count);
    merge(from.report.images, into.report.images);
    into.report.not_examples += from.report.not_examples;
    into.report.damaged_records += from.report.damaged_records;
    into.report.damaged_files.insert(into.report.damaged_files.end(), from.report.damaged_files.begin(),
                                     from.report.damaged_files.end());
    for (const auto& [bytes, count] : from.record_sizes)
        into.record_sizes[bytes] += count;
}

std::int64_t median(const Tally& tally) {
    const std::map<std::int64_t, std::int64_t> sizes(tally.record_sizes.begin(), tally.record_sizes.end());
    std::int64_t before = 0;
    for (const auto& [bytes, count] : sizes) {
        before += count;
        if (2 * before >= tally.report.record_bytes.count) return bytes;
    }
    return 0;
}

void add_image(std::span<const std::byte> jpeg, JpegChecker& checker, ImageReport& images) {
    const std::optional<JpegHeader> header = checker.header(jpeg);
    if (!header) {
        ++images.not_jpeg;
        return;
    }
    images.height.add(header->height);
    images.width.add(header->width);
    images.grey += header->colours == JpegColours::grey ? 1 : 0;
    images.inks += header->colours == JpegColours::inks ? 1 : 0;
    images.progressive += header->progressive ? 1 : 0;
}

void add_feature(std::string_view key, const FeatureSummary& feature, Tally& tally) {
    FeatureReport* report = tally.feature(key);
    if (report == nullptr) {
        ++tally.report.other_features;
        return;
    }
    ++report->records_by_type[static_cast<std::size_t>(feature.type)];
    report->list_length.add(feature.length);
    report->value_bytes.add(feature.value_bytes);
    report->integers.add(feature.integers);
    report->floats.add(feature.floats);
}

void add_example(std::span<const std::byte> record, JpegChecker& checker, Tally& tally) {
    // Parses the whole record before counting anything: the fault may be at its very end.
    if (!visit_features(record, [](std::string_view, const FeatureSummary&) {})) {
        ++tally.report.not_examples;
        return;
    }
    std::span<const std::byte> image;
    std::int64_t boxes = 0;
    visit_features(record, [&](std::string_view key, const FeatureSummary& feature) {
        add_feature(key, feature, tally);
        if (key == kImage) image = feature.first_bytes;
        if (key == kBoxes) boxes = feature.length;
        if (key == kLabel && feature.integers.count > 0) tally.add_label(feature.first_integer, 1);
    });
    if (image.empty()) return;
    add_image(image, checker, tally.report.images);
    tally.report.images.boxes.add(boxes);
    tally.report.images.without_box += boxes == 0 ? 1 : 0;
}

void read_records(const InputFile& file, const std::string& name, std::int64_t most, ByteProgress& progress,
                  Tally& tally) {
    RawRecords records(file);
    RawRecord record;
    JpegChecker checker;
    for (std::uint64_t done = 0; tally.report.records != most && records.next(record); done = records.done_bytes()) {
        tally.add_record(static_cast<std::int64_t>(record.payload.size()));
        if (record.intact) {
            add_example(record.payload, checker, tally);
        } else {
            ++tally.report.damaged_records;
        }
        progress.add(records.done_bytes() - done);
    }
    if (records.damage()) {
        const FrameDamage& damage = *records.damage();
        tally.report.damaged_files.push_back(place_of(name, damage.record, damage.offset) + damage.what);
    }
    progress.add(file.size_bytes() - records.done_bytes());
}

void read_cifar(const InputFile& file, const std::string& name, DatasetId cifar, std::int64_t most,
                ByteProgress& progress, Tally& tally) {
    const CifarLayout& layout = cifar_layout(cifar);
    const auto there = static_cast<std::int64_t>(file.size_bytes() / layout.record_bytes);
    const std::int64_t count = most > 0 ? std::min(most, there) : there;
    for_each_cifar_record(file, layout, count, [&](std::int64_t, std::span<const std::byte> record) {
        tally.add_record(static_cast<std::int64_t>(record.size()));
        tally.add_label(std::to_integer<std::int64_t>(record[layout.label_bytes - 1]), 1);
        tally.report.images.height.add(kCifarSide);
        tally.report.images.width.add(kCifarSide);
    });
    const std::uint64_t rest = file.size_bytes() % layout.record_bytes;
    if (rest != 0) {
        tally.report.damaged_files.push_back(name + ": " + std::to_string(rest) +
                                             " bytes behind the last whole record");
    }
    progress.add(file.size_bytes());
}

Tally read_file(const std::string& folder, const FileSet& set, const std::string& name, const InspectSettings& settings,
                ByteProgress& progress) {
    Tally tally;
    tally.report.files = 1;
    const std::int64_t most = settings.records_per_file == 0 ? -1 : settings.records_per_file;
    try {
        const std::unique_ptr<InputFile> file = posix_files().open((std::filesystem::path(folder) / name).string());
        tally.report.bytes = static_cast<std::int64_t>(file->size_bytes());
        if (!set.cifar) {
            read_records(*file, name, most, progress, tally);
        } else {
            read_cifar(*file, name, *set.cifar, most, progress, tally);
        }
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        tally.report.damaged_files.emplace_back(error.what());  // the message of the system's error names the file
    }
    return tally;
}

/// A single file without any records is probably a wrong argument.
void check_single_file(const std::string& path, const std::vector<SetReport>& reports) {
    if (std::filesystem::is_directory(path) || reports.front().records > 0) return;
    if (!reports.front().damaged_files.empty()) throw Error(ErrorKind::data, reports.front().damaged_files.front());
}

}  // namespace

std::int64_t FeatureReport::records() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : records_by_type)
        sum += count;
    return sum;
}

FeatureType FeatureReport::type() const {
    const auto* const most = std::max_element(records_by_type.begin(), records_by_type.end());
    return static_cast<FeatureType>(most - records_by_type.begin());
}

std::vector<SetReport> inspect(const InspectSettings& settings) {
    const DataFiles found = find_data_files(settings.path);
    struct Job {
        std::size_t set;
        std::size_t file;
    };
    std::vector<Job> jobs;
    std::vector<Tally> tallies(found.sets.size());
    for (std::size_t set = 0; set < found.sets.size(); ++set) {
        for (std::size_t file = 0; file < found.sets[set].files.size(); ++file)
            jobs.push_back({set, file});
    }
    ByteProgress progress(settings.progress, total_bytes(found));
    std::mutex merging;
    tbb::task_arena arena(std::clamp(settings.threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] {
        tbb::parallel_for(
            std::size_t{0}, jobs.size(),
            [&](std::size_t i) {
                const FileSet& set = found.sets[jobs[i].set];
                const Tally tally = read_file(found.folder, set, set.files[jobs[i].file], settings, progress);
                const std::lock_guard lock(merging);
                merge(tally, tallies[jobs[i].set]);
            },
            tbb::simple_partitioner());
    });
    std::vector<SetReport> reports;
    for (std::size_t i = 0; i < tallies.size(); ++i) {
        if (found.sets[i].files.empty()) continue;  // a CIFAR split without any files
        SetReport& report = tallies[i].report;
        report.name = found.sets[i].name;
        report.format = format_name(found.sets[i]);
        report.median_record_bytes = median(tallies[i]);
        std::ranges::sort(report.damaged_files);
        reports.push_back(std::move(report));
    }
    check_single_file(settings.path, reports);
    return reports;
}

namespace {

using Bytes = std::span<const std::byte>;

bool summarise(Bytes feature, FeatureSummary& summary) {
    const std::optional<FeatureType> type = list_type(feature);
    if (!type) return false;
    summary.type = *type;
    switch (*type) {
        case FeatureType::none:
            return true;
        case FeatureType::bytes:
            return for_each_bytes(feature, [&](Bytes value) {
                if (summary.length++ == 0) summary.first_bytes = value;
                summary.value_bytes.add(static_cast<std::int64_t>(value.size()));
            });
        case FeatureType::floats:
            return for_each_float(feature, [&](float value) {
                ++summary.length;
                if (std::isfinite(value)) summary.floats.add(static_cast<double>(value));
            });
        case FeatureType::integers:
            return for_each_integer(feature, [&](std::int64_t value) {
                if (summary.length++ == 0) summary.first_integer = value;
                summary.integers.add(value);
            });
    }
    return true;
}

}  // namespace

bool visit_features(Bytes record, const std::function<void(std::string_view, const FeatureSummary&)>& visit) {
    return for_each_feature(record, [&](const FeatureEntry& entry) {
        FeatureSummary summary;
        if (!summarise(entry.feature, summary)) return false;
        visit(entry.key, summary);
        return true;
    });
}

void for_each_cifar_record(const InputFile& file, const CifarLayout& layout, std::int64_t count,
                           const std::function<void(std::int64_t, std::span<const std::byte>)>& visit) {
    constexpr std::int64_t kRecordsAtOnce = 256;
    std::vector<std::byte> buffer;
    for (std::int64_t first = 0; first < count; first += kRecordsAtOnce) {
        const std::int64_t here = std::min(kRecordsAtOnce, count - first);
        buffer.resize(static_cast<std::size_t>(here) * layout.record_bytes);
        file.read_at(static_cast<std::uint64_t>(first) * layout.record_bytes, buffer);
        for (std::int64_t i = 0; i < here; ++i) {
            visit(first + i,
                  std::span(buffer).subspan(static_cast<std::size_t>(i) * layout.record_bytes, layout.record_bytes));
        }
    }
}

}  // namespace cnntrain::data
