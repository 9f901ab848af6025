#include "run/run_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/averaging.h"
#include "run/metrics/csv_files.h"
#include "run/profile/session.h"
#include "run/reports/describe.h"
#include "run/reports/predictions.h"
#include "run/resume.h"

namespace cnntrain::run {
namespace {

using nlohmann::json;

constexpr const char* kArgumentsBeside = "arguments_restore.json";
constexpr const char* kUnusedFiles = "unused_files.csv";
/// Options of pretraining whose keys every run writes, with values that follow from others.
constexpr std::string_view kRunKeys[] = {"global_batch_size", "name"};
constexpr const char* kSeedWasGivenKey = "seed_specified";
constexpr std::string_view kTrainingTable = "training.csv";
constexpr std::string_view kValidationTable = "validation.csv";
constexpr std::string_view kPredictionsTable = "predictions.csv";
/// Their second column is the iteration.
constexpr std::string_view kIterationTables[] = {kTrainingTable, kValidationTable, kClassTable, metrics::kTimesFile,
                                                 metrics::kRanksFile};
constexpr std::string_view kResultTables[] = {kTrainingTable,      kValidationTable,    kClassTable,
                                              metrics::kTimesFile, metrics::kRanksFile, kPredictionsTable};
constexpr std::string_view kAverages = "ckpt";
constexpr std::string_view kEventsFolder = "event";  // of pretraining
constexpr std::string_view kEvents = "events.out.tfevents.";

/// True for "weight_avg_N_5.safetensors", "weight_avg_exp_0.97.safetensors" and "weight_avg_ema.safetensors", false for
/// files that the user named for `average`.
bool is_own_average(std::string_view name) {
    if (name.starts_with(kAverageName) && name.substr(kAverageName.size()) == weights::kCheckpointSuffix) return true;
    if (is_number(framed(name, "weight_avg_N_", weights::kCheckpointSuffix))) return true;
    return as_number<double>(framed(name, "weight_avg_exp_", weights::kCheckpointSuffix)).has_value();
}

/// True for record files of a run, except arguments.json itself.
bool is_own_record(std::string_view name) {
    const std::string_view mlperf_seed = framed(name, "result_", ".txt");
    return name == "log.txt" || name == kSamplePredictionsFile || name == kUnusedFiles || name == kArgumentsBeside ||
           is_number(framed(name, "arguments.", ".json")) || is_number(mlperf_seed) || mlperf_seed == "None" ||
           name.starts_with(kEvents) || profile::is_profile_name(name);
}

std::vector<std::string> names_in(const FileSystem& files, const std::string& folder) {
    return is_directory(files, folder) ? files.list(folder) : std::vector<std::string>();
}

std::vector<std::string> own_averages(const FileSystem& files, const std::string& folder) {
    std::vector<std::string> names;
    for (const std::string& name : names_in(files, path_in(folder, kAverages))) {
        if (is_own_average(name)) names.push_back(path_in(std::string(kAverages), name));
    }
    return names;
}

std::vector<std::string> own_events(const FileSystem& files, const std::string& folder) {
    std::vector<std::string> names;
    for (const std::string& name : names_in(files, path_in(folder, kEventsFolder))) {
        if (name.starts_with(kEvents)) names.push_back(path_in(std::string(kEventsFolder), name));
    }
    return names;
}

/// True for an arguments.json with the keys that derived_arguments() adds to the options, whatever the task.
bool is_arguments_of_a_run(const FileSystem& files, const std::string& path) {
    if (!exists(files, path)) return false;
    const json document = json::parse(read_text(files, path), nullptr, false);
    return document.is_object() && document.contains("checkpoint_path") && document.contains(kSeedWasGivenKey);
}

/// True if arguments.json records these options. Ignores the location of the run, which may have been moved.
bool same_options(const std::string& recorded, const std::string& options) {
    const json before = json::parse(recorded, nullptr, false);
    const json now = json::parse(options);
    if (!before.is_object()) return false;
    for (const auto& [name, value] : now.items()) {
        const bool place = name == "restore_path" || name == "logs_path" || name == "log_dir";
        const bool of_run = value.is_null() && std::ranges::find(kRunKeys, name) != std::end(kRunKeys);
        if (place || of_run) continue;
        const auto found = before.find(name);
        if (found == before.end() || *found != value) return false;
    }
    return true;
}

/// True if the table has rows after its head; half a row is none.
bool has_rows(std::string_view table) {
    return table.find('\n') != table.rfind('\n');
}

/// The end of the first column; a name with a comma or a quote is quoted.
std::size_t end_of_first_column(std::string_view row) {
    bool quoted = false;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == '"') quoted = !quoted;
        if (row[i] == ',' && !quoted) return i;
    }
    return std::string_view::npos;
}

/// The second column; -1 for the header.
std::int64_t iteration_of_row(std::string_view row) {
    const std::size_t comma = end_of_first_column(row);
    std::int64_t iteration = -1;
    if (comma == std::string_view::npos) return iteration;
    std::from_chars(row.data() + comma + 1, row.data() + row.size(), iteration);
    return iteration;
}

/// Iteration of the last complete row; -1 if there is none.
std::int64_t last_iteration(std::string_view table) {
    const std::string_view whole = table.substr(0, table.rfind('\n') + 1);
    if (!has_rows(whole)) return -1;
    return iteration_of_row(whole.substr(whole.rfind('\n', whole.size() - 2) + 1));
}

/// Rewrites the file with those complete rows for which `keep` returns true.
void filter_rows(FileSystem& files, const std::string& path, const std::function<bool(std::string_view)>& keep) {
    if (!exists(files, path)) return;
    const std::string text = read_text(files, path);
    std::string kept;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t line_end = text.find('\n', begin);
        if (line_end == std::string::npos) break;
        const std::string_view row(text.data() + begin, line_end + 1 - begin);
        if (keep(row)) kept += row;
        begin = line_end + 1;
    }
    if (kept.size() != text.size()) write_text(files, path, kept);
}

}  // namespace

std::vector<std::string> results_in(const FileSystem& files, const std::string& folder) {
    std::vector<std::string> names;
    for (const weights::Found& found : weights::numbered_checkpoints(files, folder))
        names.push_back(found.name + std::string(weights::kCheckpointSuffix));
    if (exists(files, weights::best_path(folder))) names.emplace_back(last_part(weights::best_path(folder)));
    for (const std::string_view table : kResultTables) {
        if (exists(files, path_in(folder, table))) names.emplace_back(table);
    }
    std::ranges::copy_if(names_in(files, folder), std::back_inserter(names), is_kept_update);
    std::ranges::copy(own_averages(files, folder), std::back_inserter(names));
    return names;
}

bool holds_begun_run(const FileSystem& files, const std::string& folder) {
    if (!is_arguments_of_a_run(files, path_in(folder, kArgumentsFile))) return false;
    const std::vector<std::string> names = results_in(files, folder);
    return std::ranges::all_of(names, [&](const std::string& name) {
        return std::ranges::find(kResultTables, name) != std::end(kResultTables) &&
               !has_rows(read_text(files, path_in(folder, name)));
    });
}

bool holds_killed_run(const FileSystem& files, const std::string& folder) {
    const std::string arguments = path_in(folder, kArgumentsFile);
    if (!is_arguments_of_a_run(files, arguments)) return false;
    const json document = json::parse(read_text(files, arguments));
    const auto planned = document.find(kPlannedUpdatesKey);
    if (planned == document.end() || !planned->is_number_integer()) return false;  // written by an earlier version
    const std::vector<std::string> names = results_in(files, folder);
    if (std::ranges::find(names, kTrainingTable) == names.end()) return false;
    return std::ranges::all_of(names, [&](const std::string& name) {
        const bool is_table = std::ranges::find(kResultTables, name) != std::end(kResultTables);
        if (!is_table) return false;
        if (name == metrics::kTimesFile || name == metrics::kRanksFile) return true;  // beside the training's rows
        const std::string table = read_text(files, path_in(folder, name));
        const bool of_training = name != kPredictionsTable;
        return of_training ? last_iteration(table) < planned->get<std::int64_t>() : !has_rows(table);
    });
}

bool records_options(const FileSystem& files, const std::string& folder, const std::string& options, bool draws_seed) {
    const std::string path = path_in(folder, kArgumentsFile);
    if (!exists(files, path)) return false;
    const std::string recorded = read_text(files, path);
    json compared = json::parse(options);
    const json document = json::parse(recorded, nullptr, false);
    const bool drew_seed = document.is_object() && document.value(kSeedWasGivenKey, json()) == json(false);
    if (draws_seed && drew_seed) compared.erase("seed");
    return same_options(recorded, compared.dump());
}

void remove_tables(FileSystem& files, const std::string& folder) {
    for (const std::string_view table : kResultTables)
        files.remove(path_in(folder, table));
}

void refuse_run_table(const FileSystem& files, const std::string& option, const std::string& path) {
    const std::string_view name = last_part(path);
    const bool is_table = name != kPredictionsTable &&
                          (std::ranges::find(kResultTables, name) != std::end(kResultTables) || name == kUnusedFiles);
    if (!is_table || !exists(files, path.substr(0, path.size() - name.size()) + kArgumentsFile)) return;
    throw Error(ErrorKind::usage, option + " " + path + ": a run's own tables have such names; choose another name");
}

bool holds_training(const FileSystem& files, const std::string& folder) {
    return exists(files, path_in(folder, kTrainingTable)) || weights::latest(files, folder);
}

void remove_run(FileSystem& files, const std::string& folder) {
    std::vector<std::string> names = results_in(files, folder);
    const std::string arguments = path_in(folder, kArgumentsFile);
    if (!is_arguments_of_a_run(files, arguments)) {
        if (names.empty()) return;
        throw Error(ErrorKind::usage, "--overwrite: " + folder + " holds " + names.front() +
                                          ", but no arguments.json of a run that has written it; nothing is removed. "
                                          "Choose another --logs-path");
    }
    std::ranges::copy_if(names_in(files, folder), std::back_inserter(names), is_own_record);
    std::ranges::copy(own_events(files, folder), std::back_inserter(names));
    for (const std::string& name : names)
        files.remove(path_in(folder, name));
    files.remove(arguments);  // last, so that --overwrite works again if this process is killed before the end
}

void record_arguments(FileSystem& files, const std::string& folder, const std::string& text, const std::string& options,
                      bool resumed) {
    const std::string path = path_in(folder, kArgumentsFile);
    if (exists(files, path)) {
        const std::string before = read_text(files, path);
        const bool same = same_options(before, options);
        if (same && resumed) return;
        int number = 1;
        const auto beside = [&] { return path_in(folder, "arguments." + std::to_string(number) + ".json"); };
        while (exists(files, beside()) && read_text(files, beside()) != before)
            ++number;
        if (!same && !exists(files, beside())) write_text(files, beside(), before);
    }
    write_text(files, path, text);
}

void record_unused_files(FileSystem& files, const std::string& folder, const std::string& table) {
    if (folder.empty()) return;
    const std::string path = path_in(folder, kUnusedFiles);
    table.empty() ? files.remove(path) : write_text(files, path, table);
}

void add_arguments(FileSystem& files, const std::string& folder, const std::string& text) {
    std::string path = path_in(folder, kArgumentsFile);
    if (exists(files, path)) path = path_in(folder, kArgumentsBeside);
    write_text(files, path, text);
}

void drop_rows_after(FileSystem& files, const std::string& folder, std::int64_t iteration) {
    for (const std::string_view table : kIterationTables) {
        filter_rows(files, path_in(folder, table),
                    [&](std::string_view row) { return iteration_of_row(row) <= iteration; });
    }
}

void drop_validations_at(FileSystem& files, const std::string& folder, std::int64_t iteration) {
    for (const std::string_view table : {kValidationTable, kClassTable}) {
        filter_rows(files, path_in(folder, table),
                    [&](std::string_view row) { return iteration_of_row(row) != iteration; });
    }
}

void drop_validation(FileSystem& files, const std::string& folder, const std::string& name) {
    filter_rows(files, path_in(folder, kValidationTable),
                [&](std::string_view row) { return !row.starts_with(name + ","); });
}

void drop_half_rows(FileSystem& files, const std::string& folder) {
    filter_rows(files, path_in(folder, kValidationTable), [](std::string_view) { return true; });
}

void drop_averages(FileSystem& files, const std::string& folder) {
    filter_rows(files, path_in(folder, kValidationTable), [](std::string_view row) {
        return !is_own_average(std::string(row.substr(0, row.find(','))).append(weights::kCheckpointSuffix));
    });
    for (const std::string& name : own_averages(files, folder))
        files.remove(path_in(folder, name));
}

namespace {

/// Three random characters that distinguish runs with equal settings.
std::string random_tag() {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::random_device device;
    std::uniform_int_distribution<std::size_t> pick(0, kAlphabet.size() - 1);
    std::string tag;
    for (int i = 0; i < 3; ++i)
        tag += kAlphabet[pick(device)];
    return tag;
}

std::string in_folder(std::string folder, std::string_view name) {
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    return folder.append(name);
}

void hold(RunFolder& folder, const std::string& command_line, FileSystem& files) {
    files.make_directories(folder.checkpoints);
    folder.lock = lock_folder(files, folder.checkpoints, command_line);
}

/// True if the folder holds rows of a killed run with the same options.
bool holds_own_killed_run(const FileSystem& files, const std::string& folder, const options::ParseResult& arguments) {
    return holds_killed_run(files, folder) &&
           records_options(files, folder, options::arguments_json(arguments, {}), !seed_was_given(arguments));
}

/// A path in comparable form, whether or not it exists.
std::filesystem::path normal(const std::string& path) {
    return std::filesystem::absolute(without_trailing_slashes(path)).lexically_normal();
}

/// Error(usage) if the folder cannot be made, because a file is in its place or in the place of a folder above it.
void expect_place(const std::string& folder, const FileSystem& files) {
    for (auto above = normal(folder); !above.empty(); above = above.parent_path()) {
        const FileKind kind = files.kind(above.string());
        if (kind == FileKind::directory || (kind == FileKind::absent && above == above.parent_path())) return;
        if (kind == FileKind::absent) continue;
        throw Error(ErrorKind::usage, folder + ": no folder can be made there, because " + above.string() +
                                          " is no folder; choose another --logs-path");
    }
}

void refuse_used_folder(const RunFolder& folder, const options::ParseResult& arguments, const FileSystem& files) {
    const std::vector<std::string> results = results_in(files, folder.checkpoints);
    if (results.empty() || holds_begun_run(files, folder.checkpoints)) return;
    if (holds_own_killed_run(files, folder.checkpoints, arguments)) return;
    std::string there = results.front();
    if (results.size() > 1) there += " and " + std::to_string(results.size() - 1) + " more of its results";
    const auto latest = weights::latest(files, folder.checkpoints);
    const std::string go_on = latest ? "continue that run from " + latest->name +
                                           " with cnntrain restore --restore-path " + folder.checkpoints + ", "
                                     : "";
    throw Error(ErrorKind::usage, folder.checkpoints + ": holds an earlier run (" + there + "); " + go_on +
                                      "remove its files with --overwrite, or choose another --logs-path");
}

/// True if `restore_path` refers to checkpoints in this folder or in its subfolder of averages.
bool is_of(const std::optional<std::string>& restore_path, const std::string& folder) {
    if (!restore_path) return false;
    const std::filesystem::path here = normal(folder);
    const std::filesystem::path weights = normal(*restore_path);
    return weights == here || weights.parent_path() == here || weights.parent_path().parent_path() == here;
}

}  // namespace

UnusedFolder::~UnusedFolder() {
    if (!folder_.is_new) return;
    try {
        remove_run(files_, folder_.checkpoints);
        files_.remove(in_folder(folder_.checkpoints, kFolderLockName));
        files_.remove(folder_.checkpoints);
    } catch (const Error& error) {
        log::debug(std::string("the folder of a refused run stays: ") + error.what());
    }
}

RunFolder new_run_folder(const Task& task, const LoggingSettings& logging, const FileSystem& files) {
    constexpr int kAttempts = 1000;
    const bool no_logs = logging.no_logs;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        RunFolder folder;
        folder.name = task.run_name(random_tag());
        const std::string parent = no_logs ? "/tmp" : logging.log_dir;
        folder.checkpoints = in_folder(parent, folder.name);
        if (!no_logs && logging.logs_path) folder.checkpoints = *logging.logs_path;
        const bool named_by_user = !no_logs && logging.logs_path;
        if (!named_by_user && exists(files, folder.checkpoints)) continue;
        if (!no_logs) folder.logs = folder.checkpoints;
        return folder;
    }
    throw Error(ErrorKind::storage,
                logging.log_dir + ": no free name for a run folder; choose one with " + "--logs-path");
}

RunFolder resumed_run_folder(const LoggingSettings& logging, const std::string& folder) {
    const std::string path = without_trailing_slashes(folder);
    return {std::string(last_part(path)), logging.no_logs ? "" : path, path};
}

RunFolder begin_run_folder(const Task& task, const options::ParseResult& arguments, const std::string& command_line,
                           FileSystem& files) {
    const LoggingSettings& logging = arguments.settings.logging;
    RunFolder folder = new_run_folder(task, logging, files);
    expect_place(folder.checkpoints, files);
    // A lock file shows that a run may be alive. Without one, refuse before locking, to create no lock file in vain.
    const bool locked_before = exists(files, in_folder(folder.checkpoints, kFolderLockName));
    if (!logging.overwrite && !locked_before) refuse_used_folder(folder, arguments, files);
    folder.is_new = files.kind(folder.checkpoints) == FileKind::absent;
    hold(folder, command_line, files);
    if (logging.overwrite) remove_run(files, folder.checkpoints);
    refuse_used_folder(folder, arguments, files);
    const bool was_begun = holds_begun_run(files, folder.checkpoints);
    const bool was_killed = !was_begun && holds_own_killed_run(files, folder.checkpoints, arguments);
    if (was_begun || was_killed)
        log::info(folder.checkpoints + ": the run that was begun here has saved no checkpoint; it is begun anew");
    if (was_begun) remove_tables(files, folder.checkpoints);
    if (was_killed) remove_run(files, folder.checkpoints);
    return folder;
}

void check_new_run_folder(const Task& task, const options::ParseResult& arguments, const FileSystem& files) {
    const RunFolder folder = new_run_folder(task, arguments.settings.logging, files);
    expect_place(folder.checkpoints, files);
    if (!arguments.settings.logging.overwrite) refuse_used_folder(folder, arguments, files);
}

RunFolder checked_results_folder(const Task& task, const options::ParseResult& arguments, const FileSystem& files) {
    const options::Settings& settings = arguments.settings;
    LoggingSettings logging = settings.logging;
    const bool asks = std::ranges::any_of(arguments.options, [](const options::ResolvedOption& entry) {
        const std::string flag(entry.option->flag);
        return entry.source == options::Source::command_line && (flag == "--log-dir" || flag == "--save-path");
    });
    if (!logging.logs_path && !asks) logging.no_logs = true;
    RunFolder folder = new_run_folder(task, logging, files);
    if (folder.logs.empty()) return folder;
    if (holds_training(files, folder.logs) && !is_of(settings.main.restore_path, folder.logs)) {
        throw Error(ErrorKind::usage, folder.logs +
                                          ": holds a training run, which takes results of its own checkpoints only; "
                                          "choose another --logs-path");
    }
    expect_place(folder.logs, files);
    return folder;
}

RunFolder results_folder(const Task& task, const options::ParseResult& arguments, const std::string& command_line,
                         FileSystem& files) {
    RunFolder folder = checked_results_folder(task, arguments, files);
    if (folder.logs.empty()) return folder;
    hold(folder, command_line, files);
    drop_half_rows(files, folder.logs);
    return folder;
}

}  // namespace cnntrain::run
