// `cnntrain analyse`: lists the variables of checkpoints and searches them for NaNs.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <span>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {
namespace {

using weights::Found;
using weights::kTrustFlag;

constexpr Flag kTrustRow =
    toggle(kTrustFlag, "accept checkpoints whose checksums do not match because another tool edited them");

std::string indices_text(const std::vector<std::int64_t>& indices) {
    constexpr std::size_t kShown = 20;
    const std::span shown = std::span(indices).first(std::min(indices.size(), kShown));
    std::string text = joined(shown, ", ", [](std::int64_t index) { return std::to_string(index); });
    if (indices.size() > kShown) text += ", ... (" + std::to_string(indices.size() - kShown) + " more)";
    return text;
}

/// Prints indices only at the first checkpoint in which a variable has NaNs; later checkpoints show counts.
void report_nans(const std::vector<Found>& points, weights::Edited edited) {
    std::set<std::string> seen;
    for (const Found& point : points) {
        const auto nans = weights::find_nans(posix_files(), point.path, edited);
        std::cout << point.name << ": "
                  << (nans.empty() ? "no NaNs" : "NaNs in " + counted(std::ssize(nans), "variable")) << '\n';
        for (const weights::VariableNans& variable : nans) {
            std::cout << "  " << variable.variable << ": " << counted(std::ssize(variable.indices), "NaN");
            if (seen.insert(variable.variable).second)
                std::cout << ", first here, at " << indices_text(variable.indices);
            std::cout << '\n';
        }
    }
}

std::string value_text(double value) {
    return formatted("%.9g", value);
}

void report_element(const std::vector<Found>& points, const std::string& variable, std::int64_t index,
                    weights::Edited edited) {
    std::string first_bad;
    std::cout << variable << "[" << index << "]\n";
    for (const Found& point : points) {
        const double value = weights::element(posix_files(), point.path, variable, index, edited);
        std::cout << "  " << point.name << ": " << value_text(value) << '\n';
        if (!std::isfinite(value) && first_bad.empty()) first_bad = point.name;
    }
    std::cout << (first_bad.empty() ? "finite in every checkpoint" : "first not finite in " + first_bad) << '\n';
}

/// Prints the variables of a checkpoint, and for other programs' files those that are not read.
void report_variables(const std::vector<Found>& points, weights::Edited edited) {
    for (const Found& point : points) {
        const weights::CheckpointContent content = weights::content(posix_files(), point.path, edited);
        std::int64_t elements = 0;
        for (const auto& [name, desc] : content.variables)
            elements += desc.elements();
        std::cout << point.name << ": " << content.format << (content.part.empty() ? "" : ", part " + content.part)
                  << ", " << counted(std::ssize(content.variables), "tensor") << ", " << counted(elements, "number")
                  << '\n';
        if (!content.other_parts.empty()) std::cout << "  other parts: " << joined(content.other_parts) << '\n';
        for (const auto& [name, desc] : content.variables)
            std::cout << "  " << name << " " << to_string(desc) << '\n';
        for (const weights::LeftOut& one : content.left_out)
            std::cout << "  not read: " << one.name << " " << one.reason << '\n';
    }
}

}  // namespace

CommandFlags analyse_flags() {
    return {
        {{"--restore-path", "", "needed: folder of the run, one checkpoint, or a file of PyTorch, Keras or TensorFlow"},
         toggle("--list", "print the names, element types and shapes of the variables of each checkpoint"),
         toggle("--find-nans", "print the variables with NaNs in each checkpoint, and their positions"),
         toggle("--first-fail", "print the value of one element in each checkpoint"),
         {"--first-fail-var", "", "needed with --first-fail: name of the variable"},
         {"--first-fail-index", "", "needed with --first-fail: row-major index of the element"},
         kTrustRow},
        "\n"
        "Finds the checkpoint in which numbers became NaN or infinite:\n"
        "  cnntrain analyse --restore-path RUN --find-nans\n"
        "  cnntrain analyse --restore-path RUN --first-fail --first-fail-var all/fc1/bias --first-fail-index 3\n"
        "Lists what is in a file of weights:\n"
        "  cnntrain analyse --restore-path resnet18.pth --list\n"
        "Exit code 0 whether there are NaNs or not.\n"};
}

int analyse_command(const Invocation& invocation) {
    const Flags flags(analyse_flags(), called(invocation), invocation.arguments);
    if (flags.print_help_if_wanted()) return 0;
    const std::string& path = flags.text("--restore-path");
    if (!flags.given("--list") && !flags.given("--find-nans") && !flags.given("--first-fail"))
        throw Error(ErrorKind::usage, "cnntrain analyse: give --find-nans or --first-fail, or --list");
    const std::vector<Found> points = weights::find_checkpoints(posix_files(), path);
    const weights::Edited edited = weights::edited_if(flags.given(kTrustFlag));
    if (flags.given("--list")) report_variables(points, edited);
    if (flags.given("--find-nans")) report_nans(points, edited);
    if (flags.given("--first-fail"))
        report_element(points, flags.text("--first-fail-var"), flags.integer("--first-fail-index", 0), edited);
    return 0;
}

// `cnntrain average`: averages a run's checkpoints.

namespace {

std::vector<std::string> checkpoints_of(const std::string& folder) {
    posix_files().kind(folder);  // throws when the system does not say what is there
    std::vector<std::string> paths;
    for (const weights::Found& found : weights::numbered_checkpoints(posix_files(), folder))
        paths.push_back(found.path);
    if (paths.empty()) {
        throw Error(ErrorKind::not_found,
                    "no ckpt-<iteration>" + std::string(weights::kCheckpointSuffix) + " in " + folder);
    }
    return paths;
}

std::string target_path(std::string filename) {
    if (!filename.ends_with(weights::kCheckpointSuffix)) filename += weights::kCheckpointSuffix;
    weights::refuse_run_checkpoint(posix_files(), "--filename", filename);
    return filename;
}

/// The run folder that contains `folder` or is `folder`; "" if none. `folder` must exist.
std::string run_that_holds(const std::string& folder) {
    namespace fs = std::filesystem;
    const fs::path place = fs::absolute(without_trailing_slashes(folder)).lexically_normal();
    for (const fs::path& run : {place, place.parent_path()}) {
        if (run != place && place.filename() != "ckpt") break;
        if (!weights::numbered_checkpoints(posix_files(), run.string()).empty()) return run.string();
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

CommandFlags average_flags() {
    return {{{"--restore-path", "", "needed: folder of the run, with its ckpt-<iteration>.safetensors"},
             {"--filename", "", "needed: file for the average; .safetensors is added"},
             {"--mode", "", "needed: mean or exponential"},
             {"--decay", "0.99", "exponential, oldest checkpoint first: V = decay x V + (1 - decay) x next"},
             {"-N", "", "use the last N checkpoints only; without it, all"},
             toggle("--overwrite", "replace a file that this command did not write"),
             kCheckpointDtypeFlag,
             {"--discard-last", "0", "number of newest checkpoints to leave out, before -N is applied"},
             kTrustRow},
            "\n"
            "Averages a run's checkpoints. The result is a checkpoint like any other:\n"
            "  cnntrain average --restore-path RUN --mode mean -N 5 --filename RUN/ckpt/mean5\n"
            "  cnntrain validation --data-dir DIR --restore-path RUN/ckpt/mean5\n"};
}

int average_command(const Invocation& invocation) {
    const Flags flags(average_flags(), called(invocation), invocation.arguments);
    if (flags.print_help_if_wanted()) return 0;
    const std::string& folder = flags.text("--restore-path");
    const std::string target = target_path(flags.text("--filename"));
    const auto mode = named<weights::Averaging>(flags.text("--mode"));
    if (!mode) throw Error(ErrorKind::usage, "--mode must be mean or exponential, not '" + flags.text("--mode") + "'");
    const weights::AverageSettings settings{*mode, flags.number("--decay", 0, 1),
                                            weights::edited_if(flags.given(kTrustFlag)), flags.wants_f32()};
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
              << "\nMode: " << spelling(settings.mode) << '\n';
    if (settings.mode == weights::Averaging::exponential) std::cout << "Decay: " << flags.text("--decay") << '\n';
    check_outputs(posix_files(),
                  {{{"--filename", target}, flags.given("--overwrite"), "--overwrite", weights::is_average}},
                  read_files(paths));
    const std::size_t slash = target.rfind('/');
    const std::string place = slash == std::string::npos ? "." : target.substr(0, slash + 1);
    posix_files().make_directories(place);
    const std::string run = run_that_holds(place);
    std::unique_ptr<FileLock> lock;
    if (!run.empty()) lock = lock_folder(posix_files(), run, invocation.command_line);
    weights::average(posix_files(), paths, settings, target);
    std::cout << "Averaging complete: saved to " << target << '\n';
    return 0;
}

}  // namespace cnntrain::cli
