#include "tasks/bert/resolve.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "cnntrain/base/checked.h"
#include "cnntrain/graph/learning_rate.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/texts.h"

namespace cnntrain::tasks {
namespace {

Violation head_width(const OptionValues& values) {
    const std::int64_t hidden = values.integer("hidden_size");
    const std::int64_t heads = values.integer("num_attention_heads");
    if (hidden == nn::kHeadSize * heads) return {};
    return "--hidden-size " + std::to_string(hidden) + " and --num-attention-heads " + std::to_string(heads) +
           ": a head is " + std::to_string(nn::kHeadSize) + " wide, so " + std::to_string(heads) +
           (heads == 1 ? " head has" : " heads have") + " a --hidden-size of " + std::to_string(nn::kHeadSize * heads);
}

Violation warmup_length(const OptionValues& values) {
    const double warmup = values.number("warmup");
    if (warmup < 1 || warmup == std::floor(warmup)) return {};
    return "--warmup " + to_string(Value(warmup)) + ": expected a whole number of steps, or a share below 1";
}

Violation powers(const OptionValues& values) {
    const auto count = std::get<std::vector<double>>(values.at("lr_power").value).size();
    if (count == 1 || count == 2) return {};
    return "--lr-power takes one number, or one for the warm-up and one for the decay, got " + std::to_string(count);
}

/// Values by step must begin with the first step of the run.
Violation values_by_step(const OptionValues& values) {
    const bool custom = values.text("lr_schedule") == "custom";
    if (custom && !values.is_set("lr_schedule_by_step")) return "--lr-schedule custom needs --lr-schedule-by-step";
    for (const char* key : {"lr_schedule_by_step", "loss_scaling_by_step"}) {
        if (!values.is_set(key)) continue;
        const std::string flag(values.at(key).option->flag);
        const auto numbers = numbers_by_step(values.text(key), flag);
        if (numbers.begin()->first > 0) {
            return flag + " has no value for steps before " + std::to_string(numbers.begin()->first) +
                   "; begin with step 0";
        }
        const bool scales = std::string_view(key) == "loss_scaling_by_step";
        if (scales && std::ranges::any_of(numbers, [](const auto& entry) { return entry.second <= 0; }))
            return flag + ": a loss scaling must be above 0";
    }
    return {};
}

optim::GradientNorm gradient_norm(bool limits, bool divides) {
    using optim::GradientNorm;
    if (limits) return divides ? GradientNorm::limits_divides : GradientNorm::limited;
    return divides ? GradientNorm::divides : GradientNorm::ignored;
}

}  // namespace

void set_bert_optimiser(optim::OptimiserSettings& optimiser, const OptionValues& values) {
    const bool adamw = optimiser.rule == graph::UpdateRule::adamw;
    const bool debiases = values.flag("use_debiasing");
    optimiser.adam.corrects_bias = debiases && !adamw;
    optimiser.adam.corrects_step = debiases && adamw;
    optimiser.weight_decay_exclude = {"bias", "beta"};
    if (adamw) optimiser.weight_decay_exclude = {"GroupNorm", "Group_Norm", "LayerNorm", "Layer_Norm", "bias"};
    const bool lamb = optimiser.rule == graph::UpdateRule::lamb;
    optimiser.gradient_norm =
        gradient_norm(adamw || (lamb && values.flag("use_mpclip")), lamb && values.flag("use_nvlamb"));
    optimiser.gradient_norm_limit = static_cast<double>(bert_replicas(values));
    // --weight-decay-rate acts on adamw and lamb only.
    if (!adamw && !lamb) optimiser.weight_decay = 0;
    if (values.is_set("loss_scaling_by_step"))
        optimiser.loss_scaling_by_step = numbers_by_step(values.text("loss_scaling_by_step"), "--loss-scaling-by-step");
}

void set_bert_rate(optim::StepRateSettings& rate, const OptionValues& values) {
    if (values.is_set("lr_schedule_by_step"))
        rate.values = numbers_by_step(values.text("lr_schedule_by_step"), "--lr-schedule-by-step");
}

void set_bert_precision(Settings& settings, const OptionValues& values) {
    const bool on_ipu = settings.run.backend == backend::BackendKind::ipu;
    if (on_ipu && values.text("precision") == "16") settings.device.precision = nn::Precision::p16_16;
}

std::int64_t bert_replicas(const OptionValues& values) {
    return checked_product(values.integer("replicas"), values.launch().processes, "the number of replicas");
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
    topics.push_back({"Learning rate", options::to_string(arguments.at("lr_schedule").value) + ", base " +
                                           run::text(own.learning_rate.base) + ", warm-up " +
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
