#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "cnntrain/base/numbers.h"
#include "cnntrain/base/text.h"
#include "cnntrain/insight/findings.h"

namespace cnntrain::report {
namespace {

constexpr Measure kMeasures[] = {
    {"Loss", "loss", "val_loss"},
    {"Accuracy", "train_acc", "val_acc", 1, " %", true},
    {"Top-5 accuracy", "", "val_top5_acc", 1, " %", true},
    {"Balanced accuracy", "", "balanced_acc", 1, " %", true},
    {"Loss of masked words", "mlm_loss", "mlm_loss"},
    {"Accuracy of masked words", "mlm_acc", "mlm_acc", kPercent, " %", true},
    {"Loss of next sentences", "nsp_loss", "nsp_loss"},
    {"Accuracy of next sentences", "nsp_acc", "nsp_acc", kPercent, " %", true},
};

/// Means of host steps, not over the last epoch.
std::string batch_column(const Measure& measure) {
    return std::string(measure.training) + "_batch";
}

/// The place of a row: its epoch, in rows of early versions its iteration.
double place_of(const Table& table, std::size_t row) {
    const double epoch = table.number(row, "epoch");
    return std::isnan(epoch) ? table.number(row, "iteration") : epoch;
}

bool is_average(std::string_view name) {
    return name.starts_with("weight_avg");
}

}  // namespace

std::vector<Measure> measures_of(const RunRecord& run) {
    std::vector<Measure> result;
    for (const Measure& measure : kMeasures) {
        const bool trained = !measure.training.empty() && run.training.has(batch_column(measure));
        const bool validated = !measure.validation.empty() && run.validation.has(measure.validation);
        if (trained || validated) result.push_back(measure);
    }
    return result;
}

std::string rate_column(const RunRecord& run) {
    for (const char* const unit : {"img", "seq", "row", "text"}) {
        std::string column = std::string(unit) + "_per_sec";
        if (run.training.has(column) || run.validation.has(column)) return column;
    }
    return "";
}

Curve validation_curve(const RunRecord& run, const Measure& measure, Validated which) {
    std::map<double, std::pair<double, double>> points;  // by iteration
    for (std::size_t row = 0; row < run.validation.rows(); ++row) {
        if (is_average(run.validation.text(row, "name")) != (which == Validated::average)) continue;
        const double iteration = run.validation.number(row, "iteration");
        const double value = run.validation.number(row, measure.validation);
        if (std::isnan(iteration) || run.validation.text(row, measure.validation).empty()) continue;
        points[iteration] = {place_of(run.validation, row), measure.scale * value};
    }
    Curve curve;
    for (const auto& [iteration, point] : points) {
        curve.x.push_back(point.first);
        curve.y.push_back(point.second);
    }
    return curve;
}

Curve training_column(const RunRecord& run, std::string_view column) {
    Curve curve;
    for (std::size_t row = 0; row < run.training.rows(); ++row) {
        const double place = place_of(run.training, row);
        if (std::isnan(place) || run.training.text(row, column).empty()) continue;
        if (!curve.empty() && place < curve.x.back()) continue;
        curve.x.push_back(place);
        curve.y.push_back(run.training.number(row, column));
    }
    return curve;
}

Curve training_curve(const RunRecord& run, const Measure& measure) {
    if (measure.training.empty()) return {};
    Curve curve = training_column(run, batch_column(measure));
    for (double& value : curve.y)
        value *= measure.scale;
    return curve;
}

// Finds what limited the speed: the parts of the time in weight updates, and of the time of the whole run.

namespace {

constexpr double kMicrobenchmark = 0.5;  // seconds in updates below which shares say little

double sum(const Table& table, std::string_view column) {
    const std::vector<double> numbers = table.numbers(column);
    return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

/// The rate of the last log lines, without the first ones of the process.
double recent_rate(const RunRecord& run) {
    std::vector<double> rates = run.training.numbers(rate_column(run));
    return rates.empty() ? kUnknown : median(std::move(rates));
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

/// Profile of a step, as far as the tables of the run have it.
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

/// Sum of the durations of updates in training.csv, for a run without time_split.csv.
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
        if (sums.exchange > 0) speed.update_parts.push_back({"exchange after the backward pass", sums.exposed});
    }
    if (std::isfinite(speed.samples_per_second)) {
        speed.sentences.push_back("Rate: " + number_text(speed.samples_per_second) + " " + speed.unit +
                                  " per second (median of the log lines).");
    }
    add_run_parts(run, sums.seconds > 0 ? sums.seconds : seconds_in_updates(run), speed);
    return speed;
}

std::string number_text(double value, int digits) {
    if (std::isnan(value)) return "not a number";
    if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
    const double size = std::fabs(value);
    if (size >= std::pow(10.0, digits) && size < 1e15) return formatted("%.0f", value);
    return formatted("%.*g", digits, value);
}

std::string probability_text(double probability) {
    constexpr double kLeast = 0.001;
    return probability < kLeast ? "< 0.1 %" : formatted("%.1f %%", 100 * probability);
}

std::string short_path(std::string_view path) {
    const std::size_t last = path.rfind('/');
    if (last == std::string_view::npos || last == 0) return std::string(path);
    const std::size_t before = path.rfind('/', last - 1);
    return std::string(before == std::string_view::npos ? path : path.substr(before + 1));
}

std::string duration_text(double seconds) {
    constexpr double kMinute = 60;
    constexpr double kHour = 3600;
    constexpr double kShort = 0.1;
    if (seconds < kShort) return number_text(1e3 * seconds, 2) + " ms";
    if (seconds < kMinute) return number_text(seconds, 3) + " s";
    if (seconds < kHour) return number_text(seconds / kMinute, 3) + " min";
    return number_text(seconds / kHour, 3) + " h";
}

std::string epoch_text(double epoch) {
    return "epoch " + number_text(epoch, 3);
}

}  // namespace cnntrain::report
