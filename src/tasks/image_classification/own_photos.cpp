#include "tasks/image_classification/own_photos.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/weights/checkpoint.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {

namespace {

/// Settings for a training from random or from given weights. The learning rates are for kBatch photos an update; they
/// grow with the number of photos, AdamW's with its square root.
struct Recipe {
    double momentum_rate;   // momentum and nesterov
    double momentum_decay;  // weight decay with them
    double adam_rate;       // AdamW
    double few_epochs;      // for up to kFew photos
    double some_epochs;     // for up to kSome photos
    double many_epochs;     // for more
};
constexpr Recipe kFromNothing = {.momentum_rate = 0.05,
                                 .momentum_decay = 5e-4,
                                 .adam_rate = 1e-3,
                                 .few_epochs = 100,
                                 .some_epochs = 40,
                                 .many_epochs = 20};
constexpr Recipe kFromWeights = {.momentum_rate = 0.02,
                                 .momentum_decay = 1e-4,
                                 .adam_rate = 5e-4,
                                 .few_epochs = 20,
                                 .some_epochs = 10,
                                 .many_epochs = 5};
constexpr std::int64_t kFew = 1000;
constexpr std::int64_t kSome = 10000;
constexpr std::int64_t kBatch = 32;
constexpr double kAdamDecay = 0.05;
constexpr double kLabelSmoothing = 0.1;
constexpr double kWarmup = 0.05;  // share of the epochs
/// Decays of batch norm's moving averages: those of PyTorch and of the documented lines.
constexpr double kLeastBnDecay = 0.9;
constexpr double kMostBnDecay = 0.97;

/// Keys of the options that a recipe may set.
constexpr std::array<std::string_view, 17> kChosen = {
    "batch_norm",      "micro_batch_size", "optimiser",     "weight_decay", "abs_learning_rate", "lr_schedule",
    "label_smoothing", "epochs",           "warmup_epochs", "BN_decay",     "padding",           "interpolation",
    "crop_area",       "crop_fraction",    "keep_best",     "keep_ckpts",   "head_first"};

double epochs_for(std::int64_t photos, const Recipe& recipe) {
    return photos <= kFew ? recipe.few_epochs : photos <= kSome ? recipe.some_epochs : recipe.many_epochs;
}

/// The number of training photos; nothing if there are none or they cannot be read, which the run reports.
std::optional<std::int64_t> photos_in(const Resolution& run) {
    try {
        data::InputSettings settings{options_of_data(run)};
        settings.folder = data::find_data_folder(settings.dataset, settings.data_dir);
        const std::int64_t photos = data::count_samples(settings, data::Split::train).samples;
        return photos > 0 ? std::optional(photos) : std::nullopt;
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// The update rules for which recipes have rates.
bool has_rates(graph::UpdateRule rule) {
    return rule == graph::UpdateRule::momentum || rule == graph::UpdateRule::nesterov ||
           rule == graph::UpdateRule::adamw;
}

/// True if the user or the weights of the line decide the option.
bool is_decided(const OptionValues& values, std::string_view key) {
    return values.given(key) || (values.has(key) && values.source(key) == Source::weights);
}

/// Sets options that the user has left open, and remembers each of them with the reason.
class Chooser {
public:
    explicit Chooser(Resolution& run) : values_(run.values) {}

    void choose(std::string_view key, const Value& value, std::string_view why) {
        CNNTRAIN_CHECK(std::ranges::find(kChosen, key) != kChosen.end(), "a recipe sets an option beyond kChosen");
        if (!values_.has(key) || is_decided(values_, key)) return;
        const std::string text = value == Value(true) ? "" : " " + to_string(value);
        values_.set(key, value, Source::model);
        lines_ += "\n  " + std::string(values_.option(key).flag) + text + ": " + std::string(why);
    }
    const std::string& lines() const { return lines_; }

private:
    OptionValues& values_;
    std::string lines_;
};

bool any_decided(const OptionValues& values, std::initializer_list<std::string_view> keys) {
    return std::ranges::any_of(keys, [&](std::string_view key) { return is_decided(values, key); });
}

/// Rounds to three digits, for users to read.
double rounded(double value) {
    if (value <= 0) return value;
    const int digits = 2 - static_cast<int>(std::floor(std::log10(value)));
    return digits < 0 ? std::round(value) : std::round(value * std::pow(10, digits)) / std::pow(10, digits);
}

template <typename Enum> std::string text_of(Enum value) {
    return std::string(spelling(value));
}

std::int64_t batch_for(std::int64_t photos) {
    constexpr std::int64_t kUpdates = 16;  // an epoch
    constexpr std::int64_t kLeast = 4;
    const auto most = static_cast<std::uint64_t>(std::max(photos / kUpdates, kLeast));
    return std::min(kBatch, static_cast<std::int64_t>(std::bit_floor(most)));
}

/// Photos of a weight update; 0 if an option says so.
std::int64_t global_batch(const Resolution& run) {
    return schedule::batch_plan(run.settings().training).global_batch();
}

/// The moving averages follow the weights within half an epoch, so that the first validations measure the network.
void choose_bn_decay(Chooser& chooser, const Resolution& run, std::int64_t photos) {
    const std::int64_t batch = global_batch(run);
    if (!image_settings(run.settings()).batch_norm || batch == 0) return;
    const double updates = std::max(1.0, static_cast<double>(photos) / static_cast<double>(batch));
    const double decay = std::clamp(1 - 2 / updates, kLeastBnDecay, kMostBnDecay);
    chooser.choose("BN_decay", rounded(decay), "for " + formatted("%.0f", updates) + " updates an epoch");
}

/// The networks of torchvision and timm pad symmetrically; those of EfficientNet's authors and timm's tf_* do not.
void choose_padding(Chooser& chooser, const Resolution& run) {
    if (image_settings(run.settings()).model.family == nn::Family::efficientnet) return;
    chooser.choose("padding", text_of(nn::PaddingRule::symmetric), "as in torchvision and timm, for convert");
}

/// Classes that the weights do not have. Weights that cannot be read are the run's error.
bool has_new_classes(const Resolution& run) {
    try {
        std::vector<std::string> theirs = weights::class_names_of(posix_files(), *run.settings().training.init_path);
        std::vector<std::string> own = data::class_names(options_of_data(run));
        std::ranges::sort(theirs);
        std::ranges::sort(own);
        return theirs != own;
    } catch (const Error&) {
        return false;
    }
}

/// Learning rate and weight decay, for the update rules with which they were chosen.
void choose_rate(Chooser& chooser, const Resolution& run, const Recipe& recipe) {
    const graph::UpdateRule rule = run.settings().optimiser.rule;
    if (!has_rates(rule)) return;
    const bool adam = rule == graph::UpdateRule::adamw;
    chooser.choose("weight_decay", adam ? kAdamDecay : recipe.momentum_decay, "reduces over-fitting on few photos");
    if (any_decided(run.values, {"base_learning_rate_exponent", "abs_learning_rate"})) return;
    const std::int64_t batch = global_batch(run);
    if (batch == 0) return;
    const double rate = adam ? recipe.adam_rate : recipe.momentum_rate;
    const double share = static_cast<double>(batch) / static_cast<double>(kBatch);
    chooser.choose("abs_learning_rate", rounded(adam ? rate * std::sqrt(share) : rate * share),
                   to_string(Value(rate)) + " at batch size " + std::to_string(kBatch) + ", scaled with the batch");
}

/// Chooses the preparation of photos for the network. Mirroring at random is every training's default.
void choose_preparation(Chooser& chooser, const data::DataSettings& own) {
    chooser.choose("interpolation", text_of(data::Interpolation::bilinear), "antialiased where photos are shrunk");
    if (!own.train_with_valid_preprocessing)
        chooser.choose("crop_area", std::vector<double>{0.35, 1}, "random crops, not too small");
    const bool small = own.image_size > 0 && own.image_size <= data::kLargestSmallImage;
    if (small && own.preparation.resize_mode == data::ResizeMode::crop)
        chooser.choose("crop_fraction", 1.0, "small images fill their frame");
}

/// Chooses which checkpoints stay: the best and the newest. Averages of checkpoints and validations that follow the
/// training need all of them.
void choose_checkpoints(Chooser& chooser, const Resolution& run) {
    constexpr std::int64_t kNewest = 3;
    const run::CheckpointSettings& checkpoint = run.settings().checkpoint;
    const run::ValidationSettings& validation = run.settings().validation;
    if (checkpoint.ckpts_per_epoch == 0 && checkpoint.epochs_per_ckpt == 0) return;
    const bool later = run.values.given("validate_every") && !validation.any();
    if (validation.enabled && later) return;
    if (validation.enabled)
        chooser.choose("keep_best", text_of(run::Metric::accuracy), "ckpt-best, for inference and convert");
    if (!any_decided(run.values, {"weight_avg_N", "weight_avg_exp"}))
        chooser.choose("keep_ckpts", kNewest, "the newest, for resuming; 0 keeps all");
}

}  // namespace

void fill_for_own_photos(Resolution& run) {
    const auto dataset = dataset_of(run);
    const bool is_own = dataset && data::dataset_info(*dataset).format == data::ImageFormat::class_folders;
    if (!is_own || run.command != Command::train) return;
    const auto photos = photos_in(run);
    if (!photos) return;
    const OptionValues& values = run.values;
    const run::TrainingSettings& training = run.settings().training;
    const bool has_weights = !training.init_path.value_or("").empty();
    const Recipe& recipe = has_weights ? kFromWeights : kFromNothing;
    const double usual_epochs = epochs_for(*photos, recipe);

    Chooser chooser(run);
    if (!any_decided(values, {"batch_norm", "group_norm"}))
        chooser.choose("batch_norm", true, "it learns faster than group norm");
    if (training.micro_batch_size == 0)
        chooser.choose("micro_batch_size", batch_for(*photos), "at least 16 updates an epoch");
    const bool momentum = values.given("momentum");
    chooser.choose("optimiser", text_of(momentum ? graph::UpdateRule::momentum : graph::UpdateRule::adamw),
                   momentum ? "--momentum asks for it" : "it learns faster than SGD");
    choose_rate(chooser, run, recipe);
    if (!any_decided(values, {"learning_rate_decay", "learning_rate_schedule"}))
        chooser.choose("lr_schedule", text_of(optim::LrSchedule::cosine), "it fits every length of a run");
    const bool several = image_settings(run.settings()).data.labels.several();
    if (!several) chooser.choose("label_smoothing", kLabelSmoothing, "reduces over-fitting on few photos");
    if (training.iterations.value_or(0) == 0) {
        chooser.choose("epochs", usual_epochs,
                       has_weights ? "pretrained weights need few" : "training from scratch needs many");
    }
    const double epochs = values.is_set("epochs") ? training.epochs : usual_epochs;
    chooser.choose("warmup_epochs", rounded(epochs * kWarmup), "a part of the epochs, for large first gradients");
    choose_bn_decay(chooser, run, *photos);
    if (!has_weights) choose_padding(chooser, run);
    if (has_weights && !run.settings().head.only && has_new_classes(run))
        chooser.choose("head_first", true, "the weights have other classes");
    choose_preparation(chooser, image_settings(run.settings()).data);
    choose_checkpoints(chooser, run);
    if (chooser.lines().empty()) return;
    run.notices.push_back("for " + counted(*photos, "photo") + " and " +
                          (has_weights ? "given weights" : "random weights") +
                          ", these settings were chosen:" + chooser.lines());
}

std::vector<std::string> chosen_for_own_photos(const ParseResult& arguments) {
    const data::DatasetInfo& images = data::dataset_info(image_settings(arguments.settings).data.dataset);
    if (images.format != data::ImageFormat::class_folders || arguments.command != Command::train) return {};
    const bool rates = has_rates(arguments.settings.optimiser.rule);
    std::vector<std::string> keys;
    for (const ResolvedOption& entry : arguments.options) {
        const std::string name = key(*entry.option);
        const bool is_rate = name == "weight_decay" || name == "abs_learning_rate";
        const bool chosen = entry.source == Source::model && std::ranges::find(kChosen, name) != kChosen.end();
        if (chosen && (rates || !is_rate)) keys.push_back(name);
    }
    return keys;
}

}  // namespace cnntrain::tasks
