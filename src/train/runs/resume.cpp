#include "train/runs/resume.h"

#include <charconv>
#include <random>

#include "cnntrain/base/error.h"
#include "cnntrain/base/folder_lock.h"
#include "cnntrain/base/log.h"
#include "cnntrain/checkpoint/class_names.h"
#include "cnntrain/checkpoint/run_options.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/texts.h"
#include "train/reports/describe.h"
#include "train/runs/run_files.h"

namespace cnntrain::train {
namespace {

checkpoint::Found latest_checkpoint(const FileSystem& files, const std::string& flag, const std::string& folder) {
    if (files.kind(folder) != FileKind::directory)
        throw Error(ErrorKind::not_found, flag + " " + folder + ": no such folder; give the folder of the run");
    const auto latest = checkpoint::latest(files, folder);
    if (latest) return *latest;
    const bool has_results =
        !results_in(files, folder).empty() && !holds_begun_run(files, folder) && !holds_killed_run(files, folder);
    throw Error(ErrorKind::not_found, flag + " " + folder +
                                          ": no ckpt-<iteration>.safetensors in it to resume from; a run that has "
                                          "saved none is begun anew by its own line with --logs-path " +
                                          folder + (has_results ? " --overwrite" : ""));
}

std::optional<std::int64_t> recorded_seed(const checkpoint::Checkpoint& checkpoint) {
    const std::string text = metadata(checkpoint, kSeedKey);
    std::int64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return seed;
}

/// A random seed, short enough to type.
std::int64_t drawn_seed() {
    return static_cast<std::int64_t>(std::random_device{}() & 0x7fffffffU);
}

config::ParseResult completed(const config::ParseResult& arguments, const std::optional<ResumePoint>& resume) {
    config::ParseResult complete = with_absolute_paths(arguments);
    if (arguments.settings.device.seed) return complete;
    const std::optional<std::int64_t> recorded = resume ? recorded_seed(resume->checkpoint) : std::nullopt;
    return with_seed(std::move(complete), recorded ? *recorded : drawn_seed());
}

std::string instead_of(std::int64_t now, std::int64_t before) {
    return std::to_string(now) + (now == before ? "" : " instead of " + std::to_string(before));
}

/// The effect of other data on the rest of the run.
std::string changes_of_run(const RunStart& start, const DataOrigin& expected, const DataOrigin& found,
                           const Task& task) {
    if (!expected.training || !found.training || *expected.training == *found.training)
        return "results of validations before and after cannot be compared";
    // In this order, because tasks keep the plan that was requested last.
    const schedule::RunPlan before = task.plan(expected.training->samples);
    const schedule::RunPlan now = task.plan(found.training->samples);
    const std::string updates = task.description().update + "s";
    const std::int64_t done = start.resume->checkpoint.iteration;
    std::string text = "an epoch has " + instead_of(now.images, before.images) + " samples (" +
                       instead_of(now.iterations_per_epoch, before.iterations_per_epoch) + " " + updates +
                       "), in another order; the run and its learning rates end after " +
                       instead_of(now.iterations, before.iterations) + " " + updates;
    const double epoch = now.epoch_at(done);
    if (epoch != before.epoch_at(done)) {
        text += "; the " + std::to_string(done) + " that are done are " + short_text(epoch) + " epochs instead of " +
                short_text(before.epoch_at(done));
    }
    return text;
}

/// Locks the run's folder. Checks for a checkpoint first, so that no lock file is created in another folder.
std::shared_ptr<FileLock> lock_run(const std::string& flag, const std::string& folder, const Host& host) {
    latest_checkpoint(*host.files, flag, folder);
    return lock_folder(*host.files, folder, host.command_line);
}

RunStart start_at_latest(const config::ParseResult& arguments, const std::string& folder,
                         std::shared_ptr<FileLock> lock, const FileSystem& files) {
    checkpoint::Found found = latest_checkpoint(files, restore_flag(arguments), folder);
    checkpoint::Checkpoint checkpoint =
        checkpoint::load(files, found.path, checkpoint::edited_if(arguments.settings.checkpoint.trust_edited));
    std::optional<ResumePoint> resume = ResumePoint{std::move(found), std::move(checkpoint)};
    config::ParseResult complete = completed(arguments, resume);
    return {std::move(complete), std::move(resume), std::move(lock)};
}

}  // namespace

std::string restore_flag(const config::ParseResult& arguments) {
    return arguments.flag_of_shared("--restore-path");
}

std::string init_flag(const config::ParseResult& arguments) {
    return arguments.flag_of_shared("--init-path");
}

std::string how_to_continue(const RunFolder& folder, const config::ParseResult& arguments) {
    const std::string how = "continue with ";
    if (!arguments.settings.logging.no_logs) return how + "cnntrain restore --restore-path " + folder.checkpoints;
    // Without logs, the run has no arguments.json for `restore` to read.
    return how + "the same options and " + restore_flag(arguments) + " " + folder.checkpoints;
}

RunStart run_start(const config::ParseResult& arguments, const Host& host) {
    const std::optional<std::string>& folder = arguments.settings.main.restore_path;
    if (!folder) return {completed(arguments, {}), {}, {}};
    return start_at_latest(arguments, *folder, lock_run(restore_flag(arguments), *folder, host), *host.files);
}

RunStart restored_run_start(const TaskRow& task, const config::ParseResult& restore_line, const Host& host) {
    const std::string folder = without_trailing_slashes(*restore_line.settings.main.restore_path);
    std::shared_ptr<FileLock> lock = lock_run(restore_flag(restore_line), folder, host);
    return start_at_latest(restored_arguments(task, restore_line, *host.files), folder, std::move(lock), *host.files);
}

config::ParseResult restored_arguments(const TaskRow& task, const config::ParseResult& restore_line,
                                       const FileSystem& files) {
    const std::string folder = without_trailing_slashes(*restore_line.settings.main.restore_path);
    return config::resume_from_arguments_json(task.options, read_text(files, folder + "/" + kArgumentsFile),
                                              restore_line);
}

std::uint64_t seed_of(const RunStart& start) {
    return static_cast<std::uint64_t>(*start.arguments.settings.device.seed);
}

OpenedData open_data(const Task& task, const config::Settings& settings) {
    OpenedData data;
    data.training = task.open(data::Split::train);
    data.plan = task.plan(data.training->count());
    // Opened before training, so that missing files are reported at once rather than after training.
    const bool validates = (data.plan.validate || settings.validation.any()) && !settings.device.dataset_benchmark;
    if (validates) data.validation = task.open(data::Split::validation);
    DataOrigin origin{data.training->origin(), {}};
    if (data.validation) origin.validation = data.validation->origin();
    data.origin = origin_of(to_text(origin));  // as a checkpoint gives it back
    return data;
}

std::map<std::string, std::string> run_metadata(const config::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic, const DataOrigin& origin,
                                                const std::vector<std::string>& class_names) {
    std::map<std::string, std::string> result = {{kSeedKey, std::to_string(*arguments.settings.device.seed)},
                                                 {kArithmeticKey, std::string(name(arithmetic.type))},
                                                 {kFingerprintKey, config::numerics_fingerprint(arguments)},
                                                 {kDataKey, to_text(origin)},
                                                 {kThreadsKey, std::to_string(compute_threads(arguments.settings.run))},
                                                 {checkpoint::kRunOptionsKey, config::evaluation_json(arguments)}};
    checkpoint::set_class_names(result, class_names);
    return result;
}

std::string metadata(const checkpoint::Checkpoint& checkpoint, const char* key) {
    const auto found = checkpoint.metadata.find(key);
    return found == checkpoint.metadata.end() ? "" : found->second;
}

void check_data(const RunStart& start, const DataOrigin& found, const Task& task, bool told) {
    if (!start.resume) return;
    const std::string& path = start.resume->found.path;
    const std::string recorded = metadata(start.resume->checkpoint, kDataKey);
    if (recorded.empty()) {
        if (told)
            log::info(path +
                      " was written by an earlier version and does not say which data the run began with; that "
                      "they are the same is not checked");
        return;
    }
    DataOrigin expected;
    try {
        expected = origin_of(recorded);
    } catch (const Error& error) {
        throw error.within(path);
    }
    const std::string other = other_data(expected, found);
    if (other.empty()) return;
    const std::string changes = changes_of_run(start, expected, found, task);
    if (!start.arguments.settings.main.accept_other_data) {
        throw Error(ErrorKind::data,
                    path + ": the run was on other data. " + other +
                        ". Give it the data that it had, or go on with these by --accept-other-data: " + changes);
    }
    if (told) log::warning(path + ": the run goes on with other data. " + other + ". Now " + changes);
}

void refuse_shorter_run(const RunStart& start, const schedule::RunPlan& plan) {
    if (!start.resume || start.resume->checkpoint.iteration <= plan.iterations) return;
    throw Error(ErrorKind::usage, start.resume->found.path + ": the run has done " +
                                      std::to_string(start.resume->checkpoint.iteration) +
                                      " iterations, more than the " + std::to_string(plan.iterations) +
                                      " that are asked for; ask for at least as many, or begin a new run with " +
                                      init_flag(start.arguments) + " " + start.resume->found.path);
}

std::int64_t check_resumption(const Task& task, const config::ParseResult& arguments, const FileSystem& files) {
    const config::Settings& settings = arguments.settings;
    if (!settings.main.trains || !settings.main.restore_path) return 0;
    const RunStart start = start_at_latest(arguments, *settings.main.restore_path, {}, files);
    const OpenedData data = open_data(task, settings);
    check_data(start, data.origin, task, arguments.launch.index == 0);
    refuse_shorter_run(start, data.plan);
    return start.resume->checkpoint.iteration;
}

void warn_of_other_numbers(const ResumePoint& resume, const config::ParseResult& arguments) {
    const std::string fingerprint = metadata(resume.checkpoint, kFingerprintKey);
    if (!fingerprint.empty() && fingerprint != config::numerics_fingerprint(arguments)) {
        log::warning(resume.found.path +
                     " was written with other options: the run does not continue exactly as it would have; `restore` "
                     "without other options takes those of the run");
    }
    if (arguments.settings.run.thread_independent) return;
    const std::string threads = metadata(resume.checkpoint, kThreadsKey);
    const std::string now = std::to_string(compute_threads(arguments.settings.run));
    if (threads.empty() || threads == now) return;
    log::warning(resume.found.path + " was trained with " + threads + " compute threads and goes on with " + now +
                 ": sums are rounded in another order, so the run does not continue exactly as it would have; with "
                 "--threads " +
                 threads + " it does");
}

void compare_arithmetic(const ResumePoint& resume, const backend::Arithmetic& arithmetic) {
    const std::string before = metadata(resume.checkpoint, kArithmeticKey);
    if (before.empty() || before == name(arithmetic.type)) return;
    log::warning(resume.found.path + " was computed in " + before + "; the run goes on in " +
                 std::string(name(arithmetic.type)) + " (" + arithmetic.reason +
                 "), with the same weights but not with the numbers that it would have had; --compute-type " + before +
                 " keeps to the old arithmetic");
}

}  // namespace cnntrain::train
