#include "tasks/bert/resolve.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/text_reports.h"

namespace cnntrain::tasks {
namespace {

Violation head_width(const Resolution& run) {
    const std::int64_t hidden = bert_settings(run.settings()).model.hidden;
    const std::int64_t heads = bert_settings(run.settings()).model.heads;
    if (hidden == nn::kHeadSize * heads) return {};
    return "--hidden-size " + std::to_string(hidden) + " and --num-attention-heads " + std::to_string(heads) +
           ": a head is " + std::to_string(nn::kHeadSize) + " wide, so " + std::to_string(heads) +
           (heads == 1 ? " head has" : " heads have") + " a --hidden-size of " + std::to_string(nn::kHeadSize * heads);
}

Violation warmup_length(const Resolution& run) {
    const double warmup = bert_settings(run.settings()).learning_rate.warmup;
    if (warmup < 1 || warmup == std::floor(warmup)) return {};
    return "--warmup " + to_string(Value(warmup)) + ": expected a whole number of steps, or a share below 1";
}

Violation powers(const Resolution& run) {
    const std::size_t count = bert_settings(run.settings()).learning_rate.powers.size();
    if (count == 1 || count == 2) return {};
    return "--lr-power takes one number, or one for the warm-up and one for the decay, got " + std::to_string(count);
}

/// Values by step must begin with the first step of the run.
Violation begins_late(const std::string& flag, const std::map<std::int64_t, double>& numbers) {
    if (numbers.empty() || numbers.begin()->first == 0) return {};
    return flag + " has no value for steps before " + std::to_string(numbers.begin()->first) + "; begin with step 0";
}

Violation values_by_step(const Resolution& run) {
    const optim::StepRateSettings& rate = bert_settings(run.settings()).learning_rate;
    const std::map<std::int64_t, double>& scaling = run.settings().optimiser.loss_scaling_by_step;
    if (bert_settings(run.settings()).lr_schedule == spelling(optim::StepSchedule::custom) && rate.values.empty())
        return "--lr-schedule custom needs --lr-schedule-by-step";
    if (Violation late = begins_late("--lr-schedule-by-step", rate.values); !late.empty()) return late;
    if (Violation late = begins_late("--loss-scaling-by-step", scaling); !late.empty()) return late;
    const bool positive = std::ranges::all_of(scaling, [](const auto& entry) { return entry.second > 0; });
    return positive ? "" : "--loss-scaling-by-step: a loss scaling must be above 0";
}

graph::UpdateRule rule_of(std::string_view optimizer) {
    if (optimizer == "momentum") return graph::UpdateRule::momentum;
    if (optimizer == "adamw" || optimizer == "mpadamw") return graph::UpdateRule::adamw;
    return optimizer == "lamb" ? graph::UpdateRule::lamb : graph::UpdateRule::sgd;
}

optim::StepSchedule schedule_of(std::string_view name) {
    if (name == kPolynomialName) return optim::StepSchedule::polynomial;
    if (name == kExponentialName) return optim::StepSchedule::natural_exponential;
    return *named<optim::StepSchedule>(name);
}

nn::Precision precision_of(std::string_view name, backend::BackendKind backend) {
    if (name == "16") return backend == backend::BackendKind::ipu ? nn::Precision::p16_16 : nn::Precision::p16_32;
    return name == "32" ? nn::Precision::p32_32 : *named<nn::Precision>(name);
}

optim::GradientNorm gradient_norm(bool limits, bool divides) {
    using optim::GradientNorm;
    if (limits) return divides ? GradientNorm::limits_divides : GradientNorm::limited;
    return divides ? GradientNorm::divides : GradientNorm::ignored;
}

}  // namespace

void settle_bert(Settings& settings) {
    BertTaskSettings& own = settings.task.as<BertTaskSettings>();
    own.learning_rate.schedule = schedule_of(own.lr_schedule);
    settings.device.precision = precision_of(own.precision, settings.run.backend);
    optim::OptimiserSettings& optimiser = settings.optimiser;
    optimiser.rule = rule_of(own.optimizer);
    const bool adamw = optimiser.rule == graph::UpdateRule::adamw;
    const bool lamb = optimiser.rule == graph::UpdateRule::lamb;
    optimiser.adam.corrects_bias = own.debiases && !adamw;
    optimiser.adam.corrects_step = own.debiases && adamw;
    optimiser.weight_decay_exclude = {"bias", "beta"};
    if (adamw) optimiser.weight_decay_exclude = {"GroupNorm", "Group_Norm", "LayerNorm", "Layer_Norm", "bias"};
    optimiser.gradient_norm = gradient_norm(adamw || (lamb && own.limits_norm), lamb && own.divides_by_norm);
    optimiser.gradient_norm_limit = static_cast<double>(bert_replicas(settings));
    // --weight-decay-rate acts on adamw and lamb only.
    if (!adamw && !lamb) optimiser.weight_decay = 0;
}

std::int64_t bert_replicas(const Settings& settings) {
    return checked_product(settings.training.replicas, settings.training.processes, "the number of replicas");
}

std::int64_t bert_words_in_files(std::int64_t table_rows) {
    constexpr std::int64_t kPublished = 30522;
    constexpr std::int64_t kShortened = 30400;
    return table_rows == kShortened ? kPublished : table_rows;
}

const std::vector<Rule>& bert_model_rules() {
    static const std::vector<Rule> rules = {{kAll, head_width}};
    return rules;
}

const std::vector<Rule>& bert_rate_rules() {
    static const std::vector<Rule> rules = {{kAll, warmup_length}, {kAll, powers}, {kAll, values_by_step}};
    return rules;
}

std::string bert_line(const metrics::InferenceRow& row) {
    return formatted("throughput: %6.2f samples/sec [%s], latency avg: %8.4f ms", row.samples_per_second,
                     row.name.c_str(), row.latencies.mean);
}

std::string bert_name(const nn::BertSettings& model) {
    return "bert" + std::to_string(model.layers) + "x" + std::to_string(model.hidden);
}

std::string bert_title(const nn::BertSettings& model) {
    return "BERT of " + std::to_string(model.layers) + (model.layers == 1 ? " layer" : " layers");
}

std::string bert_sizes(const nn::BertSettings& model) {
    std::ostringstream text;
    text << " " << model.layers << " layers, " << model.hidden << " wide, " << model.heads
         << " attention heads, vocabulary of " << model.vocabulary;
    return text.str();
}

std::map<std::string, std::string> bert_work(const nn::BertSettings& model, std::int64_t sequence_length) {
    return {{"sequence length", std::to_string(sequence_length)},
            {"dropout", run::text(model.hidden_dropout) + " and " + run::text(model.attention_dropout)}};
}

std::function<double(std::int64_t)> bert_learning_rate(const BertTaskSettings& settings,
                                                       const schedule::RunPlan& plan) {
    const optim::StepRate rate(settings.learning_rate, plan.iterations);
    return [rate](std::int64_t step) { return rate.at(step); };
}

std::vector<run::Topic> bert_rate_topics(const options::ParseResult& arguments, const schedule::RunPlan& plan) {
    const BertTaskSettings& own = arguments.settings.task.as<BertTaskSettings>();
    std::vector<run::Topic> topics = {{"Optimiser", run::optimiser_text(arguments.settings.optimiser)}};
    if (plan.iterations == 0) return topics;
    const auto rate = bert_learning_rate(own, plan);
    topics.push_back({"Learning rate", own.lr_schedule + ", base " + run::text(own.learning_rate.base) + ", warm-up " +
                                           run::text(own.learning_rate.warmup)});
    std::string values;
    std::int64_t last = -1;
    for (const int quarter : {0, 1, 2, 3, 4}) {
        const std::int64_t at = std::min(plan.iterations - 1, plan.iterations * quarter / 4);
        const std::int64_t step = plan.host_step(at).lr_iteration;
        if (std::exchange(last, step) == step) continue;  // a run of few steps
        values += (values.empty() ? "" : ", ") + run::short_text(rate(step)) + " at " + std::to_string(step);
    }
    topics.push_back({"Rates", values});
    return topics;
}

}  // namespace cnntrain::tasks
