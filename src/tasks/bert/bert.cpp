// Option rows of tasks with a BERT model.
#include "tasks/bert/bert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/run/weights.h"

namespace cnntrain::tasks {
namespace {

/// The names of --hidden-act are those of the original program, whose gelu is the approximation by tanh.
struct HiddenActivation {
    std::string_view name;
    graph::Activation activation;
};
constexpr HiddenActivation kHiddenActivations[] = {{"linear", graph::Activation::none},
                                                   {"relu", graph::Activation::relu},
                                                   {"gelu", graph::Activation::gelu_tanh},
                                                   {"tanh", graph::Activation::tanh},
                                                   {"gelu_erf", graph::Activation::gelu}};

Binding hidden_activation() {
    return {[](const Settings& settings) {
                const graph::Activation activation = settings.task.as<BertTaskSettings>().model.head_activation;
                return Value(std::string(
                    std::ranges::find(kHiddenActivations, activation, &HiddenActivation::activation)->name));
            },
            [](Settings& settings, const Value& value) {
                const auto* const row =
                    std::ranges::find(kHiddenActivations, std::get<std::string>(value), &HiddenActivation::name);
                settings.task.as<BertTaskSettings>().model.head_activation = row->activation;
            },
            Type::choice};
}

std::vector<std::string_view> hidden_activation_names() {
    std::vector<std::string_view> all;
    for (const HiddenActivation& row : kHiddenActivations)
        all.push_back(row.name);
    return all;
}

std::vector<std::string_view> schedule_names() {
    std::vector<std::string_view> all = choices_of<optim::StepSchedule>();
    all.insert(all.end(), {kPolynomialName, kExponentialName});
    return all;
}

const std::vector<Need>& adam_family() {
    static const std::vector<Need> needs = {{"optimizer", {"lamb", "adamw", "mpadamw"}}};
    return needs;
}

const std::vector<Need>& lamb_only() {
    static const std::vector<Need> needs = {{"optimizer", {"lamb"}}};
    return needs;
}

/// One of the widths of GroupBERT's layers.
Option group_size(std::string_view flag, std::string_view help, Binding bind) {
    static const std::vector<Need> needs = {{"groupbert"}};
    return {.flag = flag, .help = help, .range = kBertWidth, .acts = {.needs = needs}, .bind = bind};
}

Binding rounding() {
    using backend::StochasticRounding;
    return {
        [](const Settings& settings) { return Value(settings.device.stochastic_rounding != StochasticRounding::off); },
        [](Settings& settings, const Value& value) {
            settings.device.stochastic_rounding =
                std::get<bool>(value) ? StochasticRounding::on : StochasticRounding::off;
        },
        Type::boolean};
}

}  // namespace

std::vector<Option> bert_size_options() {
    return numeric({
        {.flag = "--vocab-size",
         .help = "Rows of the table of words, V. Words beyond it have the zero vector and are not predicted.",
         .range = kBertWidth,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::vocabulary>())},
        {.flag = "--hidden-size",
         .help = "Width H of the model, a multiple of --num-attention-heads.",
         .range = kBertWidth,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::hidden>())},
        {.flag = "--num-hidden-layers",
         .help = "Encoder layers.",
         .range = between(1, 10000),
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::layers>())},
        {.flag = "--num-attention-heads",
         .help = "Attention heads of each layer.",
         .range = kBertWidth,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::heads>())},
        {.flag = "--intermediate-size",
         .help = "Width of the feed-forward part of each layer.",
         .range = kBertWidth,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::intermediate>())},
        {.flag = "--max-position-embeddings",
         .help = "Rows of the table of positions.",
         .range = kBertWidth,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::positions>()},
        {.flag = "--type-vocab-size",
         .help = "Rows of the table of segments.",
         .range = kBertWidth,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::segment_types>()},
    });
}

std::vector<Option> bert_layer_options() {
    std::vector<Option> rows = {
        {.flag = "--hidden-act",
         .type = Type::choice,
         .fallback = "gelu",
         .help = "Activation of --use-cls-layer. The encoder's activation is gelu_erf, as in Google's and Hugging "
                 "Face's checkpoints, if this is gelu_erf, otherwise gelu, its approximation by tanh.",
         .choices = hidden_activation_names(),
         .bind = hidden_activation()},
        {.flag = "--layer-norm-epsilon",
         .fallback = 1e-3,
         .help = "Added to the variances of all norms; 1e-12 in Google's and Hugging Face's checkpoints.",
         .range = between(0, 1),
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::norm_epsilon>()},
        {.flag = "--hidden-dropout-prob",
         .help = "Dropout rate of the embeddings and of the results of both parts of each layer.",
         .range = kDropped,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::hidden_dropout>()},
        {.flag = "--attention-probs-dropout-prob",
         .help = "Dropout rate of attention probabilities.",
         .range = kDropped,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::attention_dropout>()},
        {.flag = "--initializer-range",
         .help = "Standard deviation of the truncated normal initialiser.",
         .range = between(0, 1e6),
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::initializer_range>()},
        {.flag = "--use-qkv-bias",
         .help = "Biases of queries and values. A bias of keys would not change the softmax.",
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::qkv_bias>()},
        {.flag = "--use-qkv-split",
         .help = "Keep the weights of queries, keys and values as three variables. Results are the same.",
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::qkv_split>()},
        {.flag = "--use-attention-projection-bias",
         .type = Type::boolean_value,
         .help = "Bias of the projection after the attention.",
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::projection_bias>()},
        {.flag = "--matmul-serialize-factor",
         .help = "Slices of the products with the table of words that predict words, one after the other; must divide "
                 "--vocab-size.",
         .range = kBertWidth,
         .acts = {.on_backends = kIpu},
         .bind = to<&Settings::ipu, &backend::IpuSettings::matmul_serialize_factor>()},
        {.flag = "--groupbert",
         .help = "The encoder of GroupBERT, for files made without --remask: layers with a norm before each part, a "
                 "grouped convolution over the tokens, and two feed-forward parts with grouped projections.",
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::groupbert>()},
        group_size("--groupbert-ffn-output-groups",
                   "GroupBERT: groups of the feed-forward parts' projections; divides --hidden-size and "
                   "--intermediate-size.",
                   to<&BertTaskSettings::model, &nn::BertSettings::projection_groups>()),
        group_size("--groupbert-conv-kernel-size", "GroupBERT: tokens that the convolution reads for each one.",
                   to<&BertTaskSettings::model, &nn::BertSettings::convolution_kernel>()),
        group_size("--groupbert-conv-group-size",
                   "GroupBERT: channels per group of the convolution; divides --hidden-size.",
                   to<&BertTaskSettings::model, &nn::BertSettings::convolution_group>()),
    };
    for (Option& row : rows)
        row.numerics = row.acts.on_backends == kAll;  // all but the IPU's own
    return rows;
}

Option bert_length_option() {
    return {.flag = "--seq-length",
            .type = Type::integer,
            .fallback = std::int64_t{128},
            .help = "Length S of the sequences.",
            .unit = "tokens",
            .range = between(1, 65536),
            .numerics = true};
}

Option bert_classifier_dropout_option() {
    return {.flag = "--glue-dropout-prob",
            .type = Type::number,
            .fallback = 0.1,
            .help = "Dropout rate of the pooled output, before the layer of classes.",
            .range = kDropped,
            .acts = {.in = kT},
            .numerics = true};
}

std::vector<Option> bert_rate_options() {
    return numeric({
        // The rate itself; image classification has a flag of this name for the exponent of a power of 2.
        {.flag = "--base-learning-rate",
         .help = "Learning rate at the end of the warm-up.",
         .range = at_least(0),
         .main_in = kT,
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::base>()},
        changed(shared("--lr-schedule"),
                [](Option& row) {
                    row.fallback = "polynomial_decay";
                    row.help =
                        "Decay of the learning rate after the warm-up: polynomial_decay and cosine_decay fall to 1e-7 "
                        "at the end of the run, natural_exponential drops after every --decay-steps; custom has no "
                        "warm-up and takes its rates from --lr-schedule-by-step.";
                    row.choices = schedule_names();
                    row.bind = to<&BertTaskSettings::lr_schedule>();
                }),
        {.flag = "--lr-power",
         .help = "Exponent of the warm-up and of the decay, or one for each.",
         .range = between(0, 1000),
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::powers>()},
        {.flag = "--warmup",
         .help = "Steps in which the learning rate rises from 0; below 1: their share of the run.",
         .range = between(0, kMostIterations),
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::warmup>()},
        {.flag = "--lr-schedule-by-step",
         .help = "custom: first step and learning rate of each part of the run: {\"0\": 0.001, \"100\": 0.0001}.",
         .acts = {.needs = {{"lr_schedule", {"custom"}}}},
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::values>()},
        {.flag = "--decay-steps",
         .help = "natural_exponential: steps between drops of the learning rate.",
         .unit = "steps",
         .range = between(1, kMostIterations),
         .acts = {.needs = {{"lr_schedule", {"natural_exponential", "exponential"}}}},
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::decay_steps>()},
        {.flag = "--decay-rate",
         .help = "natural_exponential: r of the factor exp(-r) at each drop.",
         .range = between(0, 1e6),
         .acts = {.needs = {{"lr_schedule", {"natural_exponential", "exponential"}}}},
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::decay_rate>()},
    });
}

std::vector<Option> bert_optimiser_options() {
    return {
        changed(shared("--optimiser"),
                [](Option& row) {
                    row.flag = "--optimizer";
                    row.fallback = "momentum";
                    row.help =
                        "Optimiser. adamw (also mpadamw) limits the global norm of gradients to the number of "
                        "replicas. lamb's trust ratio is 1 for every gamma, beta and bias.";
                    row.choices = {"sgd", "momentum", "adamw", "lamb", "mpadamw", "adam", "custom"};
                    row.missing.choices = {"adam", "custom"};
                    row.bind = to<&BertTaskSettings::optimizer>();
                }),
        changed(shared("--momentum"),
                [](Option& row) {
                    row.fallback = 0.984375;
                    row.help = "momentum: momentum coefficient.";
                    row.acts.needs = {{"optimizer", {"momentum"}}};
                }),
        changed(shared("--beta1"),
                [](Option& row) {
                    row.help = "adamw, lamb: decay of the mean of gradients.";
                    row.acts.needs = adam_family();
                }),
        changed(shared("--beta2"),
                [](Option& row) {
                    row.help = "adamw, lamb: decay of the mean of squared gradients.";
                    row.acts.needs = adam_family();
                }),
        changed(shared("--adam-epsilon"),
                [](Option& row) {
                    row.flag = "--epsilon";
                    row.fallback = 1e-4;
                    row.help = "adamw, lamb: epsilon added to the root of the mean of squares.";
                    row.acts.needs = adam_family();
                }),
        changed(shared("--weight-decay"),
                [](Option& row) {
                    row.flag = "--weight-decay-rate";
                    row.fallback = 0.0;
                    row.help =
                        "adamw, lamb: weight decay of all weights except biases and the betas of norms; adamw also "
                        "excludes gammas, and so does lamb with --groupbert.";
                    row.acts.needs = adam_family();
                }),
    };
}

std::vector<Option> bert_optimiser_details() {
    return {
        {.flag = "--use-debiasing",
         .help = "adamw, lamb: correct the bias of means that start at 0.",
         .acts = {.needs = adam_family()},
         .numerics = true,
         .bind = to<&BertTaskSettings::debiases>()},
        {.flag = "--use-nvlamb",
         .help = "lamb: divide gradients by their global norm if it is above 1.",
         .acts = {.needs = lamb_only()},
         .numerics = true,
         .bind = to<&BertTaskSettings::divides_by_norm>()},
        {.flag = "--use-mpclip",
         .help = "lamb: first limit the global norm of gradients to the number of replicas.",
         .acts = {.needs = lamb_only()},
         .numerics = true,
         .bind = to<&BertTaskSettings::limits_norm>()},
    };
}

std::vector<Option> bert_numerics_options() {
    return {
        changed(shared("--precision"),
                [](Option& row) {
                    row.fallback = "16";
                    row.help =
                        "Bits of computation and of weights: 16 (the same as 16.32; with --backend ipu as 16.16) "
                        "computes in 16 bits (see --compute-type) and updates weights in 32 bits. 32 (32.32): "
                        "everything in 32 bits. 16.16: 16-bit weights, too, with --stochastic-rounding.";
                    row.choices = {"16", "32", "16.16", "16.32", "32.32"};
                    row.bind = to<&BertTaskSettings::precision>();
                }),
        changed(shared("--compute-type"),
                [](Option& row) {
                    row.help =
                        "Type of computation of --precision 16. auto: the fastest on this processor (bf16 with AMX and "
                        "on AMD processors with AVX512-BF16, otherwise f32).";
                    row.acts.needs = {{"precision", {"16", "16.16", "16.32"}}};
                }),
        changed(shared("--stochastic-rounding"),
                [](Option& row) {
                    row.type = Type::boolean_value;
                    row.fallback = true;
                    row.help = "Stochastic rounding of 16-bit weights.";
                    row.aliases = {};
                    row.choices = {};
                    row.acts.needs = {{"precision", {"16.16"}}};
                    row.bind = rounding();
                }),
    };
}

namespace {

// Adds the positions of tokens to sequences without them.

class NumberedTokens final : public data::Dataset {
public:
    explicit NumberedTokens(std::shared_ptr<const data::Dataset> dataset) : dataset_(std::move(dataset)) {
        const std::int64_t length = data::field_desc(dataset_->fields(), nn::kInputIds).elements();
        for (std::int64_t i = 0; i < length; ++i)
            numbers_.push_back(static_cast<std::int32_t>(i));
    }

    std::int64_t size() const override { return dataset_->size(); }
    std::vector<data::Field> fields() const override {
        std::vector<data::Field> fields = dataset_->fields();
        fields.push_back({std::string(nn::kInputPosition), {DType::i32, {static_cast<std::int64_t>(numbers_.size())}}});
        return fields;
    }
    data::SampleState read(std::int64_t index, data::SamplePosition position, data::SampleView out,
                           data::Workspace& workspace) const override {
        number(out);
        return dataset_->read(index, position, out.first(out.size() - 1), workspace);
    }
    void will_need(std::int64_t index) const noexcept override { dataset_->will_need(index); }
    data::SamplePlace place(std::int64_t index) const override { return dataset_->place(index); }
    data::Origin origin() const override { return dataset_->origin(); }
    data::DatasetState state() const override { return dataset_->state(); }

private:
    void number(data::SampleView out) const {
        std::memcpy(out.back().data(), numbers_.data(), numbers_.size() * sizeof(std::int32_t));
    }

    std::shared_ptr<const data::Dataset> dataset_;
    std::vector<std::int32_t> numbers_;
};

/// The data set itself if it has the field nn::kInputPosition. Otherwise the same data set with that field after the
/// others: 0, 1, 2, ... in every sequence.
std::shared_ptr<const data::Dataset> with_numbered_tokens(std::shared_ptr<const data::Dataset> dataset) {
    if (data::has_field(dataset->fields(), nn::kInputPosition)) return dataset;
    return std::make_shared<NumberedTokens>(std::move(dataset));
}

}  // namespace

std::unique_ptr<run::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                           std::uint64_t seed) {
    return run::dataset_samples(with_numbered_tokens(std::move(dataset)), split, seed);
}

namespace {

Violation head_width(const Resolution& run) {
    const std::int64_t hidden = bert_settings(run.settings()).model.hidden;
    const std::int64_t heads = bert_settings(run.settings()).model.heads;
    if (hidden % heads == 0) return {};
    return "--hidden-size " + std::to_string(hidden) + " is no multiple of --num-attention-heads " +
           std::to_string(heads) + ", so that heads cannot have equal widths";
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
    if (own.model.groupbert) optimiser.weight_decay_exclude.emplace_back("gamma");
    if (adamw) optimiser.weight_decay_exclude = {"GroupNorm", "Group_Norm", "LayerNorm", "Layer_Norm", "bias"};
    optimiser.gradient_norm = gradient_norm(adamw || (lamb && own.limits_norm), lamb && own.divides_by_norm);
    optimiser.gradient_norm_limit = static_cast<double>(bert_replicas(settings));
    // --weight-decay-rate acts on adamw and lamb only.
    if (!adamw && !lamb) optimiser.weight_decay = 0;
}

std::int64_t bert_replicas(const Settings& settings) {
    return checked_product(settings.training.replicas, settings.training.processes, "the number of replicas");
}

void note_group_bert(Resolution& run) {
    if (!bert_settings(run.settings()).model.groupbert) return;
    run.notices.emplace_back("************* Using GroupBERT model architecture *************");
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
    return (model.groupbert ? "groupbert" : "bert") + std::to_string(model.layers) + "x" + std::to_string(model.hidden);
}

std::string bert_title(const nn::BertSettings& model) {
    return (model.groupbert ? "GroupBERT of " : "BERT of ") + std::to_string(model.layers) +
           (model.layers == 1 ? " layer" : " layers");
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
