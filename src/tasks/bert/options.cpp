// Option rows of tasks with a BERT model.
#include "tasks/bert/options.h"

#include <algorithm>

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
    return {
        {.flag = "--vocab-size",
         .help = "Rows of the table of words, V. Words beyond it have the zero vector and are not predicted.",
         .range = kBertWidth,
         .numerics = true,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::vocabulary>())},
        {.flag = "--hidden-size",
         .help = "Width H of the model: 64 times --num-attention-heads.",
         .range = kBertWidth,
         .numerics = true,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::hidden>())},
        {.flag = "--num-hidden-layers",
         .help = "Encoder layers.",
         .range = between(1, 10000),
         .numerics = true,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::layers>())},
        {.flag = "--num-attention-heads",
         .help = "Attention heads of each layer.",
         .range = kBertWidth,
         .numerics = true,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::heads>())},
        {.flag = "--intermediate-size",
         .help = "Width of the feed-forward part of each layer.",
         .range = kBertWidth,
         .numerics = true,
         .bind = left_open(to<&BertTaskSettings::model, &nn::BertSettings::intermediate>())},
        {.flag = "--max-position-embeddings",
         .help = "Rows of the table of positions.",
         .range = kBertWidth,
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::positions>()},
        {.flag = "--type-vocab-size",
         .help = "Rows of the table of segments.",
         .range = kBertWidth,
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::segment_types>()},
    };
}

std::vector<Option> bert_layer_options() {
    return {
        {.flag = "--hidden-act",
         .type = Type::choice,
         .fallback = "gelu",
         .help = "Activation of --use-cls-layer. The encoder's activation is gelu_erf, as in Google's and Hugging "
                 "Face's checkpoints, if this is gelu_erf, otherwise gelu, its approximation by tanh.",
         .choices = hidden_activation_names(),
         .numerics = true,
         .bind = hidden_activation()},
        {.flag = "--layer-norm-epsilon",
         .fallback = 1e-3,
         .help = "Added to the variances of all norms; 1e-12 in Google's and Hugging Face's checkpoints.",
         .range = between(0, 1),
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::norm_epsilon>()},
        {.flag = "--hidden-dropout-prob",
         .help = "Dropout rate of the embeddings and of the results of both parts of each layer.",
         .range = kDropped,
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::hidden_dropout>()},
        {.flag = "--attention-probs-dropout-prob",
         .help = "Dropout rate of attention probabilities.",
         .range = kDropped,
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::attention_dropout>()},
        {.flag = "--initializer-range",
         .help = "Standard deviation of the truncated normal initialiser.",
         .range = between(0, 1e6),
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::initializer_range>()},
        {.flag = "--use-qkv-bias",
         .help = "Biases of queries and values, with --use-qkv-split. A bias of keys would not change the softmax.",
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::qkv_bias>()},
        {.flag = "--use-qkv-split",
         .help = "Keep the weights of queries, keys and values as three variables. Results are the same.",
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::qkv_split>()},
        {.flag = "--use-attention-projection-bias",
         .type = Type::boolean_value,
         .help = "Bias of the projection after the attention.",
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::projection_bias>()},
        {.flag = "--matmul-serialize-factor",
         .help = "Slices of the products with the table of words that predict words, one after the other; must divide "
                 "--vocab-size.",
         .range = kBertWidth,
         .acts = {.on_backends = kIpu},
         .bind = to<&Settings::ipu, &backend::IpuSettings::matmul_serialize_factor>()},
    };
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
    return {
        // The rate itself; image classification has a flag of this name for the exponent of a power of 2.
        {.flag = "--base-learning-rate",
         .help = "Learning rate at the end of the warm-up.",
         .range = at_least(0),
         .main_in = kT,
         .numerics = true,
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
         .numerics = true,
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::powers>()},
        {.flag = "--warmup",
         .help = "Steps in which the learning rate rises from 0; below 1: their share of the run.",
         .range = between(0, kMostIterations),
         .numerics = true,
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::warmup>()},
        {.flag = "--lr-schedule-by-step",
         .help = "custom: first step and learning rate of each part of the run: {\"0\": 0.001, \"100\": 0.0001}.",
         .acts = {.needs = {{"lr_schedule", {"custom"}}}},
         .numerics = true,
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::values>()},
        {.flag = "--decay-steps",
         .help = "natural_exponential: steps between drops of the learning rate.",
         .unit = "steps",
         .range = between(1, kMostIterations),
         .acts = {.needs = {{"lr_schedule", {"natural_exponential", "exponential"}}}},
         .numerics = true,
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::decay_steps>()},
        {.flag = "--decay-rate",
         .help = "natural_exponential: r of the factor exp(-r) at each drop.",
         .range = between(0, 1e6),
         .acts = {.needs = {{"lr_schedule", {"natural_exponential", "exponential"}}}},
         .numerics = true,
         .bind = to<&BertTaskSettings::learning_rate, &optim::StepRateSettings::decay_rate>()},
    };
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
                        "excludes gammas.";
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

}  // namespace cnntrain::tasks
