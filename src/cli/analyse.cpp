// `cnntrain analyse`: lists the variables of checkpoints and searches them for NaNs.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>
#include <span>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/checkpoint/analyse.h"
#include "cnntrain/checkpoint/folder.h"

namespace cnntrain::cli {
namespace {

using checkpoint::Found;
using checkpoint::kTrustFlag;

std::string indices_text(const std::vector<std::int64_t>& indices) {
    constexpr std::size_t kShown = 20;
    const std::span shown = std::span(indices).first(std::min(indices.size(), kShown));
    std::string text = joined(shown, ", ", [](std::int64_t index) { return std::to_string(index); });
    if (indices.size() > kShown) text += ", ... (" + std::to_string(indices.size() - kShown) + " more)";
    return text;
}

/// Prints indices only at the first checkpoint in which a variable has NaNs; later checkpoints show counts.
void report_nans(const std::vector<Found>& points, checkpoint::Edited edited) {
    std::set<std::string> seen;
    for (const Found& point : points) {
        const auto nans = checkpoint::find_nans(posix_files(), point.path, edited);
        std::cout << point.name << ": "
                  << (nans.empty() ? "no NaNs" : "NaNs in " + counted(std::ssize(nans), "variable")) << '\n';
        for (const checkpoint::VariableNans& variable : nans) {
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
                    checkpoint::Edited edited) {
    std::string first_bad;
    std::cout << variable << "[" << index << "]\n";
    for (const Found& point : points) {
        const double value = checkpoint::element(posix_files(), point.path, variable, index, edited);
        std::cout << "  " << point.name << ": " << value_text(value) << '\n';
        if (!std::isfinite(value) && first_bad.empty()) first_bad = point.name;
    }
    std::cout << (first_bad.empty() ? "finite in every checkpoint" : "first not finite in " + first_bad) << '\n';
}

/// The variables of a checkpoint, and for other programs' files what is not read of them.
void report_variables(const std::vector<Found>& points, checkpoint::Edited edited) {
    for (const Found& point : points) {
        const checkpoint::CheckpointContent content = checkpoint::content(posix_files(), point.path, edited);
        std::int64_t elements = 0;
        for (const auto& [name, desc] : content.variables)
            elements += desc.elements();
        std::cout << point.name << ": " << content.format << (content.part.empty() ? "" : ", part " + content.part)
                  << ", " << counted(std::ssize(content.variables), "tensor") << ", " << counted(elements, "number")
                  << '\n';
        if (!content.other_parts.empty()) std::cout << "  other parts: " << joined(content.other_parts) << '\n';
        for (const auto& [name, desc] : content.variables)
            std::cout << "  " << name << " " << to_string(desc) << '\n';
        for (const checkpoint::LeftOut& one : content.left_out)
            std::cout << "  not read: " << one.name << " " << one.reason << '\n';
    }
}

}  // namespace

const CommandFlags& analyse_flags() {
    static const CommandFlags table = {
        {{"--restore-path", "", "needed: folder of the run, one checkpoint, or a file of PyTorch, Keras or TensorFlow"},
         {"--list", "", "print the names, element types and shapes of the variables of each checkpoint", {}, true},
         {"--find-nans", "", "print the variables with NaNs in each checkpoint, and their positions", {}, true},
         {"--first-fail", "", "print the value of one element in each checkpoint", {}, true},
         {"--first-fail-var", "", "needed with --first-fail: name of the variable"},
         {"--first-fail-index", "", "needed with --first-fail: row-major index of the element"},
         {kTrustFlag,
          "",
          "accept checkpoints whose checksums do not match because another tool edited them",
          {},
          true}},
        "\n"
        "Finds the checkpoint in which numbers became NaN or infinite:\n"
        "  cnntrain analyse --restore-path RUN --find-nans\n"
        "  cnntrain analyse --restore-path RUN --first-fail --first-fail-var all/fc1/bias --first-fail-index 3\n"
        "Lists what is in a file of weights:\n"
        "  cnntrain analyse --restore-path resnet18.pth --list\n"
        "Exit code 0 whether there are NaNs or not.\n"};
    return table;
}

int analyse_command(const Invocation& invocation) {
    const Flags flags(analyse_flags(), called(invocation), invocation.arguments);
    if (flags.print_help_if_wanted()) return 0;
    const std::string& path = flags.text("--restore-path");
    if (!flags.given("--list") && !flags.given("--find-nans") && !flags.given("--first-fail"))
        throw Error(ErrorKind::usage, "cnntrain analyse: give --find-nans or --first-fail, or --list");
    const std::vector<Found> points = checkpoint::find_checkpoints(posix_files(), path);
    const checkpoint::Edited edited = checkpoint::edited_if(flags.given(kTrustFlag));
    if (flags.given("--list")) report_variables(points, edited);
    if (flags.given("--find-nans")) report_nans(points, edited);
    if (flags.given("--first-fail"))
        report_element(points, flags.text("--first-fail-var"), flags.integer("--first-fail-index", 0), edited);
    return 0;
}

}  // namespace cnntrain::cli
