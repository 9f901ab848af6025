// `cnntrain dataset inspect`: shows what data files contain.
#include "cli/dataset_inspect.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/inspect.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {
namespace {

using Labels = std::vector<std::pair<std::int64_t, std::int64_t>>;  // label, records

constexpr std::size_t kLabelsShown = 5;
constexpr std::size_t kDamageShown = 10;
std::string number(std::int64_t value) {
    return std::to_string(value);
}

std::string number(double value) {
    return decimal(value, 3);
}

/// Formats a range: "3" or "1..5 (mean 2.4)".
template <typename T> std::string range_text(const data::Range<T>& range) {
    if (range.count == 0) return "-";
    if (range.min == range.max) return number(range.min);
    return number(range.min) + ".." + number(range.max) + " (mean " + decimal(range.mean()) + ")";
}

/// Labels with the most frequent first; ties by ascending label.
Labels by_frequency(const data::SetReport& set) {
    Labels labels(set.labels.begin(), set.labels.end());
    std::ranges::stable_sort(labels, [](const auto& a, const auto& b) { return a.second > b.second; });
    return labels;
}

std::string list_text(const Labels& labels, std::size_t begin, std::size_t end) {
    return joined(std::span(labels).subspan(begin, end - begin), ", ",
                  [](const auto& label) { return number(label.first) + " (" + number(label.second) + ")"; });
}

void print_inspected(std::string_view title, const std::string& text) {
    std::cout << padded("  " + std::string(title), 17) << text << '\n';
}

void print_table(const TextRows& rows) {
    std::cout << indented(in_columns(rows, kAllColumns), 2);
}

void print_images(const data::ImageReport& images) {
    if (images.height.count + images.not_jpeg == 0) return;
    print_inspected("image height", range_text(images.height));
    print_inspected("image width", range_text(images.width));
    print_inspected("image kinds", number(images.grey) + " grey, " + number(images.inks) + " CMYK, " +
                                       number(images.progressive) + " progressive, " + number(images.not_jpeg) +
                                       " not JPEG");
    if (images.boxes.count == 0) return;
    const bool none = images.without_box == images.boxes.count;
    print_inspected("boxes per image",
                    none ? "none" : range_text(images.boxes) + "; none in " + number(images.without_box) + " images");
}

void print_labels(const data::SetReport& set, bool all) {
    if (set.labels.empty()) return;
    data::Range<std::int64_t> per_class;
    for (const auto& [label, count] : set.labels)
        per_class.add(count);
    print_inspected("labels", number(static_cast<std::int64_t>(set.labels.size())) + " classes, " +
                                  number(set.labels.begin()->first) + ".." + number(set.labels.rbegin()->first) +
                                  "; records per class " + range_text(per_class));
    if (set.other_labels > 0) print_inspected("", number(set.other_labels) + " records have labels beyond these");
    if (per_class.min < per_class.max) {
        const Labels labels = by_frequency(set);
        const std::size_t shown = std::min(kLabelsShown, labels.size());
        print_inspected("  most frequent", list_text(labels, 0, shown));
        print_inspected("  rarest", list_text(labels, labels.size() - shown, labels.size()));
    }
    if (!all) return;
    TextRows rows = {{"label", "records"}};
    for (const auto& [label, count] : set.labels)
        rows.push_back({number(label), number(count)});
    std::cout << '\n';
    print_table(rows);
}

void print_features(const data::SetReport& set) {
    if (set.features.empty()) return;
    TextRows rows = {{"key", "type", "records", "values in a record", "bytes of a value", "values"}};
    for (const auto& [key, feature] : set.features) {
        const bool mixed = feature.records_by_type[static_cast<std::size_t>(feature.type())] != feature.records();
        const std::string values =
            feature.integers.count > 0 ? range_text(feature.integers) : range_text(feature.floats);
        rows.push_back({printable(key), std::string(name(feature.type())) + (mixed ? " and others" : ""),
                        number(feature.records()), range_text(feature.list_length), range_text(feature.value_bytes),
                        values});
    }
    std::cout << '\n';
    print_table(rows);
    if (set.other_features > 0) std::cout << "  and " << set.other_features << " features with other keys\n";
}

void print_set(const data::SetReport& set, bool all_labels) {
    std::cout << set.name << ": " << set.format << ", " << set.records << " records in " << set.files
              << (set.files == 1 ? " file, " : " files, ") << size_text(static_cast<std::uint64_t>(set.bytes)) << '\n';
    print_inspected("record bytes", range_text(set.record_bytes) +
                                        (set.records > 0 ? ", median " + number(set.median_record_bytes) : ""));
    print_images(set.images);
    print_labels(set, all_labels);
    print_features(set);
    if (set.not_examples > 0) print_inspected("no tf.Example", number(set.not_examples) + " records");
    if (set.damaged_records > 0) print_inspected("damaged", number(set.damaged_records) + " records (wrong checksum)");
    for (std::size_t i = 0; i < std::min(kDamageShown, set.damaged_files.size()); ++i)
        print_inspected("damaged", set.damaged_files[i]);
    if (set.damaged_files.size() > kDamageShown)
        print_inspected("damaged", "and " + std::to_string(set.damaged_files.size() - kDamageShown) + " more files");
}

template <typename T> nlohmann::ordered_json range_json(const data::Range<T>& range) {
    if (range.count == 0) return nullptr;
    return {{"min", range.min}, {"mean", range.mean()}, {"max", range.max}};
}

nlohmann::ordered_json features_json(const data::SetReport& set) {
    auto features = nlohmann::ordered_json::object();
    for (const auto& [key, feature] : set.features) {
        features[key] = {{"type", name(feature.type())},
                         {"records", feature.records()},
                         {"list_length", range_json(feature.list_length)},
                         {"value_bytes", range_json(feature.value_bytes)},
                         {"int64_values", range_json(feature.integers)},
                         {"float_values", range_json(feature.floats)}};
    }
    return features;
}

nlohmann::ordered_json set_json(const data::SetReport& set) {
    auto labels = nlohmann::ordered_json::object();
    for (const auto& [label, count] : set.labels)
        labels[std::to_string(label)] = count;
    nlohmann::ordered_json record_bytes = range_json(set.record_bytes);
    if (set.records > 0) record_bytes["median"] = set.median_record_bytes;
    const data::ImageReport& images = set.images;
    return {{"name", set.name},
            {"format", set.format},
            {"files", set.files},
            {"bytes", set.bytes},
            {"records", set.records},
            {"record_bytes", record_bytes},
            {"images",
             {{"height", range_json(images.height)},
              {"width", range_json(images.width)},
              {"grey", images.grey},
              {"cmyk", images.inks},
              {"progressive", images.progressive},
              {"not_jpeg", images.not_jpeg},
              {"boxes", range_json(images.boxes)},
              {"without_box", images.without_box}}},
            {"labels", labels},
            {"other_labels", set.other_labels},
            {"features", features_json(set)},
            {"other_features", set.other_features},
            {"not_examples", set.not_examples},
            {"damaged_records", set.damaged_records},
            {"damaged_files", set.damaged_files}};
}

void print_json(const std::vector<data::SetReport>& sets) {
    auto document = nlohmann::ordered_json::array();
    for (const data::SetReport& set : sets)
        document.push_back(set_json(set));
    std::cout << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

CommandFlags dataset_inspect_flags() {
    return {{{"PATH", "", "a TFRecord or CIFAR file, or a folder of them", "--data-dir"},
             {"--records", "", "number of records to read from each file (default: all)"},
             toggle("--labels", "list every label with its number of records"),
             toggle("--json", "print JSON, always with all labels"),
             {"--threads", "0", "files read in parallel; 0: one per core"}}};
}

int dataset_inspect(const Flags& flags) {
    data::InspectSettings settings;
    settings.path = flags.text("PATH");
    if (flags.given("--records")) settings.records_per_file = flags.integer("--records", 1);
    settings.threads = std::min(flags.threads(), available_processors());
    std::vector<data::SetReport> sets;
    {
        ProgressReport progress("MB");
        settings.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update_bytes(done, total); };
        sets = data::inspect(settings);
    }
    if (flags.given("--json")) {
        print_json(sets);
    } else {
        for (const data::SetReport& set : sets) {
            if (&set != &sets.front()) std::cout << '\n';
            print_set(set, flags.given("--labels"));
        }
    }
    const bool damaged = std::ranges::any_of(
        sets, [](const data::SetReport& set) { return set.damaged_records > 0 || !set.damaged_files.empty(); });
    if (!damaged) return 0;
    throw Error(ErrorKind::data, settings.path + " is damaged, see above; cnntrain dataset verify lists what is wrong");
}

// `cnntrain dataset verify`: checks that a data set is complete and undamaged.

namespace {

void print_finding(const data::Finding& finding) {
    std::cout << finding.file;
    if (finding.record >= 0) std::cout << ", record " << finding.record << " (at byte " << finding.offset << ")";
    std::cout << ": " << name(finding.fault) << ": " << finding.what << '\n';
}

void print_verified(std::string_view title, const std::string& text) {
    std::cout << padded("  " + std::string(title), 20) << text << '\n';
}

void print_result(const data::VerifyResult& result, double seconds) {
    print_verified("files", std::to_string(result.files));
    print_verified("records", std::to_string(result.records));
    if (result.images_decoded > 0) {
        print_verified("images decoded", std::to_string(result.images_decoded) + " (" +
                                             decimal(static_cast<double>(result.images_decoded) / seconds) +
                                             " per second)");
    }
    print_verified("checked", size_text(result.bytes) + " in " + decimal(seconds, 2) + " s, " +
                                  decimal(static_cast<double>(result.bytes) / 1e9 / seconds, 2) + " GB/s");
    if (result.unchecked_bytes > 0) print_verified("not checked", std::to_string(result.unchecked_bytes) + " bytes");
    std::array<std::int64_t, data::kFaults> counts{};
    for (const data::Finding& finding : result.findings)
        ++counts[static_cast<std::size_t>(finding.fault)];
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) print_verified(name(static_cast<data::Fault>(i)), std::to_string(counts[i]));
    }
    for (const std::string& note : result.notes)
        std::cout << "note: " << note << '\n';
}

}  // namespace

CommandFlags dataset_verify_flags() {
    return {{{"PATH", "", "a folder of TFRecord or CIFAR files, or one file", "--data-dir"},
             toggle("--decode", "decode every image, too; a warning counts as an error"),
             {"--threads", "0", "files read in parallel; 0: one per core"}}};
}

int dataset_verify(const Flags& flags) {
    data::VerifySettings settings;
    settings.path = flags.text("PATH");
    settings.decode = flags.given("--decode");
    settings.threads = std::min(flags.threads(), available_processors());
    data::VerifyResult result;
    double seconds = 0;
    {
        ProgressReport progress("MB");
        settings.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update_bytes(done, total); };
        result = data::verify(settings);
        seconds = std::max(progress.elapsed_seconds(), 1e-6);
    }
    for (const data::Finding& finding : result.findings)
        print_finding(finding);
    if (!result.findings.empty()) std::cout << '\n';
    std::cout << settings.path << ": " << (result.findings.empty() ? "nothing is wrong" : "NOT SOUND") << '\n';
    print_result(result, seconds);
    if (result.findings.empty()) return 0;
    const std::size_t count = result.findings.size();
    throw Error(ErrorKind::data, settings.path + ": " + std::to_string(count) +
                                     (count == 1 ? " finding" : " findings") +
                                     ", listed above; copy or make these files again");
}

namespace {

constexpr std::chrono::seconds kPlainInterval{10};

}  // namespace

ProgressReport::ProgressReport(std::ostream& console, const Terminal& terminal, std::string_view unit)
    : console_(console),
      line_(console, terminal),
      unit_(unit),
      start_(std::chrono::steady_clock::now()),
      shown_(start_) {}

ProgressReport::ProgressReport(std::string_view unit)
    : ProgressReport(std::cerr, terminal_of(STDERR_FILENO, process_variables()), unit) {}

double ProgressReport::elapsed_seconds() const {
    return seconds_since(start_);
}

void ProgressReport::update(std::int64_t done, std::int64_t first, std::int64_t total) {
    const double seconds = elapsed_seconds();
    const double rate = seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
    const metrics::Progress progress{done, first, total, rate, seconds, unit_, unit_};
    if (line_.has_terminal()) return line_.show(progress);
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < kPlainInterval) return;
    shown_ = now;
    console_ << metrics::progress_text(progress) << std::endl;  // flushed, so that pipes and files show it at once
}

void ProgressReport::update_bytes(std::uint64_t done, std::uint64_t total, std::uint64_t first) {
    const auto megabytes = [](std::uint64_t bytes) { return static_cast<std::int64_t>(bytes / 1'000'000); };
    update(megabytes(done), megabytes(first), megabytes(total));
}

void ProgressReport::line(std::string_view text) {
    line_.erase();
    console_ << printable_lines(text) << std::endl;
}

// `cnntrain dataset suspects`: samples of a run's data that look wrongly labelled, and near-duplicates across splits.

namespace {

constexpr std::string_view kHeader = "split,file,label,other_label,score,neighbours_label,neighbours_share\n";
constexpr std::string_view kDuplicateHeader = "training,validation,similarity,same_label\n";

std::string_view split_text(data::Split split) {
    return split == data::Split::train ? "training" : "validation";
}

std::string table_of(const std::vector<run::Suspect>& suspects) {
    std::string table(kHeader);
    for (const run::Suspect& one : suspects) {
        table += std::string(split_text(one.split)) + ',' + csv_field(one.sample) + ',' + csv_field(one.label) + ',' +
                 csv_field(one.other_label) + formatted(",%.4f,", one.score) + csv_field(one.neighbours_label) +
                 formatted(",%.3f\n", one.neighbours_share);
    }
    return table;
}

std::string table_of(const std::vector<run::Duplicate>& duplicates) {
    std::string table(kDuplicateHeader);
    for (const run::Duplicate& one : duplicates) {
        table += csv_field(one.training) + ',' + csv_field(one.validation) + formatted(",%.6f,", one.similarity) +
                 (one.same_label ? "yes\n" : "no\n");
    }
    return table;
}

Output table_output(const Flags& flags, std::string_view flag, std::string_view header) {
    return {{std::string(flag), flags.text(flag)},
            flags.given("--overwrite"),
            "--overwrite",
            [header](const FileSystem& files, const std::string& path) {
                return read_text(files, path).starts_with(header);
            }};
}

std::string parent_folder(const std::string& file) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    return folder.empty() ? "." : folder;
}

void print_suspects(const std::vector<run::Suspect>& suspects, std::int64_t most) {
    const auto suspicious = std::ranges::count_if(suspects, [](const run::Suspect& one) { return one.score > 0; });
    const auto shown = static_cast<std::size_t>(most == 0 ? suspicious : std::min<std::int64_t>(most, suspicious));
    std::cout << suspicious << " of " << suspects.size() << " labels look wrong"
              << (shown < static_cast<std::size_t>(suspicious) ? "; the most suspicious " + std::to_string(shown) : "")
              << (suspicious > 0
                      ? ":\n  score  label -> likelier label (share of the neighbours with the label)  file\n"
                      : "\n");
    for (std::size_t i = 0; i < shown; ++i) {
        const run::Suspect& one = suspects[i];
        std::cout << formatted("%7.2f  ", one.score) << one.label << " -> " << one.other_label
                  << formatted(" (%.2f)  ", one.neighbours_share) << one.sample
                  << (one.split == data::Split::validation ? " (validation)" : "") << '\n';
    }
}

void print_duplicates(const run::SuspectReport& report, double least, std::int64_t most) {
    if (report.validation == 0) return;
    const std::vector<run::Duplicate>& all = report.duplicates;
    const auto shown = most == 0 ? all.size() : std::min(all.size(), static_cast<std::size_t>(most));
    std::cout << "Pairs of a training and a validation sample with a similarity of " << formatted("%g", least)
              << " or more: " << all.size() << (shown < all.size() ? "; the first " + std::to_string(shown) : "")
              << (all.empty() ? "\n" : ":\n");
    for (std::size_t i = 0; i < shown; ++i) {
        std::cout << formatted("%7.4f  ", all[i].similarity) << all[i].training << "  " << all[i].validation
                  << (all[i].same_label ? "" : "  (different labels)") << '\n';
    }
}

}  // namespace

CommandFlags dataset_suspects_flags() {
    return {{{"RUN", "", "folder of a run, whose latest checkpoint is taken, or one of its checkpoints"},
             {"--data-dir", "", "where the data are now; without it, where the run had them"},
             {"--csv", "", "write the scores of all samples to this file"},
             {"--duplicates-csv", "", "write the near-duplicates to this file"},
             toggle("--overwrite", "replace files that are no such tables"),
             {"--most", "50", "lines of each list; 0: all"},
             {"--neighbours", "10", "nearest training samples whose labels are compared"},
             {"--least-similarity", "0.999", "of near-duplicates: cosine of centred features"},
             {"--threads", "0", "threads that compute; 0: one per core"}},
            "\nSee cnntrain help features.\n"};
}

int dataset_suspects(const Flags& flags) {
    run::SuspectSettings settings;
    const std::string run = without_trailing_slashes(flags.text("RUN"));
    const bool is_folder = is_directory(posix_files(), run);
    settings.folder = is_folder ? run : parent_folder(run);
    settings.neighbours = static_cast<std::size_t>(flags.integer("--neighbours", 1, 1000));
    settings.least_similarity = flags.number("--least-similarity", 0, 1);
    const std::int64_t most = flags.integer("--most", 0);
    settings.checkpoint = weights::find_checkpoint(posix_files(), "RUN", run).path;
    std::vector<Output> outputs;
    if (flags.given("--csv")) outputs.push_back(table_output(flags, "--csv", kHeader));
    if (flags.given("--duplicates-csv")) outputs.push_back(table_output(flags, "--duplicates-csv", kDuplicateHeader));
    for (const Output& output : outputs)
        weights::refuse_run_checkpoint(posix_files(), output.name, output.path);
    check_outputs(posix_files(), outputs, {{"the checkpoint", settings.checkpoint}});

    std::vector<std::string> words = {"--restore-path", settings.folder, "--threads", flags.text("--threads")};
    if (flags.given("--data-dir")) words.insert(words.end(), {"--data-dir", flags.text("--data-dir")});
    const options::ParseResult line =
        tasks::parse_command_line(options::Command::restore, words, options::process_environment());
    const options::ParseResult recorded = tasks::restored_arguments(line, posix_files());
    options::refuse_unavailable(recorded);
    require_run_memory(recorded.settings, options::Command::inference);
    run::Host host = process_host({{}, flags.command(), flags.command()});
    catch_stop_signals();
    metrics::Observers observers;
    observers.add(std::make_unique<metrics::Console>(*host.console, metrics::Console::Settings{host.terminal}));
    const run::SuspectReport report = run::find_suspects(tasks::row_of(recorded), recorded, settings, host, observers);
    print_suspects(report.suspects, most);
    print_duplicates(report, settings.least_similarity, most);
    if (flags.given("--csv")) write_text(posix_files(), flags.text("--csv"), table_of(report.suspects));
    if (flags.given("--duplicates-csv"))
        write_text(posix_files(), flags.text("--duplicates-csv"), table_of(report.duplicates));
    return 0;
}

}  // namespace cnntrain::cli
