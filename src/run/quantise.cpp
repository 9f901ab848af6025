// `cnntrain quantise`: chooses what a network computes in 8 bits, by measurements on training samples, and judges the
// result by validation samples.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/reports/sweep.h"

namespace cnntrain::run {
namespace {

using graph::EightBitPlan;
using graph::EightBits;
using nlohmann::json;

constexpr const char* kEightBitsKey = "eight_bits";  // of a checkpoint: a JSON object
constexpr double kNumbers = 255;                     // steps between the numbers of 8 bits

/// The values of one tensor over all samples: their extremes, then their histogram between these.
struct Spread {
    static constexpr std::size_t kBins = 2048;
    double low = 0;  // 0 is always inside: padding, and what an activation cuts off
    double high = 0;
    std::vector<std::uint64_t> bins = {};

    double width() const { return (high - low) / static_cast<double>(kBins); }
    double centre(std::size_t bin) const { return low + (static_cast<double>(bin) + 0.5) * width(); }

    void widen(std::span<const float> values) {
        const auto [least, most] = std::ranges::minmax(values);
        low = std::min<double>(low, least);
        high = std::max<double>(high, most);
    }
    void count(std::span<const float> values) {
        bins.resize(kBins);
        const double factor = high > low ? 1 / width() : 0;
        for (const float value : values)
            ++bins[std::min(static_cast<std::size_t>((value - low) * factor), kBins - 1)];
    }
};

/// The limits of the values that get different numbers.
struct Limits {
    double low = 0;
    double high = 0;

    EightBits bits() const {
        const double range = high - low;
        if (!(range > 0)) return {};
        return {range / kNumbers,
                static_cast<std::int64_t>(std::clamp(std::round(-low / range * kNumbers), 0.0, kNumbers))};
    }
};

Limits extremes(const Spread& spread) {
    return {spread.low, spread.high};
}

/// Leaves out a ten-thousandth of the values at each end that is not 0.
Limits percentiles(const Spread& spread) {
    constexpr double kShare = 1e-4;
    double all = 0;
    for (const std::uint64_t count : spread.bins)
        all += static_cast<double>(count);
    std::size_t first = 0;
    std::size_t last = spread.bins.size() - 1;
    for (double left = all * kShare; first < last && left >= static_cast<double>(spread.bins[first]); ++first)
        left -= static_cast<double>(spread.bins[first]);
    for (double left = all * kShare; last > first && left >= static_cast<double>(spread.bins[last]); --last)
        left -= static_cast<double>(spread.bins[last]);
    return {spread.low < 0 ? std::min(0.0, spread.centre(first)) : 0, std::max(0.0, spread.centre(last))};
}

/// The sum of the squared differences between values and their numbers: within the limits that of a rounding, outside
/// of them the distance.
double squared_error(const Spread& spread, const Limits& limits) {
    const double step = (limits.high - limits.low) / kNumbers;
    double sum = 0;
    for (std::size_t bin = 0; bin < spread.bins.size(); ++bin) {
        const double value = spread.centre(bin);
        const double outside = value - std::clamp(value, limits.low, limits.high);
        sum += static_cast<double>(spread.bins[bin]) * (outside * outside + step * step / 12);
    }
    return sum;
}

Limits least_squares(const Spread& spread) {
    constexpr int kTries = 40;
    Limits best = extremes(spread);
    double least = squared_error(spread, best);
    for (int i = 1; i < kTries; ++i) {
        const double share = 1 - static_cast<double>(i) / kTries;
        const Limits limits{spread.low * share, spread.high * share};
        const double error = squared_error(spread, limits);
        if (error < least) {
            least = error;
            best = limits;
        }
    }
    return best;
}

struct Method {
    const char* name;
    Limits (*limits)(const Spread&);
};
constexpr Method kMethods[] = {
    {"extremes", extremes}, {"percentiles", percentiles}, {"least squared error", least_squares}};

std::vector<double> probabilities(std::span<const float> logits) {
    const double most = *std::ranges::max_element(logits);
    std::vector<double> result;
    double sum = 0;
    for (const float logit : logits) {
        result.push_back(std::exp(logit - most));
        sum += result.back();
    }
    for (double& probability : result)
        probability /= sum;
    return result;
}

/// Divergence (Kullback and Leibler 1951) of the second logits' probabilities from those of the first ones.
double divergence(std::span<const float> wide, std::span<const float> narrow) {
    const std::vector<double> p = probabilities(wide);
    const std::vector<double> q = probabilities(narrow);
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (p[i] > 0) sum += p[i] * std::log(p[i] / std::max(q[i], 1e-30));
    }
    return sum;
}

/// Mean squared difference of scores, in the variance of the first ones.
double divergence_of_scores(std::span<const float> wide, std::span<const float> narrow) {
    const double mean = std::accumulate(wide.begin(), wide.end(), 0.0) / static_cast<double>(wide.size());
    double differences = 0;
    double variance = 0;
    for (std::size_t i = 0; i < wide.size(); ++i) {
        differences += std::pow(wide[i] - narrow[i], 2);
        variance += std::pow(wide[i] - mean, 2);
    }
    return differences / std::max(variance, 1e-30);
}

/// The mean over the rows.
double divergence(AnswerForm form, const RowOutputs& wide, const RowOutputs& narrow) {
    if (form == AnswerForm::score) return divergence_of_scores(wide.values, narrow.values);
    const auto width = static_cast<std::size_t>(wide.width);
    const auto rows = static_cast<std::int64_t>(wide.values.size() / width);
    double sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::span<const float> one = wide.of(row);
        const std::span<const float> other = narrow.of(row);
        if (form == AnswerForm::labels) {
            for (std::size_t i = 0; i < width; ++i)
                sum += divergence(std::array{0.0F, one[i]}, std::array{0.0F, other[i]});
            continue;
        }
        const std::size_t part = form == AnswerForm::positions ? width / 2 : width;
        for (std::size_t i = 0; i < width; i += part)
            sum += divergence(one.subspan(i, part), other.subspan(i, part));
    }
    return sum / static_cast<double>(std::max<std::int64_t>(rows, 1));
}

class Quantiser {
public:
    Quantiser(const EvaluationWork& work, const QuantiseSettings& how)
        : work_(work),
          how_(how),
          training_(work.task.solvable() != nullptr
                        ? work.task.solvable()->in_order(data::Split::train, /*augmented=*/false)
                        : work.task.open(data::Split::train)) {}

    EightBitPlan plan() {
        const Sweep sweep(*training_, work_, how_.samples);
        const graph::Graph wide = graph_for(sweep);
        layers_ = graph::eight_bit_layers(wide);
        if (layers_.empty()) {
            throw Error(ErrorKind::unsupported,
                        "this network has no layer that can be computed in 8 bits: they are the dense layers of BERT's "
                        "encoder, and convolutions that batch norms follow or that have a bias");
        }
        const RowOutputs answers = ask(sweep, wide);
        const auto [plan, found] = ranged(sweep, wide, answers);
        return found > kMostDivergence ? with_wide(plan, found) : plan;
    }

    /// Throws Error(unsupported) if the network in 8 bits is worse by more than is wanted.
    void judge(const EightBitPlan& plan) {
        const std::unique_ptr<Samples> samples = work_.task.open(data::Split::validation);
        const metrics::ValidationRow before = validated(*samples, nullptr);
        const metrics::ValidationRow after = validated(*samples, &plan);
        // Columns of these forms are shares.
        const bool is_share = form_ == AnswerForm::labels || form_ == AnswerForm::score;
        const double unit = is_share ? 100 : 1;
        const double was = unit * work_.task.metric(Metric::accuracy, before).value_or(0);
        const double is = unit * work_.task.metric(Metric::accuracy, after).value_or(0);
        const double most = std::max(how_.most_loss, 100 * kFewestSamples / static_cast<double>(before.val_size));
        const auto& columns = work_.task.columns().validation;
        const std::string& column = work_.task.traits().metrics.at(Metric::accuracy).front();
        const std::string& name = std::ranges::find(columns, column, &metrics::Column::name)->label;
        const std::string text = "in 8 bits, " + name + formatted(" is %.2f %% on ", is) +
                                 std::to_string(before.val_size) + " validation " + work_.task.columns().unit.many +
                                 formatted(", %.2f %% before", was);
        // Not a number, the correlation of equal scores, is worse than any.
        if (!(was - is <= most)) {
            throw Error(ErrorKind::unsupported,
                        text + formatted(": more than %.2f points worse; ", most) +
                            "nothing is written; --most-loss accepts more, --samples measures more samples");
        }
        work_.observers.on(metrics::Result{"I" + text.substr(1)});
    }

    std::size_t layers() const { return layers_.size(); }

private:
    static constexpr double kMostDivergence = 0.02;
    static constexpr double kFewestSamples = 2;  // by which accuracies differ by chance

    metrics::ValidationRow validated(const Samples& samples, const EightBitPlan* plan) {
        Evaluator evaluator(work_.task, work_.backend, samples, work_.settings(), work_.seed, work_.host, plan);
        evaluator.load(checkpoint_weights(*work_.host.files, how_.checkpoint, work_.settings()), how_.checkpoint);
        const std::optional<metrics::ValidationRow> row = evaluator.run({}, work_.observers);
        if (!row) throw Interrupted();
        if (evaluator.not_finite()) fail_not_finite("validation of " + how_.checkpoint, *evaluator.not_finite());
        return *row;
    }

    graph::Graph graph_for(const Sweep& sweep) const {
        return graph::with_folded_norms(work_.task.graph(GraphUse::classes, sweep.fields()));
    }

    void run(const Sweep& sweep, const graph::Graph& graph,
             const std::function<bool(const BatchCopy&, const backend::Executable&)>& add) {
        sweep.run(graph, how_.checkpoint, kLogits, add);
    }

    /// The plan with all layers in 8 bits, and its divergence from these answers. Only convolutions have ranges.
    std::pair<EightBitPlan, double> ranged(const Sweep& sweep, const graph::Graph& wide, const RowOutputs& answers) {
        const std::map<std::string, Spread> spreads = measure(sweep, wide);
        if (spreads.empty()) {
            const double found = divergence(form_, answers, ask(sweep, graph::in_eight_bits(wide, {})));
            work_.observers.line(formatted("All layers in 8 bits: divergence %.4g", found));
            return {{}, found};
        }
        EightBitPlan best;
        double least = std::numeric_limits<double>::infinity();
        std::string chosen;
        for (const Method& method : kMethods) {
            EightBitPlan plan;
            for (const auto& [name, spread] : spreads)
                plan.bits[name] = method.limits(spread).bits();
            const double found = divergence(form_, answers, ask(sweep, graph::in_eight_bits(wide, plan)));
            work_.observers.line(std::string("Ranges by ") + method.name + formatted(": divergence %.4g", found));
            if (found >= least) continue;
            least = found;
            best = std::move(plan);
            chosen = method.name;
        }
        work_.observers.line("Ranges by " + chosen + " are taken");
        return {best, least};
    }

    /// The values of convolutions, over the samples.
    std::map<std::string, Spread> measure(const Sweep& sweep, graph::Graph graph) {
        std::vector<std::string> names;
        for (const graph::ValueId value : graph::eight_bit_values(graph)) {
            names.push_back(graph.value(value).name);
            graph.mark_output("range/" + names.back(), value);
        }
        if (names.empty()) return {};
        std::map<std::string, Spread> spreads;
        const auto each = [&](void (Spread::*take)(std::span<const float>)) {
            run(sweep, graph, [&](const BatchCopy&, const backend::Executable& outputs) {
                for (const std::string& name : names) {
                    const HostTensor values = outputs.output("range/" + name).cast(DType::f32);
                    (spreads[name].*take)(values.as<float>());
                }
                return true;
            });
        };
        each(&Spread::widen);
        each(&Spread::count);
        return spreads;
    }

    RowOutputs ask(const Sweep& sweep, const graph::Graph& graph) {
        RowOutputs answers;
        run(sweep, graph, [&](const BatchCopy& batch, const backend::Executable& outputs) {
            append_logits(outputs, sweep.in_batch(), answers);
            const std::int64_t rows = sweep.samples().count() - batch.first_sample();  // others are padding
            if (rows < sweep.in_batch())
                answers.values.resize(answers.values.size() -
                                      static_cast<std::size_t>((sweep.in_batch() - rows) * answers.width));
            return true;
        });
        return answers;
    }

    /// Leaves the layers that change the answers most in their floating type, as few as suffice: 1, 2, 4 ...
    EightBitPlan with_wide(EightBitPlan plan, double all) {
        constexpr std::int64_t kFew = 64;  // samples, on which each layer alone is tried
        const Sweep sweep(*training_, work_, kFew);
        const graph::Graph wide = graph_for(sweep);
        const RowOutputs answers = ask(sweep, wide);
        work_.observers.line("Measuring what each of " + std::to_string(layers_.size()) + " layers changes");
        std::vector<std::pair<double, std::string>> costs;
        for (const std::string& name : layers_) {
            EightBitPlan alone = plan;
            alone.wide.insert(layers_.begin(), layers_.end());
            alone.wide.erase(name);
            costs.emplace_back(divergence(form_, answers, ask(sweep, graph::in_eight_bits(wide, alone))), name);
        }
        std::ranges::sort(costs, std::greater<>());
        const Sweep whole(*training_, work_, how_.samples);
        const graph::Graph whole_wide = graph_for(whole);
        const RowOutputs whole_answers = ask(whole, whole_wide);
        double found = all;
        for (std::size_t count = 1; found > kMostDivergence && count < costs.size(); count *= 2) {
            for (std::size_t i = 0; i < count; ++i)
                plan.wide.insert(costs[i].second);
            found = divergence(form_, whole_answers, ask(whole, graph::in_eight_bits(whole_wide, plan)));
            work_.observers.line(counted(static_cast<std::int64_t>(plan.wide.size()), "layer") + " of " +
                                 std::to_string(costs.size()) + " in more bits" +
                                 formatted(": divergence %.4g", found));
        }
        return plan;
    }

    EvaluationWork work_;
    const QuantiseSettings& how_;
    AnswerForm form_ = work_.task.traits().answers;
    std::unique_ptr<Samples> training_;
    std::vector<std::string> layers_;
};

std::string text_of(const EightBitPlan& plan) {
    json bits = json::object();
    for (const auto& [name, own] : plan.bits)
        bits[name] = {own.scale, own.zero};
    return json{{"bits", std::move(bits)}, {"wide", plan.wide}}.dump();
}

}  // namespace

std::optional<EightBitPlan> eight_bit_plan(const FileSystem& files, const std::string& restore_path) {
    std::string checkpoint;
    try {
        checkpoint = weights::best_or_latest(files, "--restore-path", restore_path).path;
    } catch (const Error&) {
        return std::nullopt;  // whoever reads the weights reports it
    }
    const std::map<std::string, std::string> metadata = weights::metadata_of(files, checkpoint);
    const auto found = metadata.find(kEightBitsKey);
    if (found == metadata.end()) return std::nullopt;
    try {
        const json document = json::parse(found->second);
        EightBitPlan plan;
        for (const auto& [name, bits] : document.at("bits").items())
            plan.bits[name] = {bits.at(0).get<double>(), bits.at(1).get<std::int64_t>()};
        plan.wide = document.at("wide").get<std::set<std::string>>();
        return plan;
    } catch (const json::exception&) {
        throw Error(ErrorKind::data,
                    checkpoint + ": its description of 8 bits is damaged; make it again with quantise");
    }
}

graph::Graph EvaluationGraphs::as_checkpoint_computes(graph::Graph wide) const {
    if (!plan_) {
        const bool evaluates = settings_.main.restore_path && !settings_.main.trains;
        plan_ = evaluates ? eight_bit_plan(posix_files(), *settings_.main.restore_path) : std::nullopt;
        if (*plan_ && !backend_.info().multiplies_bytes) {
            log::warning(
                "this processor has no products of 8 bits (VNNI): the network is computed in 16 or 32 bits, which is "
                "faster here, and its answers are those of the checkpoint that was quantised");
            plan_->reset();
        }
        if (*plan_) {
            const std::size_t kept = (*plan_)->wide.size();
            log::info("layers are computed in 8 bits" + (kept == 0 ? "" : ", but for " + std::to_string(kept)));
        }
    }
    return *plan_ ? graph::in_eight_bits(wide, **plan_) : std::move(wide);
}

void quantise(const TaskRow& row, const options::ParseResult& arguments, const QuantiseSettings& how, const Host& host,
              metrics::Observers& observers) {
    if (eight_bit_plan(*host.files, how.checkpoint)) {
        throw Error(ErrorKind::usage,
                    how.checkpoint + " computes in 8 bits already; give the checkpoint that it was made from");
    }
    const auto backend = make_backend(arguments.settings.run.backend);
    const auto seed = static_cast<std::uint64_t>(arguments.settings.device.seed.value_or(0));
    const std::unique_ptr<Task> task = row.make(arguments, *backend, seed);
    if (task->classifier() == nullptr && task->scorer() == nullptr) {
        throw Error(ErrorKind::unsupported,
                    "quantise compares answers about samples, which a network that predicts words does not give");
    }
    if (!backend->info().multiplies_bytes) {
        log::info(
            "this processor has no products of 8 bits (VNNI): floats hold the numbers, which takes longer; sums may "
            "differ by rounding from those of processors that have them");
    }
    Quantiser quantiser({*task, *backend, arguments, seed, host, observers}, how);
    const EightBitPlan plan = quantiser.plan();
    quantiser.judge(plan);
    weights::Checkpoint checkpoint =
        weights::load(*host.files, how.checkpoint, weights::edited_if(arguments.settings.checkpoint.trust_edited));
    checkpoint.metadata[kEightBitsKey] = text_of(plan);
    weights::save(*host.files, how.output, checkpoint);
    observers.line("Saved " + how.output + ": " + std::to_string(quantiser.layers() - plan.wide.size()) + " of " +
                   counted(static_cast<std::int64_t>(quantiser.layers()), "layer") + " in 8 bits");
}

}  // namespace cnntrain::run
