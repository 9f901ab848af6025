#include "train/runs/learning_check.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/format.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/schedule/validation_times.h"

namespace cnntrain::train {
namespace {

constexpr double kMostOfStart = 0.6;  // share of the start in an average that is pointed out
constexpr double kLittleOfStart = 0.05;

constexpr std::size_t kFirst = 10;        // updates that are the start
constexpr std::size_t kRecent = 40;       // updates that are compared with it
constexpr double kFullUpdates = 200;      // after which they are compared
constexpr double kLeastFullUpdates = 60;  // ... at the end of a shorter run
constexpr double kErrors = 2;             // standard errors of the difference that are noise
constexpr double kRise = 1.1;             // of the loss that trained weights begin with

/// The decay of the moving averages of statistics that a training graph updates; empty if it has none.
std::optional<double> statistics_decay(const graph::Graph& graph) {
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        if (node.kind == graph::OpKind::moving_average_update) return node.as<graph::MovingAverageAttrs>().decay;
    }
    return std::nullopt;
}

/// The number of updates before the first validation of weights; empty without validations.
std::optional<std::int64_t> first_validation(const ValidationSettings& settings, const schedule::RunPlan& plan) {
    if (plan.iterations == 0) return std::nullopt;
    if (settings.any()) return schedule::PlannedValidations(settings, plan).next(0);
    const auto saved = plan.validate ? plan.next_checkpoint(0) : std::nullopt;
    return saved ? std::optional(saved->end()) : std::nullopt;
}

/// The highest learning rate of the run, of those at many places.
double peak_learning_rate(const Task& task, const schedule::RunPlan& plan) {
    constexpr std::int64_t kPlaces = 256;
    const auto rate = task.learning_rate(plan);
    const std::int64_t places = std::min(kPlaces, plan.iterations);
    double peak = 0;
    for (std::int64_t i = 0; i < places; ++i) {
        const auto share = static_cast<double>(i) / static_cast<double>(places);
        const auto iteration = static_cast<std::int64_t>(share * static_cast<double>(plan.iterations));
        peak = std::max(peak, rate(plan.host_step(iteration).lr_iteration));
    }
    return peak;
}

}  // namespace

std::string statistics_warning(double decay, std::int64_t updates) {
    if (updates <= 0 || decay <= 0 || decay >= 1) return "";
    const double start = std::pow(decay, static_cast<double>(updates));
    if (start <= kMostOfStart) return "";
    const double better = std::floor(100 * std::pow(kLittleOfStart, 1 / static_cast<double>(updates))) / 100;
    const auto enough = static_cast<std::int64_t>(std::ceil(std::log(kLittleOfStart) / std::log(decay)));
    return formatted("Warning: batch norm's moving averages still have %.0f %% of their start after the ",
                     100 * start) +
           counted(updates, "update") + formatted(" before the first validation (--BN-decay %g): until about ", decay) +
           counted(enough, "update") + " are done, validations say little; " +
           formatted("--BN-decay %g leaves %.0f %%, and a smaller batch makes more updates", better,
                     100 * kLittleOfStart);
}

std::string slow_statistics(const Task& task, const config::Settings& settings, const schedule::RunPlan& plan,
                            const graph::Graph& training_graph) {
    if (settings.training.init_path) return "";
    const std::optional<double> decay = statistics_decay(training_graph);
    const std::optional<std::int64_t> updates = first_validation(settings.validation, plan);
    return decay && updates && task.has_real_data() ? statistics_warning(*decay, *updates) : "";
}

std::optional<DescentCheck> descent_check(const Task& task, const config::Settings& settings,
                                          const schedule::RunPlan& plan) {
    if (!task.has_real_data()) return std::nullopt;
    return DescentCheck(peak_learning_rate(task, plan), settings.training.init_path.has_value());
}

template <typename Losses> DescentCheck::Mean DescentCheck::mean_of(const Losses& losses) {
    const auto count = static_cast<double>(losses.size());
    double sum = 0;
    for (const double loss : losses)
        sum += loss;
    const double mean = sum / count;
    double squares = 0;
    for (const double loss : losses)
        squares += (loss - mean) * (loss - mean);
    return {mean, std::sqrt(squares / (count - 1) / count)};
}

std::string DescentCheck::add(double loss, double learning_rate, bool last) {
    if (done_ || !std::isfinite(loss) || peak_rate_ <= 0) return "";
    ++updates_;
    full_updates_ += learning_rate / peak_rate_;
    if (first_.size() < kFirst) {
        first_.push_back(loss);
        return "";
    }
    recent_.push_back(loss);
    if (recent_.size() > kRecent) recent_.pop_front();
    if (recent_.size() < kRecent) return "";
    if (full_updates_ < (last ? kLeastFullUpdates : kFullUpdates)) return "";
    done_ = true;
    return judge(learning_rate);
}

std::string DescentCheck::judge(double learning_rate) const {
    const Mean before = mean_of(first_);
    const Mean now = mean_of(recent_);
    const double noise = kErrors * std::hypot(before.error, now.error);
    const bool rises = now.value > before.value + noise;
    const bool is_sign = from_weights_ ? rises && now.value > kRise * before.value : now.value > before.value - noise;
    if (!is_sign) return "";
    const std::string text =
        formatted("Warning: the training loss does not fall: %.4g in the first %zu updates, %.4g in ", before.value,
                  kFirst, now.value) +
        "the last " + std::to_string(kRecent) + " of " + std::to_string(updates_) +
        formatted(" (learning rate %.3g)", learning_rate);
    if (rises) return text + formatted("; try a lower one, such as %.3g, or a longer warm-up", peak_rate_ / 10);
    return text +
           formatted("; try others, such as %.3g or %.3g, and look at the labels", peak_rate_ / 10, peak_rate_ * 10);
}

}  // namespace cnntrain::train
