#include "run/features/solved_head.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/run/weights.h"
#include "run/features/linear_head.h"
#include "run/ranks.h"
#include "run/resume.h"
#include "run/timing.h"

namespace cnntrain::run {

namespace {

std::string seconds_text(const Stopwatch& watch) {
    return formatted("%.1f s", watch.seconds());
}

std::string score_text(const HeadScore& score) {
    constexpr double kPercent = 100;
    return formatted("%.2f %% (loss %.4f)", kPercent * score.accuracy, score.loss);
}

std::vector<std::string> variable_names(const graph::Graph& graph) {
    std::vector<std::string> names;
    for (const graph::ValueId id : graph.variables())
        names.push_back(graph.value(id).name);
    return names;
}

std::int64_t classes_of_layer(const FeatureSource& source) {
    return source.graph().desc(*source.graph().find(source.last_layer().bias)).elements();
}

/// Rows to fit a head to, and rows of other samples to compare strengths on.
struct Rows {
    FeatureRows all;     // of training
    FeatureRows fitted;  // for choosing the strength; empty: all
    FeatureRows held_out;
    std::string held_out_name;
    std::int64_t held_out_samples = 0;
};

constexpr std::int32_t kParts = 5;  // one of them is held out where there is no validation split

Rows divided(const FeatureSet& set, std::size_t views, std::uint64_t seed, const metrics::Unit& unit) {
    Rows rows;
    rows.all = feature_rows(set.training, labelled_samples(set.training), views);
    if (set.validation) {
        rows.held_out = feature_rows(*set.validation, labelled_samples(*set.validation), 1);
        rows.held_out_name = "the validation split";
    }
    if (rows.held_out.count() > 0) return rows;
    const std::vector<std::int32_t> parts = stratified_parts(set.training.labels, kParts, seed);
    std::vector<std::int64_t> fitted, held_out;
    for (const std::int64_t sample : labelled_samples(set.training))
        (parts[static_cast<std::size_t>(sample)] == 0 ? held_out : fitted).push_back(sample);
    rows.fitted = feature_rows(set.training, fitted, views);
    rows.held_out = feature_rows(set.training, held_out, 1);
    rows.held_out_name = "a fifth of the training " + unit.many;
    return rows;
}

/// Error(data) unless a head can be solved.
void check_rows(const Rows& rows, const metrics::Unit& unit) {
    const std::vector<std::int32_t>& labels = rows.all.labels;
    const bool of_one_class = std::ranges::adjacent_find(labels, std::ranges::not_equal_to()) == labels.end();
    if (!of_one_class) return;
    throw Error(ErrorKind::data, "the last layer cannot be solved: expected training " + unit.many +
                                     " of at least two classes, found " +
                                     (labels.empty() ? "none that can be read" : "those of one class"));
}

struct Solved {
    LinearHead head;
    HeadScore training, held_out;
    double strength = 0;
    std::size_t tried = 0;
};

Solved solve(Rows rows, std::int64_t classes, const std::optional<double>& strength, FitSettings how) {
    const bool parts = rows.fitted.count() > 0;
    FeatureRows& fitted = parts ? rows.fitted : rows.all;
    const Standardisation of_fitted = standardisation_of(fitted);
    of_fitted.apply(fitted);
    of_fitted.apply(rows.held_out);
    Solved solved;
    std::optional<LinearHead> start;
    if (strength) {
        how.strength = *strength;
    } else {
        ChosenStrength chosen = choose_strength(fitted, rows.held_out, classes, how);
        how.strength = chosen.strength;
        solved.tried = chosen.tried.size();
        start = std::move(chosen.head);
    }
    Fit fit = fit_head(fitted, classes, how, start ? &*start : nullptr);
    solved.held_out = score(fit.head, rows.held_out, how.threads);
    solved.strength = how.strength;
    Standardisation of_all = of_fitted;
    if (parts) {
        of_all = standardisation_of(rows.all);
        of_all.apply(rows.all);
        fit = fit_head(rows.all, classes, how, &fit.head);
    }
    solved.training = score(fit.head, rows.all, how.threads);
    solved.head = for_plain_features(std::move(fit.head), of_all);
    return solved;
}

std::map<std::string, HostTensor> variables_of(const LinearHead& head, const FeatureSource& source) {
    const nn::LastLayer& layer = source.last_layer();
    const auto shape = [&](const std::string& name) { return source.graph().desc(*source.graph().find(name)).shape; };
    HostTensor weight({DType::f32, shape(layer.weight)});
    HostTensor bias({DType::f32, shape(layer.bias)});
    const std::int64_t row = layer.by_class ? head.width : 1;
    const std::int64_t column = layer.by_class ? 1 : head.classes;
    for (std::int64_t c = 0; c < head.classes; ++c) {
        for (std::int64_t k = 0; k < head.width; ++k)
            weight.set(c * row + k * column, head.weight[static_cast<std::size_t>(c * head.width + k)]);
        bias.set(c, head.bias[static_cast<std::size_t>(c)]);
    }
    std::map<std::string, HostTensor> variables;
    variables.emplace(layer.weight, std::move(weight));
    variables.emplace(layer.bias, std::move(bias));
    return variables;
}

}  // namespace

std::string feature_cache_path(const options::Settings& settings, const std::string& folder) {
    if (settings.head.cache) return *settings.head.cache;
    return settings.logging.no_logs ? "" : folder + "/" + kFeatureCacheName;
}

FeatureSet cached_features(const FeatureWork& work, const FeatureSource& source, const FeatureCache& cache,
                           const std::map<std::string, HostTensor>& weights, std::int64_t views) {
    const Stopwatch watch;
    const metrics::Unit& unit = work.task.columns().unit;
    comm::Communicator& all = *work.host.communicator;
    std::optional<FeatureSet> set;
    WantedFeatures wanted{{}, views, work.seed};
    if (is_first(work.host)) {
        wanted.facts = source.facts(weights);
        set = cache.read(wanted, work.observers);
    }
    const bool known = !broadcast_text(all, set ? "known" : "", "whether features are known").empty();
    if (known && !set) return {};  // rank 0 has them
    bool kept = known;
    if (!known) {
        set = source.compute(weights, views, work.observers);
        if (is_first(work.host)) kept = cache.write(wanted, *set);
    }
    const std::int64_t validation = set->validation ? set->validation->samples() : 0;
    const double rows = static_cast<double>(views * set->training.samples() + validation);
    std::string text = "Features of " + std::to_string(set->training.samples()) + " training";
    if (validation > 0) text += " and " + std::to_string(validation) + " validation";
    text += " " + unit.many + ", " + std::to_string(set->training.width()) + " each";
    if (views > 1) text += ", " + std::to_string(views) + " views";
    text += known ? ": read from " + cache.path() + " in " + seconds_text(watch)
                  : ": " + seconds_text(watch) + formatted(", %.1f %s/s", rows / watch.seconds(), unit.brief.c_str()) +
                        (kept ? ", kept in " + cache.path() : "");
    work.observers.line(text);
    return std::move(*set);
}

void solve_last_layer(const FeatureWork& work, backend::Executable& executable, const graph::Graph& graph,
                      const std::string& folder, bool with_validation) {
    const HeadSettings& settings = work.settings().head;
    const metrics::Unit& unit = work.task.columns().unit;
    const bool first = is_first(work.host);
    if (first && !work.settings().training.init_path) {
        log::warning("no " + init_flag(work.arguments) +
                     ": the network is untrained, so the last layer is solved for random features");
    }
    const FeatureCache cache(*work.host.files, first ? feature_cache_path(work.settings(), folder) : "",
                             "--feature-cache");
    const FeatureSource source(work.task, work.backend, work.settings(), work.seed, work.host, with_validation);
    const FeatureSet set =
        cached_features(work, source, cache, executable.store(variable_names(source.graph())), settings.views);
    if (!first) return;
    const Stopwatch watch;
    Rows rows = divided(set, static_cast<std::size_t>(settings.views), work.seed, unit);
    check_rows(rows, unit);
    const std::string held_out = rows.held_out_name;
    const Solved solved =
        solve(std::move(rows), classes_of_layer(source), settings.strength,
              {.threads = compute_threads(work.settings().run), .stop_requested = work.host.stop_requested});
    const std::string how =
        settings.strength ? "as given" : "the best of " + std::to_string(solved.tried) + " on held-out samples";
    work.observers.line("Last layer: solved in " + seconds_text(watch) + ", L2 strength " +
                        short_text(solved.strength) + " (" + how + ")");
    work.observers.line("Last layer: training accuracy " + score_text(solved.training) + ", held-out accuracy " +
                        score_text(solved.held_out) + " on " + held_out);
    load_with_masters(executable, graph, variables_of(solved.head, source));
}

}  // namespace cnntrain::run
