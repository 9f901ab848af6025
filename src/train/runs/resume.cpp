#include "train/runs/resume.h"

#include <charconv>
#include <random>

#include "cnntrain/base/error.h"
#include "cnntrain/base/folder_lock.h"
#include "cnntrain/base/log.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/runs.h"
#include "train/reports/describe.h"
#include "train/runs/run_files.h"

namespace cnntrain::train {

namespace {

checkpoint::Found latest_checkpoint(const FileSystem& files, const std::string& flag, const std::string& folder) {
    files.check_reachable(folder);
    if (!files.is_directory(folder)) {
        throw Error(ErrorKind::not_found, flag + " " + folder + ": no such folder; give the folder of the run");
    }
    const auto latest = checkpoint::latest(files, folder);
    if (latest) return *latest;
    throw Error(ErrorKind::not_found,
                flag + " " + folder +
                    ": no ckpt-<iteration>.safetensors in it to resume from; a run that has saved none is started "
                    "again by its own line");
}

std::optional<std::int64_t> recorded_seed(const checkpoint::Checkpoint& checkpoint) {
    const std::string text = metadata(checkpoint, kSeedKey);
    std::int64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return seed;
}

/// Short enough to be typed again.
std::int64_t drawn_seed() {
    return static_cast<std::int64_t>(std::random_device{}() & 0x7fffffffU);
}

config::ParseResult completed(const config::ParseResult& arguments, const std::optional<ResumePoint>& resume) {
    config::ParseResult complete = with_absolute_paths(arguments);
    if (arguments.settings.device.seed) return complete;
    const std::optional<std::int64_t> recorded = resume ? recorded_seed(resume->checkpoint) : std::nullopt;
    return with_seed(std::move(complete), recorded ? *recorded : drawn_seed());
}

/// A folder without a checkpoint is left without a lock's file, too.
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
    // There is no arguments.json.
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
    return config::resume_from_arguments_json(task.options, files.read_text(folder + "/" + kArgumentsFile),
                                              restore_line);
}

std::uint64_t seed_of(const RunStart& start) {
    return static_cast<std::uint64_t>(*start.arguments.settings.device.seed);
}

std::map<std::string, std::string> run_metadata(const config::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic) {
    return {{kSeedKey, std::to_string(*arguments.settings.device.seed)},
            {kArithmeticKey, std::string(name(arithmetic.type))},
            {kFingerprintKey, config::numerics_fingerprint(arguments)},
            {kThreadsKey, std::to_string(compute_threads(arguments.settings.run))}};
}

std::string metadata(const checkpoint::Checkpoint& checkpoint, const char* key) {
    const auto found = checkpoint.metadata.find(key);
    return found == checkpoint.metadata.end() ? "" : found->second;
}

void warn_of_other_numbers(const ResumePoint& resume, const config::ParseResult& arguments) {
    const std::string fingerprint = metadata(resume.checkpoint, kFingerprintKey);
    if (!fingerprint.empty() && fingerprint != config::numerics_fingerprint(arguments)) {
        log::warning(resume.found.path +
                     " was written with other options: the run does not continue exactly as it would have; `restore` "
                     "takes the options of the run itself");
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
