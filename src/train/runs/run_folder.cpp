#include "train/runs/run_folder.h"

#include <charconv>
#include <random>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/folder.h"

namespace cnntrain::train {

namespace {

/// Three characters that keep the names of equal runs apart.
std::string random_tag() {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::random_device device;
    std::uniform_int_distribution<std::size_t> pick(0, kAlphabet.size() - 1);
    std::string tag;
    for (int i = 0; i < 3; ++i) {
        tag += kAlphabet[pick(device)];
    }
    return tag;
}

std::string in_folder(std::string folder, std::string_view name) {
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    return folder.append(name);
}

/// Second column of a row of training.csv; -1 for the header.
std::int64_t iteration_of_row(std::string_view row) {
    const std::size_t comma = row.find(',');
    std::int64_t iteration = -1;
    if (comma == std::string_view::npos) return iteration;
    std::from_chars(row.data() + comma + 1, row.data() + row.size(), iteration);
    return iteration;
}

}  // namespace

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
        if (!named_by_user && files.exists(folder.checkpoints)) continue;
        if (!no_logs) folder.logs = folder.checkpoints;
        return folder;
    }
    throw Error(ErrorKind::storage,
                logging.log_dir + ": no free name for a run folder; choose one with " + "--logs-path");
}

RunFolder resumed_run_folder(const LoggingSettings& logging, const std::string& folder) {
    const std::string path = without_trailing_slashes(folder);
    return {path.substr(path.rfind('/') + 1), logging.no_logs ? "" : path, path};
}

std::string how_to_continue(const RunFolder& folder) {
    const std::string how = "continue with ";
    if (!folder.logs.empty()) return how + "cnntrain restore --restore-path " + folder.checkpoints;
    return how + "--restore-path " + folder.checkpoints;  // no arguments.json: the line's own options are needed
}

void refuse_used_folder(const RunFolder& folder, const FileSystem& files) {
    const auto latest = checkpoint::latest(files, folder.checkpoints);
    if (!latest) return;
    throw Error(ErrorKind::usage, folder.checkpoints + ": holds the checkpoints of an earlier run, the last being " +
                                      latest->name + "; continue that run with --restore-path " + folder.checkpoints +
                                      " or choose another --logs-path");
}

void write_arguments(const RunFolder& folder, const std::string& json, FileSystem& files) {
    if (folder.logs.empty()) return;
    std::string path = in_folder(folder.logs, "arguments.json");
    if (files.exists(path)) path = in_folder(folder.logs, "arguments_restore.json");
    files.write_text(path, json);
}

void drop_rows_after(const RunFolder& folder, std::int64_t iteration, FileSystem& files) {
    const std::string path = in_folder(folder.logs, "training.csv");
    if (folder.logs.empty() || !files.exists(path)) return;
    const std::string text = files.read_text(path);
    std::string kept;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t line_end = text.find('\n', begin);
        if (line_end == std::string::npos) break;  // the run was killed while it wrote this row
        const std::string_view row(text.data() + begin, line_end + 1 - begin);
        if (iteration_of_row(row) <= iteration) kept += row;
        begin = line_end + 1;
    }
    if (kept.size() != text.size()) files.write_text(path, kept);
}

}  // namespace cnntrain::train
