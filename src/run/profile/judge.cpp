// Names the cause that limits a step. The rules are in order: first disturbances of the measurement itself, then waits
// of the step, then its computations.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/numbers.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/profile.h"

namespace cnntrain::profile {

std::vector<Row> rows_per_step(const std::vector<backend::ProfileRow>& measured, std::int64_t steps) {
    std::vector<Row> rows;
    rows.reserve(measured.size());
    for (const backend::ProfileRow& one : measured) {
        const double runs = static_cast<double>(one.runs) / static_cast<double>(steps);
        const double seconds = 1e-3 * one.milliseconds;
        rows.push_back({one.name, one.op, one.implementation, std::string(enumerator_name(one.phase)), one.stage, runs,
                        seconds * runs * one.occupied, seconds, one.gflops * runs, one.megabytes * runs});
    }
    return rows;
}

namespace {

/// Seconds to move the operands of a run, and the level that holds them all.
std::pair<double, std::string> data_time(double bytes, const Peaks& peaks) {
    double seconds = 0;
    for (const MemoryLevel& level : peaks.levels) {
        const double held = std::min(bytes, level.bytes);
        seconds += held / level.rates.best();
        bytes -= held;
        if (bytes <= 0) return {seconds, level.name};
    }
    return {seconds, peaks.levels.back().name};
}

}  // namespace

bool multiplies_bytes(const Row& row) {
    return row.op == "quantised_conv2d" || row.op == "quantised_dense";
}

Roofline roofline(const Row& row, const Peaks& peaks) {
    if (!peaks.are_known() || row.runs <= 0) return {};
    const bool in_bytes = multiplies_bytes(row) && peaks.byte_operations_per_second > 0;
    const double arithmetic = 1e9 * row.gflop / (in_bytes ? peaks.byte_operations_per_second : peaks.flops_per_second);
    const auto [seconds, level] = data_time(1e6 * row.megabytes / row.runs, peaks);
    if (arithmetic >= row.runs * seconds) return {arithmetic, std::string(kArithmetic)};
    return {row.runs * seconds, level};
}

std::vector<OperationSum> by_operation(const std::vector<Row>& rows, const Peaks& peaks) {
    std::map<std::pair<std::string, std::string>, OperationSum> sums;
    std::map<std::pair<std::string, std::string>, std::map<std::string, double>> bounds;
    for (const Row& row : rows) {
        const std::pair key(row.op, row.phase);
        const Roofline one = roofline(row, peaks);
        bounds[key][one.bound] += row.seconds;
        auto& [sum, least] = sums[key];
        least.seconds += one.seconds;
        sum.name = sum.op = row.op;
        sum.phase = row.phase;
        sum.runs += row.runs;
        sum.seconds += row.seconds;
        sum.gflop += row.gflop;
        sum.megabytes += row.megabytes;
    }
    std::vector<OperationSum> result;
    for (auto& [key, sum] : sums) {
        using Bound = std::pair<const std::string, double>;
        sum.roofline.bound = std::ranges::max_element(bounds[key], {}, &Bound::second)->first;
        sum.row.run_seconds = sum.row.runs > 0 ? sum.row.seconds / sum.row.runs : 0;
        result.push_back(std::move(sum));
    }
    std::ranges::stable_sort(result, std::greater(), [](const OperationSum& sum) { return sum.row.seconds; });
    return result;
}

double Profile::computed() const {
    double seconds = 0;
    for (const Row& row : rows)
        seconds += row.seconds;
    return seconds;
}

double Profile::other() const {
    return std::max(0.0, step_seconds - computed() - waits.total());
}

namespace {

constexpr double kMuchWaiting = 0.1;       // of a step: a wait that is worth a remedy
constexpr double kMuchLaneWaiting = 0.2;   // pipelines always wait a little while they fill
constexpr double kSlowRank = 1.2;          // times the median rank's own time
constexpr double kMostOfInput = 0.5;       // of the input's work
constexpr double kLargeMegapixels = 4;     // of a stored image, and
constexpr double kLargerThanNeeded = 8;    // times what the network reads
constexpr double kShortSeconds = 50e-6;    // starting and joining threads takes a tenth of such a step of the program
constexpr double kManyShortSteps = 0.4;    // of a step
constexpr double kMuchUpdate = 0.3;        // of a step
constexpr double kMuchBetweenSteps = 0.2;  // of a step
constexpr double kMostOfWork = 0.5;        // of the time of all operations
constexpr double kManyPageLoads = 50;      // in a second

using Finding = std::optional<Verdict>;

std::string percent(double share) {
    return formatted("%.0f %%", 100 * share);
}

Finding neighbours(const Profile& profile) {
    const Competition& found = profile.competition;
    const int left = found.room(profile.processors);
    const bool gave_way = left < std::min(profile.threads, profile.processors);
    if (!found.is_felt() && !gave_way) return {};
    const std::string fewer =
        profile.threads > 1 ? ", or try --threads " + std::to_string(std::min(left, profile.threads - 1)) : "";
    return Verdict{Limit::neighbours, "Limited by other programs, which use " + formatted("%.1f", found.others) +
                                          " of " + counted(profile.processors, "processor") + "; this process waited " +
                                          percent(found.queued_share) + " of the time for a processor: end the others" +
                                          fewer};
}

Finding paging(const Profile& profile) {
    if (profile.page_loads_per_second < kManyPageLoads) return {};
    return Verdict{
        Limit::paging,
        formatted("Limited by too little memory: %.0f pages are read from disk in each second: try a smaller "
                  "--micro-batch-size, or end other programs",
                  profile.page_loads_per_second)};
}

Finding slow_rank(const Profile& profile) {
    if (profile.ranks.size() < 2) return {};
    const auto slowest = std::ranges::max_element(profile.ranks, {}, &RankTimes::own);
    std::vector<double> others;
    double waiting = 0;
    for (const RankTimes& rank : profile.ranks) {
        if (&rank == &*slowest) continue;
        others.push_back(rank.own());
        waiting += rank.waits.ranks / static_cast<double>(profile.ranks.size() - 1);
    }
    const double usual = median(others);
    if (slowest->own() < kSlowRank * usual || waiting < kMuchWaiting * slowest->step) return {};
    const bool waits_for_input = slowest->waits.input > 0.5 * (slowest->own() - usual);
    const std::string number = std::to_string(slowest - profile.ranks.begin());
    return Verdict{Limit::slow_rank,
                   "Limited by rank " + number + ", for which the others wait: a step takes it " +
                       formatted("%.1f ms, and the others %.1f ms", 1e3 * slowest->own(), 1e3 * usual) +
                       (waits_for_input ? ", because it waits for input: look at its disk and its cores"
                                        : ": look for other programs on its host, fewer or slower cores, and cores "
                                          "that it shares with another rank")};
}

std::string input_words(const Profile& profile) {
    return "the step waits " + percent(profile.waits.input / profile.step_seconds) + " of its time for " + profile.unit;
}

Finding input(const Profile& profile) {
    if (profile.waits.input < kMuchWaiting * profile.step_seconds) return {};
    const InputWork& work = profile.input;
    const auto share = [&](double seconds) { return work.seconds > 0 ? seconds / work.seconds : 0; };
    if (share(work.stages.read) > kMostOfInput) {
        return Verdict{Limit::disk, "Limited by the disk: " + input_words(profile) + ", and reading is " +
                                        percent(share(work.stages.read)) +
                                        " of the input's work: use a local disk, or larger files (TFRecords)"};
    }
    const bool large =
        work.megapixels > kLargeMegapixels && work.megapixels > kLargerThanNeeded * profile.image_megapixels;
    if (large && share(work.stages.decode + work.stages.resize) > kMostOfInput) {
        return Verdict{
            Limit::large_images,
            "Limited by large images: " + input_words(profile) + ", whose files have " +
                formatted("%.1f megapixels, where the network reads %.2f", work.megapixels, profile.image_megapixels) +
                "; decoding is " + percent(share(work.stages.decode + work.stages.resize)) +
                " of the input's work: store them smaller once, with sides of at most twice --image-size"};
    }
    if (work.threads > 0 && work.threads < profile.processors) {
        return Verdict{Limit::input_threads,
                       "Limited by the input: " + input_words(profile) + ", which " + counted(work.threads, "thread") +
                           " of " + counted(profile.processors, "processor") + " prepares: leave out --input-threads"};
    }
    const std::array<std::pair<const char*, double>, 5> stages = {{{"reading", work.stages.read},
                                                                   {"parsing", work.stages.parse},
                                                                   {"decoding", work.stages.decode},
                                                                   {"resizing", work.stages.resize},
                                                                   {"augmentation", work.stages.augment}}};
    const auto longest = std::ranges::max_element(stages, {}, &std::pair<const char*, double>::second);
    const std::string most = longest->second > 0 ? std::string(", most of it for ") + longest->first : "";
    return Verdict{Limit::input, "Limited by the input: " + input_words(profile) + most +
                                     ": use more processors, smaller files of samples or less augmentation"};
}

Finding threads(const Profile& profile) {
    if (profile.threads >= profile.cores) return {};
    const double others = profile.competition.others;
    const bool is_busy = profile.threads + 1 > profile.processors - others;  // one more thread would wait
    return Verdict{Limit::threads, "Limited by the number of threads: " + counted(profile.threads, "thread") +
                                       " computes on a machine with " + counted(profile.cores, "core") + ": " +
                                       (is_busy ? "end the other programs, which use " + formatted("%.1f", others) +
                                                      " processors, and leave out --threads"
                                                : "leave out --threads")};
}

Finding communication(const Profile& profile) {
    if (profile.waits.ranks < kMuchWaiting * profile.step_seconds) return {};
    const std::string or_slow =
        profile.ranks.empty() ? ", or waiting for a slow rank (the other ranks' times are not known)" : "";
    return Verdict{Limit::communication,
                   "Limited by communication: " + percent(profile.waits.ranks / profile.step_seconds) +
                       " of a step is exchange between ranks that computing does not hide" + or_slow +
                       ": accumulate more micro-batches (--gradient-accumulation-count), try --comm-wire bf16, or a "
                       "faster network"};
}

Finding lanes(const Profile& profile) {
    if (profile.waits.lanes < kMuchLaneWaiting * profile.step_seconds) return {};
    return Verdict{Limit::lanes, "Limited by lanes that wait for each other, " +
                                     percent(profile.waits.lanes / profile.step_seconds) +
                                     " of a step: accumulate more micro-batches, ask `cnntrain plan` for better "
                                     "splits, or use --lanes 1"};
}

/// The seconds of the rows that are wanted.
template <typename Wanted> double seconds_of(const Profile& profile, const Wanted& wanted) {
    double seconds = 0;
    for (const Row& row : profile.rows) {
        if (wanted(row)) seconds += row.seconds;
    }
    return seconds;
}

Finding small_batch(const Profile& profile) {
    if (profile.rows.empty()) return {};
    const std::string batch =
        "a micro-batch of " + std::to_string(profile.micro_batch) + " is small for this network: ";
    const double update = seconds_of(profile, [](const Row& row) { return row.phase == "update"; });
    if (profile.trains && update > kMuchUpdate * profile.step_seconds) {
        return Verdict{Limit::small_batch, "Limited by the size of the batch: " + batch +
                                               percent(update / profile.step_seconds) +
                                               " of a step updates the weights: try a larger --micro-batch-size, or "
                                               "--gradient-accumulation-count"};
    }
    const double small = seconds_of(profile, [](const Row& row) { return row.run_seconds < kShortSeconds; });
    if (small + profile.other() > kManyShortSteps * profile.step_seconds) {
        return Verdict{Limit::small_batch,
                       "Limited by the size of the batch: " + batch +
                           percent((small + profile.other()) / profile.step_seconds) +
                           formatted(" of a step is in operations shorter than %.0f microseconds and between them",
                                     1e6 * kShortSeconds) +
                           ": try a larger --micro-batch-size"};
    }
    return {};
}

Finding between_steps(const Profile& profile) {
    if (profile.rows.empty() || profile.other() < kMuchBetweenSteps * profile.step_seconds) return {};
    return Verdict{Limit::between_steps, "Limited by work between the steps, " +
                                             percent(profile.other() / profile.step_seconds) +
                                             " of the time: write logs and checkpoints less often"};
}

Finding unmeasured(const Profile& profile) {
    if (!profile.rows.empty()) return {};
    return Verdict{Limit::operations,
                   "Limited by the operations of the network, which take " +
                       percent(profile.other() / profile.step_seconds) +
                       " of a step: whether by arithmetic or by memory bandwidth was not measured; --profile, or "
                       "`cnntrain profile` in front of the line, measures it"};
}

/// Time of the rows that move data rather than compute, by the level of memory that holds their operands, the longest
/// first.
std::vector<std::pair<std::string, double>> moving_seconds(const Profile& profile) {
    std::map<std::string, double> levels;
    for (const Row& row : profile.rows) {
        const Roofline least = roofline(row, profile.peaks);
        if (least.seconds > 0 && least.bound != kArithmetic) levels[least.bound] += row.seconds;
    }
    std::vector<std::pair<std::string, double>> result(levels.begin(), levels.end());
    std::ranges::stable_sort(result, std::greater(), &std::pair<std::string, double>::second);
    return result;
}

Verdict by_work(const Profile& profile) {
    const double all = profile.computed();
    double least = 0;
    for (const Row& row : profile.rows)
        least += roofline(row, profile.peaks).seconds;
    const double reached = all > 0 ? least / all : 0;
    double moving = 0;
    std::vector<std::string> sources;
    for (const auto& [level, seconds] : moving_seconds(profile)) {
        moving += seconds;
        sources.push_back(level + " " + percent(seconds / profile.step_seconds));
    }
    const std::string types = profile.faster_in_16_bits ? "16 bits (--precision 16.16), " : "";
    const std::string ranks = profile.trains ? "more processes (mpirun)" : "more processes";
    if (moving > kMostOfWork * all) {
        return {Limit::memory_bandwidth,
                "Limited by memory bandwidth: operations that move data rather than compute take " +
                    percent(moving / profile.step_seconds) + " of a step (" + joined(sources) + "), at " +
                    formatted("%.1f GB/s from memory: try ", profile.peaks.memory_bytes_per_second() / 1e9) + types +
                    "a smaller --micro-batch-size if its values outgrow the caches, or " + ranks + " on other memory"};
    }
    return {Limit::compute, "Limited by arithmetic: operations take " + percent(all / profile.step_seconds) +
                                " of a step and reach " + percent(reached) +
                                " of what the processor and its memory allow: try " + types + "more cores, or " +
                                ranks};
}

}  // namespace

Verdict judge(const Profile& profile) {
    for (const auto rule : {neighbours, paging, slow_rank, input, threads, communication, lanes, small_batch,
                            between_steps, unmeasured}) {
        if (Finding found = rule(profile)) return *found;
    }
    return by_work(profile);
}

// The table on the console.

namespace {

/// The last characters of a text that is too long, because names differ at their ends.
std::string fitted(const std::string& text, std::size_t width) {
    if (text.size() <= width) return text;
    return "..." + text.substr(text.size() - (width - 3));
}

std::string rate(double work, double seconds) {
    return seconds > 0 && work > 0 ? formatted("%.1f", work / seconds) : "-";
}

/// Share of the roofline, and its bound.
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
        if (peaks.byte_operations_per_second > 0)
            text += formatted(", %.0f GOP/s (products of 8 bits)", peaks.byte_operations_per_second / 1e9);
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
    for (const auto& [name, seconds] : data::StageSeconds::kAll)
        add(name, work.stages.*seconds);
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
