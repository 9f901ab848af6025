// What a model sets when the user did not.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "config/resolve.h"

namespace cnntrain::config {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // no default: the user must choose

struct ModelDefaults {
    nn::Family family;
    bool imagenet;
    std::string_view size;
    std::int64_t micro_batch_size;
    std::string_view norm;
    std::int64_t groups;
    double weight_decay;
    std::array<double, 4> lr_exponents;  // SGD, RMSprop, momentum, LARS, in the order of Optimiser
    double rmsprop_base_decay_exp;
    double epochs;
    std::vector<double> drop_fractions;
    double lr_decay_rate;
    std::int64_t lr_drops;  // 0: no default
};

const std::vector<ModelDefaults>& model_defaults() {
    using enum nn::Family;
    static const std::vector<double> four = {0.3, 0.6, 0.8, 0.9};
    static const std::vector<double> two = {0.5, 0.75};
    static const std::vector<ModelDefaults> table = {
        {resnet, true, "18", 4, "group_norm", 32, 1e-4, {-8, kNone, -11, kNone}, kNone, 100, four, kNone, 0},
        {resnet, false, "20", 32, "batch_norm", 16, 1e-6, {-6, -6, -6, -6}, kNone, 160, two, kNone, 0},
        {resnext, true, "14", 1, "group_norm", 32, 1e-4, {-8, kNone, -11, kNone}, kNone, 100, four, kNone, 0},
        {resnext, false, "11", 8, "batch_norm", 16, 1e-6, {-6, -6, -6, -6}, kNone, 160, two, kNone, 0},
        {efficientnet, true, "B0", 4, "group_norm", 4, 1e-5, {-7, -14, -10, kNone}, -14, 350, four, 0.97, 146},
        {efficientnet, false, "B0", 8, "group_norm", 4, 1e-6, {-6, -6, -6, -6}, kNone, 300, two, 0.97, 146},
    };
    return table;
}

/// EfficientNet's image sizes by size B0, B1, ...
constexpr std::array<std::int64_t, 8> kEfficientNetPixels = {224, 240, 260, 300, 380, 456, 528, 600};

/// Fills options in for the model where no value is. For those that have no use for 0, 0 means "not given" too.
class Filler {
public:
    explicit Filler(Resolution& run) : run_(run), values_(run.values) {}

    void number(std::string_view key, double value) {
        if (values_.has(key) && !values_.is_set(key) && !std::isnan(value)) values_.set(key, value, Source::model);
    }

    void number_unless_zero(std::string_view key, double value) {
        if (values_.has(key) && values_.number(key) == 0.0 && !std::isnan(value)) replace_zero(key, value);
    }

    void integer(std::string_view key, std::int64_t value) {
        if (values_.has(key) && values_.integer(key) == 0) replace_zero(key, value);
    }

    void text(std::string_view key, std::string_view value) {
        if (values_.has(key) && values_.text(key).empty()) values_.set(key, std::string(value), Source::model);
    }

    void on(std::string_view key) {
        if (!values_.flag(key)) values_.set(key, true, Source::model);
    }

private:
    void replace_zero(std::string_view key, Value value) {
        if (values_.given(key)) {
            run_.notices.push_back(std::string(values_.at(key).option->flag) +
                                   " 0 counts as not given: " + to_string(value) + " is used");
        }
        values_.set(key, std::move(value), Source::model);
    }

    Resolution& run_;
    OptionValues& values_;
};

void fill_norm(Resolution& run, const ModelDefaults& defaults) {
    OptionValues& values = run.values;
    if (!values.flag("batch_norm") && !values.flag("group_norm")) values.set(defaults.norm, true, Source::model);
    if (values.flag("group_norm")) Filler(run).integer("groups", defaults.groups);
}

void fill_training(Resolution& run, const ModelDefaults& defaults) {
    OptionValues& values = run.values;
    Filler fill(run);
    const optim::Optimiser optimiser = *named<optim::Optimiser>(values.text("optimiser"));
    fill.number("weight_decay", optimiser == optim::Optimiser::lars ? 0.0 : defaults.weight_decay);
    if (optimiser == optim::Optimiser::lars) fill.number("lars_weight_decay", defaults.weight_decay);
    if (optimiser == optim::Optimiser::rmsprop && !values.is_set("rmsprop_decay")) {
        fill.number("rmsprop_base_decay_exp", defaults.rmsprop_base_decay_exp);
    }
    if (!values.is_set("abs_learning_rate")) {
        fill.number_unless_zero("base_learning_rate_exponent",
                                defaults.lr_exponents[static_cast<std::size_t>(optimiser)]);
    }
    if (values.integer("iterations") == 0) fill.number_unless_zero("epochs", defaults.epochs);
    if (values.has("learning_rate_schedule") && !values.is_set("learning_rate_schedule")) {
        values.set("learning_rate_schedule", defaults.drop_fractions, Source::model);
    }
    fill.number_unless_zero("learning_rate_decay", 0.1);
    fill.number_unless_zero("lr_decay_rate", defaults.lr_decay_rate);
    if (defaults.lr_drops > 0) fill.integer("lr_drops", defaults.lr_drops);
}

std::int64_t default_image_size(nn::Family family, const std::string& size, bool imagenet) {
    if (family == nn::Family::efficientnet) {
        const bool numbered = size.size() == 2 && size[0] == 'B' && size[1] >= '0' && size[1] <= '7';
        if (numbered) return kEfficientNetPixels[static_cast<std::size_t>(size[1] - '0')];
        if (size == "CIFAR") return 32;
    }
    return imagenet ? 224 : 32;
}

}  // namespace

void fill_model_defaults(Resolution& run) {
    const auto family = family_of(run.values);
    const auto dataset = dataset_of(run.values);
    if (!family || !dataset) return;
    const bool imagenet = *dataset == data::DatasetId::imagenet;
    for (const ModelDefaults& defaults : model_defaults()) {
        if (defaults.family != *family || defaults.imagenet != imagenet) continue;
        Filler fill(run);
        fill.text("model_size", defaults.size);
        fill.integer("micro_batch_size", defaults.micro_batch_size);
        fill_norm(run, defaults);
        fill.integer("image_size", default_image_size(*family, run.values.text("model_size"), imagenet));
        if (*family == nn::Family::resnext) {
            fill.integer("convolution_groups", 32);
            fill.integer("group_dim", 4);
        }
        if (*family == nn::Family::efficientnet) {
            fill.integer("group_dim", 1);
            if (imagenet) fill.number_unless_zero("label_smoothing", 0.1);
        }
        const bool keeps_choice = *family == nn::Family::resnet || run.values.flag("force_unstable_norm");
        if (imagenet && !keeps_choice) fill.on("stable_norm");
        if (run.command == Command::train) fill_training(run, defaults);
    }
}

std::optional<nn::Family> family_of(const OptionValues& values) {
    return named<nn::Family>(values.text("model"));
}

std::optional<data::DatasetId> dataset_of(const OptionValues& values) {
    return named<data::DatasetId>(values.text("dataset"));
}

}  // namespace cnntrain::config
