// What limited the speed: where the time in weight updates went, and that of the whole run.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "cnntrain/base/text.h"
#include "cnntrain/report/findings.h"

namespace cnntrain::report {

namespace {

constexpr double kMicrobenchmark = 0.5;  // seconds in updates below which shares say little

double sum(const Table& table, std::string_view column) {
    double result = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const double value = table.number(row, column);
        if (std::isfinite(value)) result += value;
    }
    return result;
}

/// The rate of the last log lines, without the first ones of the process.
double recent_rate(const RunRecord& run) {
    const std::string column = rate_column(run);
    std::vector<double> rates;
    for (std::size_t row = 0; row < run.training.rows(); ++row) {
        const double rate = run.training.number(row, column);
        if (std::isfinite(rate)) rates.push_back(rate);
    }
    if (rates.empty()) return kUnknown;
    const auto middle = rates.begin() + std::ssize(rates) / 2;
    std::ranges::nth_element(rates, middle);
    return *middle;
}

std::string unit_of(const RunRecord& run) {
    const std::string column = rate_column(run);
    if (column.starts_with("img")) return "images";
    if (column.starts_with("seq")) return "sequences";
    if (column.starts_with("row")) return "rows";
    return column.starts_with("text") ? "texts" : "samples";
}

/// Sums of time_split.csv.
struct Sums {
    double updates = 0, seconds = 0, input = 0, exposed = 0, exchange = 0, processor = 0, queued = 0, others = 0;
    double page_loads = 0;

    double compute() const { return std::max(0.0, seconds - input - exposed); }
    double queued_share() const { return processor + queued > 0 ? queued / (processor + queued) : 0; }
};

Sums sums_of(const Table& times) {
    return {sum(times, "updates"),
            sum(times, "update_seconds"),
            sum(times, "input_wait_seconds"),
            sum(times, "exposed_exchange_seconds"),
            sum(times, "exchange_seconds"),
            sum(times, "processor_seconds"),
            sum(times, "queued_seconds"),
            sum(times, "other_programs_seconds"),
            sum(times, "page_loads")};
}

/// The rows of the last process, by rank.
std::vector<profile::RankTimes> ranks_of(const Table& table) {
    if (table.rows() == 0) return {};
    const double last = table.number(table.rows() - 1, "iteration");
    std::map<double, profile::RankTimes> ranks;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const double updates = table.number(row, "updates");
        const double rank = table.number(row, "rank");
        if (table.number(row, "iteration") != last || !(updates > 0) || !std::isfinite(rank)) continue;
        const auto each = [&](const char* column) {
            const double seconds = table.number(row, column);
            return std::isfinite(seconds) ? seconds / updates : 0;
        };
        ranks[rank] = {each("update_seconds"),
                       {.input = each("input_wait_seconds"), .ranks = each("exposed_exchange_seconds")}};
    }
    std::vector<profile::RankTimes> result;
    for (const auto& [rank, times] : ranks)
        result.push_back(times);
    return result;
}

/// What the tables of the run tell about a step.
profile::Profile evidence_of(const RunRecord& run, const Sums& sums) {
    profile::Profile step;
    step.unit = unit_of(run);
    step.step_seconds = sums.seconds / sums.updates;
    step.waits = {.input = sums.input / sums.updates, .ranks = sums.exposed / sums.updates};
    step.page_loads_per_second = sums.page_loads / sums.seconds;
    step.threads = run.log.compute_threads;
    step.cores = run.log.core_count;
    step.processors = run.log.processor_count;
    step.ranks = ranks_of(run.ranks);
    // Ranks of a host take processors from each other. The table's sums of processors are of a longer time than that in
    // updates: of validation and checkpoints, too.
    if (sums.exchange == 0 && step.ranks.empty()) {
        const double most = step.processors > 0 ? step.processors : std::numeric_limits<double>::infinity();
        step.competition = {.others = std::min(sums.others / sums.seconds, most), .queued_share = sums.queued_share()};
    }
    return step;
}

std::string profiled_words(const profile::Profile& measured) {
    return "In the " + std::to_string(measured.steps) + " updates that --profile measured: ";
}

void judge_limit(const RunRecord& run, const Sums& sums, Speed& speed) {
    std::optional<profile::Verdict> profiled;
    if (run.profile) profiled = profile::judge(*run.profile);
    if (sums.updates <= 0 || sums.seconds <= 0) {
        if (!profiled) {
            speed.sentences.push_back(run.training.rows() == 0
                                          ? "There is no log line of the training, so its speed is not known."
                                          : "What limited the speed is not recorded: the run is of an earlier "
                                            "version.");
            return;
        }
        speed.limit = profiled->limit;
        speed.sentences.push_back(profiled_words(*run.profile) + profiled->sentence + ".");
        return;
    }
    const profile::Verdict whole = profile::judge(evidence_of(run, sums));
    const bool profile_knows_more = profiled && whole.limit == profile::Limit::operations;
    speed.limit = profile_knows_more ? profiled->limit : whole.limit;
    if (!profile_knows_more) speed.sentences.push_back(whole.sentence + ".");
    if (profiled && profiled->limit != whole.limit)
        speed.sentences.push_back(profiled_words(*run.profile) + profiled->sentence + ".");
    if (sums.seconds < kMicrobenchmark) {
        speed.sentences.push_back("All updates together took " + duration_text(sums.seconds) +
                                  ", too little to be sure.");
    }
}

void add_run_parts(const RunRecord& run, double updates, Speed& speed) {
    const auto add = [&](const char* name, double seconds) {
        if (seconds > 0) speed.run_parts.push_back({name, seconds});
    };
    add("weight updates", updates);
    add("validation", sum(run.validation, "val_time"));
    add("saving checkpoints", run.log.save_seconds);
    add("preparation before the first step", run.log.compile_seconds);
    if (speed.run_parts.size() < 2) return;
    std::vector<std::string> texts;
    for (const TimePart& part : speed.run_parts)
        texts.push_back(part.name + " " + duration_text(part.seconds));
    speed.sentences.push_back("Of the run: " + listed(texts) + ".");
}

/// Without time_split.csv: the durations of updates in training.csv.
double seconds_in_updates(const RunRecord& run) {
    double seconds = 0;
    double before = 0;
    for (std::size_t row = 0; row < run.training.rows(); ++row) {
        const double iteration = run.training.number(row, "iteration");
        const double each = run.training.number(row, "it_time");
        if (!std::isfinite(iteration) || !std::isfinite(each)) continue;
        seconds += each * std::max(0.0, iteration - before);
        before = iteration;
    }
    return seconds;
}

}  // namespace

Speed judge_speed(const RunRecord& run) {
    Speed speed;
    speed.unit = unit_of(run);
    speed.samples_per_second = recent_rate(run);
    const Sums sums = sums_of(run.times);
    judge_limit(run, sums, speed);
    if (sums.seconds > 0) {
        speed.update_parts = {{"passes and update", sums.compute()}, {"waiting for input", sums.input}};
        if (sums.exchange > 0) speed.update_parts.push_back({"exchange behind the backward pass", sums.exposed});
    }
    if (std::isfinite(speed.samples_per_second)) {
        speed.sentences.push_back("Rate: " + number_text(speed.samples_per_second) + " " + speed.unit +
                                  " per second (median of the log lines).");
    }
    add_run_parts(run, sums.seconds > 0 ? sums.seconds : seconds_in_updates(run), speed);
    return speed;
}

}  // namespace cnntrain::report
