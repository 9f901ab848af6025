#include "cnntrain/train/runs.h"

#include <optional>
#include <random>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "train/reports/describe.h"
#include "train/runs/run_folder.h"
#include "train/runs/trainer.h"

namespace cnntrain::train {

namespace {

/// Short enough to be typed again.
std::int64_t drawn_seed() {
    return static_cast<std::int64_t>(std::random_device{}() & 0x7fffffffU);
}

/// The seed of the options, or of the run that is resumed, or a new one.
config::ParseResult seeded(const config::ParseResult& arguments, const std::optional<ResumePoint>& resume) {
    if (arguments.settings.device.seed) return arguments;
    const std::optional<std::int64_t> recorded = resume ? recorded_seed(resume->checkpoint) : std::nullopt;
    return with_seed(arguments, recorded ? *recorded : drawn_seed());
}

}  // namespace

int run_training(const config::ParseResult& arguments, const Host& host) {
    const config::Settings& settings = arguments.settings;
    std::optional<ResumePoint> resume;
    RunFolder folder;
    if (settings.main.restore_path) {
        resume = find_resume_point(*host.files, *settings.main.restore_path);
        folder = resumed_run_folder(settings, *settings.main.restore_path);
    } else {
        folder = new_run_folder(settings, *host.files);
        refuse_used_folder(folder, *host.files);
    }
    const config::ParseResult complete = seeded(arguments, resume);
    return Trainer(complete, host, std::move(folder), std::move(resume)).run();
}

config::ParseResult restored_arguments(const config::ParseResult& restore_line, const FileSystem& files) {
    if (!restore_line.settings.main.restore_path) {
        throw Error(ErrorKind::usage, "restore: --restore-path is needed: the folder of the run to resume");
    }
    const std::string folder = without_trailing_slashes(*restore_line.settings.main.restore_path);
    const std::string path = folder + "/arguments.json";
    if (!files.exists(path)) {
        throw Error(ErrorKind::not_found, "--restore-path " + folder +
                                              ": no arguments.json there; give the folder of a run, or resume with "
                                              "train --restore-path and the run's options");
    }
    return config::resume_from_arguments_json(files.read_text(path), restore_line);
}

}  // namespace cnntrain::train
