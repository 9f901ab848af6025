#include "train/runs/resume.h"

#include <charconv>
#include <random>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "train/reports/describe.h"

namespace cnntrain::train {

namespace {

ResumePoint find_resume_point(const FileSystem& files, const std::string& folder, checkpoint::Edited edited) {
    files.check_reachable(folder);
    if (!files.is_directory(folder)) {
        throw Error(ErrorKind::not_found, "--restore-path " + folder + ": no such folder; give the folder of the run");
    }
    const auto latest = checkpoint::latest(files, folder);
    if (!latest) {
        throw Error(ErrorKind::not_found,
                    "--restore-path " + folder + ": no ckpt-<iteration>.safetensors in it to resume from");
    }
    return {*latest, checkpoint::load(files, latest->path, edited)};
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

config::ParseResult seeded(const config::ParseResult& arguments, const std::optional<ResumePoint>& resume) {
    if (arguments.settings.device.seed) return arguments;
    const std::optional<std::int64_t> recorded = resume ? recorded_seed(resume->checkpoint) : std::nullopt;
    return with_seed(arguments, recorded ? *recorded : drawn_seed());
}

}  // namespace

RunStart run_start(const config::ParseResult& arguments, const FileSystem& files) {
    const std::optional<std::string>& folder = arguments.settings.main.restore_path;
    if (!folder) return {seeded(arguments, {}), {}};
    std::optional<ResumePoint> resume =
        find_resume_point(files, *folder, checkpoint::edited_if(arguments.settings.checkpoint.trust_edited));
    config::ParseResult complete = seeded(arguments, resume);
    return {std::move(complete), std::move(resume)};
}

std::uint64_t seed_of(const RunStart& start) {
    return static_cast<std::uint64_t>(*start.arguments.settings.device.seed);
}

std::map<std::string, std::string> run_metadata(const config::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic) {
    return {{kSeedKey, std::to_string(*arguments.settings.device.seed)},
            {kArithmeticKey, std::string(name(arithmetic.type))},
            {kFingerprintKey, config::numerics_fingerprint(arguments)}};
}

std::string metadata(const checkpoint::Checkpoint& checkpoint, const char* key) {
    const auto found = checkpoint.metadata.find(key);
    return found == checkpoint.metadata.end() ? "" : found->second;
}

void compare_fingerprints(const ResumePoint& resume, const config::ParseResult& arguments) {
    const std::string fingerprint = metadata(resume.checkpoint, kFingerprintKey);
    if (fingerprint.empty() || fingerprint == config::numerics_fingerprint(arguments)) return;
    log::warning(resume.found.path +
                 " was written with other options: the run does not continue exactly as it "
                 "would have; `restore` takes the options of the run itself");
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
