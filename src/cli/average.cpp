// `cnntrain average`: averages a run's checkpoints.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/checkpoint/average.h"
#include "cnntrain/checkpoint/folder.h"

namespace cnntrain::cli {
namespace {

using checkpoint::kTrustFlag;

std::vector<std::string> checkpoints_of(const std::string& folder) {
    posix_files().kind(folder);  // throws when the system does not say what is there
    std::vector<std::string> paths;
    for (const checkpoint::Found& found : checkpoint::numbered_checkpoints(posix_files(), folder))
        paths.push_back(found.path);
    if (paths.empty()) {
        throw Error(ErrorKind::not_found,
                    "no ckpt-<iteration>" + std::string(checkpoint::kCheckpointSuffix) + " in " + folder);
    }
    return paths;
}

std::string target_path(std::string filename) {
    if (!filename.ends_with(checkpoint::kCheckpointSuffix)) filename += checkpoint::kCheckpointSuffix;
    checkpoint::refuse_run_checkpoint(posix_files(), "--filename", filename);
    return filename;
}

/// The run folder that contains `folder` or is `folder`; "" if none. `folder` must exist.
std::string run_that_holds(const std::string& folder) {
    namespace fs = std::filesystem;
    const fs::path place = fs::absolute(without_trailing_slashes(folder)).lexically_normal();
    for (const fs::path& run : {place, place.parent_path()}) {
        if (run != place && place.filename() != "ckpt") break;
        if (!checkpoint::numbered_checkpoints(posix_files(), run.string()).empty()) return run.string();
    }
    return "";
}

std::vector<NamedPath> read_files(const std::vector<std::string>& checkpoints) {
    std::vector<NamedPath> all;
    all.reserve(checkpoints.size());
    for (const std::string& path : checkpoints)
        all.push_back({"checkpoint", path});
    return all;
}

}  // namespace

const CommandFlags& average_flags() {
    static const CommandFlags table = {
        {{"--restore-path", "", "needed: folder of the run, with its ckpt-<iteration>.safetensors"},
         {"--filename", "", "needed: file for the average; .safetensors is added"},
         {"--mode", "", "needed: mean or exponential"},
         {"--decay", "0.99", "exponential, oldest checkpoint first: V = decay x V + (1 - decay) x next"},
         {"-N", "", "use the last N checkpoints only; without it, all"},
         {"--overwrite", "", "replace a file that this command did not write", {}, true},
         kCheckpointDtypeFlag,
         {"--discard-last", "0", "number of newest checkpoints to leave out, before -N is applied"},
         {kTrustFlag,
          "",
          "accept checkpoints whose checksums do not match because another tool edited them",
          {},
          true}},
        "\n"
        "Averages a run's checkpoints. The result is a checkpoint like any other:\n"
        "  cnntrain average --restore-path RUN --mode mean -N 5 --filename RUN/ckpt/mean5\n"
        "  cnntrain validation --data-dir DIR --restore-path RUN/ckpt/mean5\n"};
    return table;
}

int average_command(const Invocation& invocation) {
    const Flags flags(average_flags(), called(invocation), invocation.arguments);
    if (flags.print_help_if_wanted()) return 0;
    const std::string& folder = flags.text("--restore-path");
    const std::string target = target_path(flags.text("--filename"));
    const checkpoint::AverageSettings settings{checkpoint::averaging_named(flags.text("--mode")),
                                               flags.number("--decay", 0, 1),
                                               checkpoint::edited_if(flags.given(kTrustFlag)), flags.wants_f32()};
    const auto discarded = static_cast<std::size_t>(flags.integer("--discard-last", 0));

    std::vector<std::string> paths = checkpoints_of(folder);
    std::cout << "Checkpoints found: " << paths.size() << '\n';
    if (discarded >= paths.size()) {
        throw Error(ErrorKind::usage, "--discard-last " + std::to_string(discarded) + " leaves none of the " +
                                          std::to_string(paths.size()) + " checkpoints");
    }
    paths.resize(paths.size() - discarded);
    if (flags.given("-N")) {
        const auto wanted = static_cast<std::size_t>(flags.integer("-N", 1));
        const std::size_t used = std::min(wanted, paths.size());
        paths.erase(paths.begin(), paths.end() - static_cast<std::ptrdiff_t>(used));
    }
    std::cout << "Checkpoints discarded: " << discarded << "\nCheckpoints used: " << paths.size()
              << "\nMode: " << checkpoint::name(settings.mode) << '\n';
    if (settings.mode == checkpoint::Averaging::exponential) std::cout << "Decay: " << flags.text("--decay") << '\n';
    check_outputs(posix_files(),
                  {{{"--filename", target}, flags.given("--overwrite"), "--overwrite", checkpoint::is_average}},
                  read_files(paths));
    const std::size_t slash = target.rfind('/');
    const std::string place = slash == std::string::npos ? "." : target.substr(0, slash + 1);
    posix_files().make_directories(place);
    const std::string run = run_that_holds(place);
    std::unique_ptr<FileLock> lock;
    if (!run.empty()) lock = lock_folder(posix_files(), run, invocation.command_line);
    checkpoint::average(posix_files(), paths, settings, target);
    std::cout << "Averaging complete: saved to " << target << '\n';
    return 0;
}

}  // namespace cnntrain::cli
