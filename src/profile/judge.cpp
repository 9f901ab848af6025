// Names what limits a step. The rules are in order: what disturbs the measurement itself comes first, then what the
// step waits for, then what it computes.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/text.h"
#include "cnntrain/profile/profile.h"

namespace cnntrain::profile {

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
    if (!found.is_felt()) return {};
    const auto left = std::max(1, static_cast<int>(profile.processors - found.others));
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

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
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
                                        " of the input's work: use a local disk, larger files (TFRecords), or memory "
                                        "(--dataset-cache-gb)"};
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

}  // namespace cnntrain::profile
