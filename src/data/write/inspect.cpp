#include "data/write/inspect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/inspect.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/data/settings.h"
#include "data/images/jpeg.h"
#include "data/records/example.h"
#include "data/threads.h"
#include "data/write/data_files.h"
#include "data/write/shard_writer.h"

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

void add_feature(std::string_view key, const FeatureReport& feature, Tally& tally) {
    FeatureReport* const known = tally.feature(key);
    if (known == nullptr) {
        tally.report.other_features += feature.records();
        return;
    }
    for (std::size_t type = 0; type < feature.records_by_type.size(); ++type)
        known->records_by_type[type] += feature.records_by_type[type];
    known->list_length.add(feature.list_length);
    known->value_bytes.add(feature.value_bytes);
    known->integers.add(feature.integers);
    known->floats.add(feature.floats);
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
    for (const auto& [key, feature] : from.report.features)
        add_feature(key, feature, into);
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
        tally.report.damaged_files.push_back(record_place(name, damage.record, damage.offset) + ": " + damage.what);
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

/// Calls work(set, file) for each file of the sets, on several threads.
void for_each_file(const DataFiles& found, int threads, const std::function<void(std::size_t, std::size_t)>& work) {
    std::vector<std::pair<std::size_t, std::size_t>> jobs;
    for (std::size_t set = 0; set < found.sets.size(); ++set) {
        for (std::size_t file = 0; file < found.sets[set].files.size(); ++file)
            jobs.emplace_back(set, file);
    }
    const auto one = [&](std::size_t i) { work(jobs[i].first, jobs[i].second); };
    for_each_index(threads, jobs.size(), one, tbb::simple_partitioner());
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
    std::vector<Tally> tallies(found.sets.size());
    ByteProgress progress(settings.progress, total_bytes(found));
    std::mutex merging;
    for_each_file(found, settings.threads, [&](std::size_t set, std::size_t file) {
        const Tally tally = read_file(found.folder, found.sets[set], found.sets[set].files[file], settings, progress);
        const std::lock_guard lock(merging);
        merge(tally, tallies[set]);
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
    ++summary.records_by_type[static_cast<std::size_t>(*type)];
    bool sound = true;
    switch (*type) {
        case FeatureType::none:
            break;
        case FeatureType::bytes:
            sound = for_each_bytes(feature, [&](Bytes value) {
                if (summary.length++ == 0) summary.first_bytes = value;
                summary.value_bytes.add(static_cast<std::int64_t>(value.size()));
            });
            break;
        case FeatureType::floats:
            sound = for_each_float(feature, [&](float value) {
                ++summary.length;
                if (std::isfinite(value)) summary.floats.add(static_cast<double>(value));
            });
            break;
        case FeatureType::integers:
            sound = for_each_integer(feature, [&](std::int64_t value) {
                if (summary.length++ == 0) summary.first_integer = value;
                summary.integers.add(value);
            });
            break;
    }
    summary.list_length.add(summary.length);
    return sound;
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

namespace {

/// The results of one file.
struct FileResult {
    std::int64_t records = 0;
    std::int64_t images_decoded = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unchecked_bytes = 0;
    std::vector<Finding> findings;
    bool unknown_contents = false;  // tf.Examples with keys of neither images nor pretraining
};

enum class Contents { image, pretraining, other };

/// The relevant keys, found in one traversal of a record.
struct Keys {
    bool image = false;      // has a key of image records
    bool token_ids = false;  // has a key of pretraining records
};

/// Checks the records of one TFRecord file.
class RecordChecks {
public:
    RecordChecks(const FileSet& set, std::string file, bool decode, FileResult& result)
        : set_(set), file_(std::move(file)), decode_(decode), result_(result) {
        const auto named = std::ssize(classes_of_records(std::filesystem::path(file_).parent_path().string()));
        if (named > 0) classes_ = named;
    }

    void check(const RawRecord& record) {
        ++result_.records;
        record_ = &record;
        if (!record.intact) {
            return add(Fault::damaged_payload,
                       "the checksum of its " + std::to_string(record.payload.size()) + " bytes is wrong");
        }
        Keys keys;
        if (!visit_features(record.payload, [&](std::string_view key, const FeatureSummary&) {
                keys.image |= key.starts_with("image/");
                keys.token_ids |= key == kInputIds;
            })) {
            return add(Fault::not_an_example, "the record is not a tf.Example");
        }
        if (!contents_) contents_ = contents_of(keys);
        switch (*contents_) {
            case Contents::image:
                return check_image();
            case Contents::pretraining:
                return check_pretraining();
            case Contents::other:
                result_.unknown_contents = true;
        }
    }

private:
    void add(Fault fault, std::string what) {
        result_.findings.push_back({fault, file_, record_->number, record_->offset, std::move(what)});
    }

    /// Decides the file's contents from its first valid tf.Example.
    Contents contents_of(const Keys& keys) const {
        if (keys.token_ids) return Contents::pretraining;
        const bool named_so = set_.prefix == "train" || set_.prefix == "validation";
        return keys.image || named_so ? Contents::image : Contents::other;
    }

    void check_image() {
        try {
            parse_image_example(record_->payload, example_);
        } catch (const Error& error) {
            return add(Fault::not_an_example, error.what());
        }
        if (example_.label < 1 || example_.label > classes_) {
            add(Fault::wrong_label,
                "image/class/label is " + std::to_string(example_.label) + ", not in 1.." + std::to_string(classes_));
        }
        if (example_.jpeg.empty()) return add(Fault::no_image, "image/encoded is missing or empty");
        if (!decode_) return;
        ++result_.images_decoded;
        const std::string problem = jpeg_.problem(example_.jpeg);
        if (!problem.empty()) add(Fault::damaged_image, problem);
    }

    /// All records must have the layout and lengths of the file's first record.
    void check_pretraining() {
        if (pretraining_keys_.empty() && !take_pretraining_layout())
            return add(Fault::not_an_example, "input_ids has no int64 value, or masked_lm_weights has no float value");
        const auto fault = parse_pretraining_example(record_->payload, pretraining_keys_, field_views_);
        if (!fault) return;
        const bool is_value = fault->kind == PretrainingFault::Kind::wrong_value;
        add(is_value ? Fault::wrong_value : Fault::not_an_example, fault->what);
    }

    bool take_pretraining_layout() {
        const std::optional<PretrainingSettings> settings = settings_of_record(record_->payload);
        if (!settings || settings->sequence_length == 0 || settings->max_predictions == 0) return false;
        pretraining_keys_ = pretraining_keys(*settings);
        for (const Field& field : pretraining_fields(*settings))
            field_views_.emplace_back(fields_.emplace_back(field.desc.bytes()));
        return true;
    }

    const FileSet& set_;
    std::string file_;
    std::int64_t classes_ = dataset_info(DatasetId::imagenet).classes;  // of image records
    bool decode_;
    FileResult& result_;
    const RawRecord* record_ = nullptr;
    std::optional<Contents> contents_;
    std::vector<PretrainingKey> pretraining_keys_;  // empty before the first such record
    std::vector<std::vector<std::byte>> fields_;
    std::vector<std::span<std::byte>> field_views_;  // views of fields_
    ImageExample example_;
    JpegChecker jpeg_;
};

void verify_records(const InputFile& input, const FileSet& set, const std::string& file, bool decode,
                    ByteProgress& progress, FileResult& result) {
    RecordChecks checks(set, file, decode, result);
    RawRecords records(input);
    RawRecord record;
    for (std::uint64_t done = 0; records.next(record); done = records.done_bytes()) {
        checks.check(record);
        progress.add(records.done_bytes() - done);
    }
    result.bytes = records.done_bytes();
    if (records.damage()) {
        const FrameDamage& damage = *records.damage();
        result.unchecked_bytes = damage.unchecked_bytes;
        progress.add(damage.unchecked_bytes);
        result.findings.push_back(
            {Fault::damaged_length, file, damage.record, damage.offset,
             damage.what + "; " + std::to_string(damage.unchecked_bytes) + " bytes from here on are not checked"});
    }
}

void verify_cifar(const InputFile& input, DatasetId cifar, const std::string& file, ByteProgress& progress,
                  FileResult& result) {
    const CifarLayout& layout = cifar_layout(cifar);
    const std::uint64_t size = input.size_bytes();
    result.records = static_cast<std::int64_t>(size / layout.record_bytes);
    const std::uint64_t rest = size % layout.record_bytes;
    if (rest != 0) {
        result.findings.push_back({Fault::wrong_size, file, -1, 0,
                                   std::to_string(size) + " bytes are no whole number of records of " +
                                       std::to_string(layout.record_bytes) + " bytes; " + std::to_string(rest) +
                                       " are left over"});
    }
    // CIFAR-100 stores the label of one of 20 groups, then the label that is used.
    constexpr std::array<int, 2> kFine = {20, 100};
    constexpr std::array<int, 1> kTen = {10};
    const std::span<const int> classes = layout.label_bytes == 2 ? std::span<const int>(kFine) : kTen;
    for_each_cifar_record(input, layout, result.records, [&](std::int64_t number, std::span<const std::byte> record) {
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const int label = std::to_integer<int>(record[i]);
            if (label < classes[i]) continue;
            result.findings.push_back(
                {Fault::wrong_label, file, number, static_cast<std::uint64_t>(number) * layout.record_bytes,
                 "label " + std::to_string(label) + " is not in 0.." + std::to_string(classes[i] - 1)});
        }
    });
    result.bytes = size - rest;
    result.unchecked_bytes = rest;
    progress.add(size);
}

FileResult verify_file(const std::string& folder, const FileSet& set, const std::string& file, bool decode,
                       ByteProgress& progress) {
    FileResult result;
    try {
        const std::unique_ptr<InputFile> input = posix_files().open((std::filesystem::path(folder) / file).string());
        if (!set.cifar) {
            verify_records(*input, set, file, decode, progress, result);
        } else {
            verify_cifar(*input, *set.cifar, file, progress, result);
        }
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        result.findings.push_back({Fault::unreadable, file, -1, 0, error.what()});
    }
    return result;
}

/// Checks the list of files.
void verify_names(const DataFiles& found, VerifyResult& result) {
    const auto add = [&](Fault fault, const std::string& file, std::string what) {
        result.findings.push_back({fault, file, -1, 0, std::move(what)});
    };
    std::map<std::string, std::vector<const FileSet*>> by_prefix;
    for (const FileSet& set : found.sets) {
        if (set.count > 0) by_prefix[set.prefix].push_back(&set);
    }
    for (const auto& [prefix, sets] : by_prefix) {
        if (sets.size() == 1) continue;
        std::string what = "shards of " + std::to_string(sets.size()) + " sets are in one folder:";
        for (const FileSet* set : sets) {
            what += (set == sets.front() ? " " : " and ") + std::to_string(set->files.size()) + " of " +
                    std::to_string(set->count) + " (" + set->files.front() + ")";
        }
        add(Fault::mixed_sets, sets.front()->files.front(), what);
    }
    for (const FileSet& set : found.sets) {
        for (const std::string& file : set.beyond)
            add(Fault::mixed_sets, file, "its number is not below " + std::to_string(set.count));
        for (const std::string& file : set.missing)
            add(Fault::missing_file, file, "not in the folder");
    }
    for (const std::string& file : found.leftovers)
        add(Fault::leftover, file, "its writer was stopped, or is still at work");
}

/// A file without records is a fault, unless there are fewer records than shards.
void verify_counts(const FileSet& set, std::span<FileResult> files, VerifyResult& result) {
    std::int64_t most = 0;
    std::int64_t empty = 0;
    std::int64_t records = 0;
    for (const FileResult& file : files) {
        most = std::max(most, file.records);
        records += file.records;
        empty += file.records == 0 && file.findings.empty() ? 1 : 0;
    }
    if (set.count > 0 && most == 1 && empty > 0) {
        result.notes.push_back(set.name + ": " + std::to_string(empty) +
                               " shards are empty; there are fewer records than shards");
    } else if (empty > 0) {
        for (std::size_t i = 0; i < files.size(); ++i) {
            if (files[i].records > 0 || !files[i].findings.empty()) continue;
            files[i].findings.push_back({Fault::empty_file, set.files[i], -1, 0, "it has no record"});
        }
    }
    if (set.cifar && !set.files.empty()) {
        const DatasetInfo& info = dataset_info(*set.cifar);
        const std::int64_t published = set.name.ends_with("train") ? info.train_images : info.validation_images;
        if (records != published) {
            result.notes.push_back(set.name + ": " + std::to_string(records) + " images; the published set has " +
                                   std::to_string(published));
        }
    }
    if (std::ranges::any_of(files, [](const FileResult& file) { return file.unknown_contents; })) {
        result.notes.push_back(set.name +
                               ": the records are neither images nor made for pretraining; of their contents only "
                               "that they are tf.Examples was checked");
    }
}

/// The writer's notes about the files in the folder: the only way to detect that a file lacks its last records.
std::map<std::string, FinishedFile> files_in_journal(const std::string& folder, VerifyResult& result) {
    try {
        std::optional<Journal> journal = read_journal(posix_files(), journal_path(folder));
        if (journal) return std::move(journal->finished);
    } catch (const Error& error) {
        const std::string name = std::filesystem::path(journal_path(folder)).filename().string();
        result.findings.push_back({Fault::unreadable, name, -1, 0, error.what()});
    }
    return {};
}

void verify_against_journal(const FinishedFile& written, const std::string& name, FileResult& file) {
    if (file.records == written.records || !file.findings.empty()) return;
    file.findings.push_back(
        {Fault::wrong_size, name, -1, 0,
         "it has " + std::to_string(file.records) + " records, its writer noted " + std::to_string(written.records)});
}

void add_file(FileResult& file, VerifyResult& result) {
    ++result.files;
    result.records += file.records;
    result.images_decoded += file.images_decoded;
    result.bytes += file.bytes;
    result.unchecked_bytes += file.unchecked_bytes;
    std::ranges::move(file.findings, std::back_inserter(result.findings));
}

}  // namespace

std::string_view name(Fault fault) {
    constexpr std::array<std::string_view, kFaults> kNames = {
        "missing file",   "mixed sets",      "empty file",       "unfinished file", "unreadable file",
        "damaged length", "damaged payload", "not a tf.Example", "no image",        "wrong label",
        "wrong value",    "damaged image",   "wrong file size"};
    return kNames[static_cast<std::size_t>(fault)];
}

VerifyResult verify(const VerifySettings& settings) {
    const DataFiles found = find_data_files(settings.path);
    std::vector<std::vector<FileResult>> files;
    for (const FileSet& set : found.sets)
        files.emplace_back(set.files.size());
    ByteProgress progress(settings.progress, total_bytes(found));
    for_each_file(found, settings.threads, [&](std::size_t set, std::size_t file) {
        files[set][file] =
            verify_file(found.folder, found.sets[set], found.sets[set].files[file], settings.decode, progress);
    });
    VerifyResult result;
    verify_names(found, result);
    const std::map<std::string, FinishedFile> journal = files_in_journal(found.folder, result);
    for (std::size_t set = 0; set < found.sets.size(); ++set) {
        verify_counts(found.sets[set], files[set], result);
        for (std::size_t i = 0; i < files[set].size(); ++i) {
            const std::string& name = found.sets[set].files[i];
            const auto noted = journal.find(name);
            if (noted != journal.end()) verify_against_journal(noted->second, name, files[set][i]);
            add_file(files[set][i], result);
        }
    }
    return result;
}

}  // namespace cnntrain::data
