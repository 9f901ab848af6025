// What limited the speed: where the time in weight updates went, and that of the whole run.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cnntrain/base/format.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/report/findings.h"
#include "report/percent.h"

namespace cnntrain::report {

namespace {

constexpr double kNotable = 0.15;        // share of the time that limits the speed
constexpr double kMostPageLoads = 50;    // in a second
constexpr double kLeastOthers = 0.2;     // share of the used processor time that other programs take
constexpr double kMicrobenchmark = 0.5;  // seconds in updates below which shares say little

double sum(const Table& table, std::string_view column) {
    double result = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const double value = table.number(row, column);
        if (std::isfinite(value)) result += value;
    }
    return result;
}

std::string share_text(double part, double whole) {
    return formatted("%.0f %%", whole > 0 ? kPercent * part / whole : 0.0);
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
    return column.starts_with("text") ? "texts" : "samples";
}

/// Sums of time_split.csv.
struct Sums {
    double updates = 0, seconds = 0, input = 0, exposed = 0, exchange = 0, processor = 0, queued = 0, others = 0;
    double page_loads = 0;

    double compute() const { return std::max(0.0, seconds - input - exposed); }
    double others_share() const { return processor + others > 0 ? others / (processor + others) : 0; }
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

Limit limit_of(const Sums& sums) {
    if (sums.seconds <= 0) return Limit::unknown;
    const double input = sums.input / sums.seconds;
    const double exchange = sums.exposed / sums.seconds;
    if (sums.page_loads / sums.seconds > kMostPageLoads) return Limit::memory;
    if (std::max(input, exchange) > kNotable) return input >= exchange ? Limit::input : Limit::communication;
    return sums.queued_share() > kNotable && sums.others_share() > kLeastOthers ? Limit::waiting : Limit::compute;
}

std::string limit_sentence(Limit limit, const Sums& sums) {
    const std::string of = " of the time in updates";
    switch (limit) {
        case Limit::input:
            return "Input limited it: updates waited for samples " + share_text(sums.input, sums.seconds) + of +
                   "; more --input-threads, a smaller image size or a faster disk would help.";
        case Limit::communication:
            return "Communication limited it: the exchange of gradients took " +
                   share_text(sums.exposed, sums.seconds) + of +
                   " behind the backward pass; more micro-batches for each update would help.";
        case Limit::memory:
            return formatted("Memory limited it: %.0f pages were read from disk in each second of updates; ",
                             sums.page_loads / sums.seconds) +
                   "a smaller micro-batch, or fewer other programs, would help.";
        case Limit::waiting:
            return "Waiting for processors limited it: other programs took " + share_text(sums.others_share(), 1) +
                   " of the processor time that was used, and the run's threads waited " +
                   share_text(sums.queued_share(), 1) + " of the time in which they could have run.";
        case Limit::compute:
            return "Compute limited it: passes and update took " + share_text(sums.compute(), sums.seconds) + of +
                   ", waiting for input " + share_text(sums.input, sums.seconds) + ".";
        case Limit::unknown:
            break;
    }
    return "What limited the speed was not recorded.";
}

/// The rank whose updates waited least for others and computed longest.
void add_ranks(const RunRecord& run, std::vector<std::string>& sentences) {
    constexpr double kSlow = 1.1;
    std::vector<std::pair<double, double>> compute;  // seconds of an update, rank
    double last = 0;
    for (std::size_t row = 0; row < run.ranks.rows(); ++row)
        last = std::max(last, run.ranks.number(row, "iteration"));
    for (std::size_t row = 0; row < run.ranks.rows(); ++row) {
        if (run.ranks.number(row, "iteration") != last) continue;
        const double updates = run.ranks.number(row, "updates");
        const double busy = run.ranks.number(row, "update_seconds") - run.ranks.number(row, "exposed_exchange_seconds");
        if (updates > 0 && std::isfinite(busy)) compute.emplace_back(busy / updates, run.ranks.number(row, "rank"));
    }
    if (compute.size() < 2) return;
    std::ranges::sort(compute);
    const double middle = compute[(compute.size() - 1) / 2].first;
    const auto& slowest = compute.back();
    if (slowest.first < kSlow * middle) {
        sentences.push_back(formatted("All %zu ranks are about equally fast.", compute.size()));
    } else {
        sentences.push_back(
            formatted("Rank %.0f is the slowest of %zu: %.3g ms for each update without the exchange, "
                      "%.2f times the median; the others wait for it.",
                      slowest.second, compute.size(), 1e3 * slowest.first, slowest.first / middle));
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
    speed.limit = limit_of(sums);
    if (speed.limit == Limit::unknown) {
        speed.sentences.push_back(run.training.rows() == 0
                                      ? "There is no log line of the training, so its speed is not known."
                                      : "What limited the speed is not recorded: the run is of an earlier version.");
    } else {
        speed.sentences.push_back(limit_sentence(speed.limit, sums));
        if (sums.seconds < kMicrobenchmark) {
            speed.sentences.push_back("All updates together took " + duration_text(sums.seconds) +
                                      ", too little to be sure.");
        }
        speed.update_parts = {{"compute", sums.compute()}, {"waiting for input", sums.input}};
        if (sums.exchange > 0) speed.update_parts.push_back({"exchange behind the backward pass", sums.exposed});
    }
    if (std::isfinite(speed.samples_per_second)) {
        speed.sentences.push_back("Rate: " + number_text(speed.samples_per_second) + " " + speed.unit +
                                  " per second (median of the log lines).");
    }
    add_ranks(run, speed.sentences);
    add_run_parts(run, sums.seconds > 0 ? sums.seconds : seconds_in_updates(run), speed);
    return speed;
}

}  // namespace cnntrain::report
