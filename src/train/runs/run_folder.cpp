#include "train/runs/run_folder.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/folder_lock.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/path.h"
#include "cnntrain/checkpoint/folder.h"
#include "train/reports/describe.h"
#include "train/runs/run_files.h"

namespace cnntrain::train {
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
bool holds_own_killed_run(const FileSystem& files, const std::string& folder, const config::ParseResult& arguments) {
    return holds_killed_run(files, folder) &&
           records_options(files, folder, config::arguments_json(arguments, {}), !seed_was_given(arguments));
}

/// A path in comparable form, whether or not it exists.
std::filesystem::path normal(const std::string& path) {
    return std::filesystem::absolute(without_trailing_slashes(path)).lexically_normal();
}

/// Error(usage) if the folder cannot be made, because a file is in its place or in that of a folder above it.
void expect_place(const std::string& folder, const FileSystem& files) {
    for (auto above = normal(folder); !above.empty(); above = above.parent_path()) {
        const FileKind kind = files.kind(above.string());
        if (kind == FileKind::directory || (kind == FileKind::absent && above == above.parent_path())) return;
        if (kind == FileKind::absent) continue;
        throw Error(ErrorKind::usage, folder + ": no folder can be made there, because " + above.string() +
                                          " is no folder; choose another --logs-path");
    }
}

void refuse_used_folder(const RunFolder& folder, const config::ParseResult& arguments, const FileSystem& files) {
    const std::vector<std::string> results = results_in(files, folder.checkpoints);
    if (results.empty() || holds_begun_run(files, folder.checkpoints)) return;
    if (holds_own_killed_run(files, folder.checkpoints, arguments)) return;
    std::string there = results.front();
    if (results.size() > 1) there += " and " + std::to_string(results.size() - 1) + " more of its results";
    const auto latest = checkpoint::latest(files, folder.checkpoints);
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

RunFolder begin_run_folder(const Task& task, const config::ParseResult& arguments, const std::string& command_line,
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

void check_new_run_folder(const Task& task, const config::ParseResult& arguments, const FileSystem& files) {
    const RunFolder folder = new_run_folder(task, arguments.settings.logging, files);
    expect_place(folder.checkpoints, files);
    if (!arguments.settings.logging.overwrite) refuse_used_folder(folder, arguments, files);
}

RunFolder checked_results_folder(const Task& task, const config::ParseResult& arguments, const FileSystem& files) {
    const config::Settings& settings = arguments.settings;
    LoggingSettings logging = settings.logging;
    const bool asks = std::ranges::any_of(arguments.options, [](const config::ResolvedOption& entry) {
        const std::string flag(entry.option->flag);
        return entry.source == config::Source::command_line && (flag == "--log-dir" || flag == "--save-path");
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

RunFolder results_folder(const Task& task, const config::ParseResult& arguments, const std::string& command_line,
                         FileSystem& files) {
    RunFolder folder = checked_results_folder(task, arguments, files);
    if (folder.logs.empty()) return folder;
    hold(folder, command_line, files);
    drop_half_rows(files, folder.logs);
    return folder;
}

}  // namespace cnntrain::train
