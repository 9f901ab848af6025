// The table on the console.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/text.h"
#include "cnntrain/profile/output.h"

namespace cnntrain::profile {

namespace {

/// The last characters of a text that is too long, because the ends of names tell them apart.
std::string fitted(const std::string& text, std::size_t width) {
    if (text.size() <= width) return text;
    return "..." + text.substr(text.size() - (width - 3));
}

std::string rate(double work, double seconds) {
    return seconds > 0 && work > 0 ? formatted("%.1f", work / seconds) : "-";
}

/// Share of the roofline, and what bounds it.
std::string roofline_text(const Roofline& least, double seconds) {
    if (least.seconds <= 0) return "-";
    return formatted("%3.0f %% %s", 100 * least.share_of(seconds), least.bound.c_str());
}

std::string percent(double part, double whole) {
    return formatted("%.1f %%", whole > 0 ? 100 * part / whole : 0);
}

constexpr const char* kRowPattern = "%-28s %-8s %7s %10.3f %8s %10s %8s  %s\n";

std::string operation_line(const OperationSum& sum, const Profile& profile) {
    const Row& row = sum.row;
    return formatted(kRowPattern, fitted(row.op, 28).c_str(), row.phase.c_str(), formatted("%.4g", row.runs).c_str(),
                     1e3 * row.seconds, percent(row.seconds, profile.step_seconds).c_str(),
                     rate(row.gflop, row.seconds).c_str(), rate(1e-3 * row.megabytes, row.seconds).c_str(),
                     roofline_text(sum.roofline, row.seconds).c_str());
}

std::string wait_line(const std::string& what, double seconds, const Profile& profile) {
    return formatted("%-28s %-8s %7s %10.3f %8s\n", what.c_str(), "", "", 1e3 * seconds,
                     percent(seconds, profile.step_seconds).c_str());
}

std::string head(const Profile& profile) {
    std::string text = "Profile of " + profile.title + ": " + std::to_string(profile.steps) + " steps of " +
                       std::to_string(profile.samples) + " " + profile.unit + ", " +
                       counted(profile.threads, "compute thread") +
                       (profile.lanes > 1 ? " in " + std::to_string(profile.lanes) + " lanes" : "") + "\n";
    text += formatted("%.1f %s/s, %.2f ms a step", profile.samples_per_second(), profile.unit.c_str(),
                      1e3 * profile.step_seconds);
    if (!profile.ranks.empty()) text += " (rank 0 of " + std::to_string(profile.ranks.size()) + ")";
    const Peaks& peaks = profile.peaks;
    if (peaks.are_known()) {
        text += formatted("; peaks measured now: %.0f GFLOP/s (products in %s)", peaks.flops_per_second / 1e9,
                          profile.type.c_str());
        for (const MemoryLevel& level : peaks.levels)
            text += formatted(", %.1f GB/s (%s)", level.rates.best() / 1e9, level.name.c_str());
    }
    return text + "\n\n";
}

std::string input_text(const Profile& profile) {
    const InputWork& work = profile.input;
    if (work.threads == 0 || work.samples <= 0) return "";
    std::string text = formatted("Input: %s, at work %.0f %% of the time; %.3f ms for each of the %s",
                                 counted(work.threads, "thread").c_str(),
                                 100 * work.seconds / (profile.step_seconds * static_cast<double>(work.threads)),
                                 1e3 * work.seconds / work.samples, profile.unit.c_str());
    std::vector<std::string> parts;
    const auto add = [&](const char* name, double seconds) {
        if (seconds > 0.005 * work.seconds) parts.push_back(name + formatted(" %.0f %%", 100 * seconds / work.seconds));
    };
    add("read", work.stages.read);
    add("parse", work.stages.parse);
    add("decode", work.stages.decode);
    add("resize", work.stages.resize);
    add("augment", work.stages.augment);
    if (!parts.empty()) text += " (" + joined(parts) + ")";
    if (work.megapixels > 0) text += formatted("; files of %.2f megapixels", work.megapixels);
    return text + "\n";
}

std::string ranks_text(const Profile& profile) {
    std::string text;
    if (profile.ranks.empty()) return text;
    text +=
        formatted("%-6s %12s %12s %16s %16s\n", "rank", "ms a step", "own ms", "waits for input", "waits for ranks");
    for (std::size_t i = 0; i < profile.ranks.size(); ++i) {
        const RankTimes& rank = profile.ranks[i];
        text += formatted("%-6zu %12.2f %12.2f %16.2f %16.2f\n", i, 1e3 * rank.step, 1e3 * rank.own(),
                          1e3 * rank.waits.input, 1e3 * rank.waits.ranks);
    }
    return text;
}

std::string memory_text(const Profile& profile) {
    std::vector<std::string> parts;
    for (const Owner& owner : profile.memory) {
        if (owner.bytes > 0) parts.push_back(owner.name + " " + size_text(owner.bytes));
    }
    return "Memory: " + size_text(profile.resident_bytes) + " in the process; " + joined(parts) + "\n";
}

}  // namespace

std::string operations_table(const Profile& profile) {
    std::string text = formatted("%-28s %-8s %7s %10s %8s %10s %8s  %s\n", "operation", "phase", "runs", "ms", "share",
                                 "GFLOP/s", "GB/s", "roofline");
    const double step = profile.step_seconds;
    constexpr double kShown = 0.001;
    OperationSum rest;
    for (const OperationSum& sum : by_operation(profile.rows, profile.peaks)) {
        if (sum.row.seconds >= kShown * step) {
            text += operation_line(sum, profile);
            continue;
        }
        rest.row.runs += sum.row.runs;
        rest.row.seconds += sum.row.seconds;
        rest.row.gflop += sum.row.gflop;
        rest.row.megabytes += sum.row.megabytes;
        rest.roofline.seconds += sum.roofline.seconds;
    }
    rest.row.op = "shorter operations";
    if (rest.row.runs > 0) text += operation_line(rest, profile);
    const Waits& waits = profile.waits;
    text += wait_line("waiting for input", waits.input, profile);
    if (profile.lanes > 1) text += wait_line("waiting for other lanes", waits.lanes, profile);
    if (!profile.ranks.empty()) text += wait_line("communication, not hidden", waits.ranks, profile);
    text += wait_line("other", profile.other(), profile);
    return text + wait_line("a step", step, profile);
}

std::string longest_table(const Profile& profile, int longest) {
    std::vector<Row> rows = profile.rows;
    std::ranges::stable_sort(rows, std::greater(), &Row::seconds);
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(longest)));
    std::string text = formatted("%-44s %-20s %-26s %9s %9s  %s\n", "longest operations", "operation", "implementation",
                                 "ms", "GFLOP/s", "roofline");
    for (const Row& row : rows) {
        text +=
            formatted("%-44s %-20s %-26s %9.3f %9s  %s\n", fitted(row.name, 44).c_str(), fitted(row.op, 20).c_str(),
                      fitted(row.implementation, 26).c_str(), 1e3 * row.seconds, rate(row.gflop, row.seconds).c_str(),
                      roofline_text(roofline(row, profile.peaks), row.seconds).c_str());
    }
    return text;
}

std::string table(const Profile& profile, const Verdict& verdict, int longest) {
    std::string text = head(profile) + operations_table(profile) + "\n";
    if (longest > 0) text += longest_table(profile, longest) + "\n";
    text += ranks_text(profile) + input_text(profile) + memory_text(profile);
    if (profile.layout_changes > 0)
        text += "Layouts: " + counted(profile.layout_changes, "change") + " of layout in a micro-batch\n";
    return text + verdict.sentence + ".\n";
}

}  // namespace cnntrain::profile
