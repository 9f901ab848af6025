// What a model sets when the user did not (cnn-flags.md sections 3.3 and 3.4).
#include <array>
#include <string>

#include "config/resolve.h"

namespace cnntrain::config {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // no default: the user must choose

struct ModelDefaults {
    ModelFamily family;
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
    using enum ModelFamily;
    static const std::vector<double> kFour = {0.3, 0.6, 0.8, 0.9};
    static const std::vector<double> kTwo = {0.5, 0.75};
    static const std::vector<ModelDefaults> table = {
        {resnet, true, "18", 4, "group_norm", 32, 1e-4, {-8, kNone, -11, kNone}, kNone, 100, kFour, kNone, 0},
        {resnet, false, "20", 32, "batch_norm", 16, 1e-6, {-6, -6, -6, -6}, kNone, 160, kTwo, kNone, 0},
        {resnext, true, "14", 1, "group_norm", 32, 1e-4, {-8, kNone, -11, kNone}, kNone, 100, kFour, kNone, 0},
        {resnext, false, "11", 8, "batch_norm", 16, 1e-6, {-6, -6, -6, -6}, kNone, 160, kTwo, kNone, 0},
        {efficientnet, true, "B0", 4, "group_norm", 4, 1e-5, {-7, -14, -10, kNone}, -14, 350, kFour, 0.97, 146},
        {efficientnet, false, "B0", 8, "group_norm", 4, 1e-6, {-6, -6, -6, -6}, kNone, 300, kTwo, 0.97, 146},
    };
    return table;
}

/// EfficientNet's image sizes by size B0, B1, ...
constexpr std::array<std::int64_t, 8> kEfficientNetPixels = {224, 240, 260, 300, 380, 456, 528, 600};

/// Fills options in for the model unless a value, or (where 0 means "not given") a value other than 0, is there.
class Filler {
public:
    explicit Filler(OptionValues& values) : values_(values) {}

    void number(std::string_view key, double value, bool zero_is_unset = false) {
        const bool unset = !values_.is_set(key) || (zero_is_unset && values_.number(key) == 0.0);
        if (values_.has(key) && unset && value == value) values_.set(key, value, Source::model);
    }

    void integer(std::string_view key, std::int64_t value) {  // 0 is never a meaningful value of these
        if (values_.has(key) && values_.integer(key) == 0) values_.set(key, value, Source::model);
    }

    void text(std::string_view key, std::string_view value) {
        if (values_.has(key) && values_.text(key).empty()) values_.set(key, std::string(value), Source::model);
    }

    void on(std::string_view key) {
        if (!values_.flag(key)) values_.set(key, true, Source::model);
    }

private:
    OptionValues& values_;
};

void fill_norm(OptionValues& values, const ModelDefaults& defaults) {
    if (!values.flag("batch_norm") && !values.flag("group_norm")) values.set(defaults.norm, true, Source::model);
    if (values.flag("group_norm")) Filler(values).integer("groups", defaults.groups);
}

void fill_training(OptionValues& values, const ModelDefaults& defaults) {
    Filler fill(values);
    const Optimiser optimiser = *named<Optimiser>(values.text("optimiser"));
    fill.number("weight_decay", optimiser == Optimiser::lars ? 0.0 : defaults.weight_decay);
    if (optimiser == Optimiser::lars) fill.number("lars_weight_decay", defaults.weight_decay);
    if (optimiser == Optimiser::rmsprop && !values.is_set("rmsprop_decay")) {
        fill.number("rmsprop_base_decay_exp", defaults.rmsprop_base_decay_exp);
    }
    if (!values.is_set("abs_learning_rate")) {
        fill.number("base_learning_rate_exponent", defaults.lr_exponents[static_cast<std::size_t>(optimiser)], true);
    }
    if (values.integer("iterations") == 0) fill.number("epochs", defaults.epochs, true);
    if (values.has("learning_rate_schedule") && !values.is_set("learning_rate_schedule")) {
        values.set("learning_rate_schedule", defaults.drop_fractions, Source::model);
    }
    fill.number("learning_rate_decay", 0.1, true);
    fill.number("lr_decay_rate", defaults.lr_decay_rate, true);
    if (defaults.lr_drops > 0) fill.integer("lr_drops", defaults.lr_drops);
}

std::int64_t default_image_size(ModelFamily family, const std::string& size, bool imagenet) {
    if (family == ModelFamily::efficientnet) {
        const bool numbered = size.size() == 2 && size[0] == 'B' && size[1] >= '0' && size[1] <= '7';
        if (numbered) return kEfficientNetPixels[static_cast<std::size_t>(size[1] - '0')];
    }
    return imagenet ? 224 : 32;
}

}  // namespace

void fill_model_defaults(Resolution& run) {
    const auto family = family_of(run.values);
    const auto dataset = dataset_of(run.values);
    if (!family || !dataset) return;
    const bool imagenet = *dataset == Dataset::imagenet;
    for (const ModelDefaults& defaults : model_defaults()) {
        if (defaults.family != *family || defaults.imagenet != imagenet) continue;
        Filler fill(run.values);
        fill.text("model_size", defaults.size);
        fill.integer("micro_batch_size", defaults.micro_batch_size);
        fill_norm(run.values, defaults);
        fill.integer("image_size", default_image_size(*family, run.values.text("model_size"), imagenet));
        if (*family == ModelFamily::resnext) {
            fill.integer("convolution_groups", 32);
            fill.integer("group_dim", 4);
        }
        if (*family == ModelFamily::efficientnet) {
            fill.integer("group_dim", 1);
            if (imagenet) fill.number("label_smoothing", 0.1, true);
        }
        const bool keeps_choice = *family == ModelFamily::resnet || run.values.flag("force_unstable_norm");
        if (imagenet && !keeps_choice) fill.on("stable_norm");
        if (run.command == Command::train) fill_training(run.values, defaults);
    }
}

std::optional<ModelFamily> family_of(const OptionValues& values) {
    return named<ModelFamily>(values.text("model"));
}

std::optional<Dataset> dataset_of(const OptionValues& values) {
    return named<Dataset>(values.text("dataset"));
}

}  // namespace cnntrain::config
