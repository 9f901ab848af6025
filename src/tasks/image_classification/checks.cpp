// Rules between options: one function and one message each. Rules that need the model's graph or the data files are
// checked by the modules that have them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/graph/family_info.h"
#include "tasks/image_classification/class_weights.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {
namespace {

Violation one_norm(const OptionValues& values) {
    if (!values.flag("batch_norm") || !values.flag("group_norm")) return {};
    return "--batch-norm and --group-norm are both given; choose one";
}

std::string nearest_norm_spans(std::int64_t wanted, std::int64_t replicas, std::int64_t processes) {
    const auto fits = [&](std::int64_t span) { return schedule::norm_span_fits(span, replicas, processes); };
    const std::int64_t most = replicas * processes;
    std::int64_t below = std::min(wanted, most);
    while (!fits(below))
        --below;
    std::int64_t above = wanted;
    while (above <= most && !fits(above))
        ++above;
    return std::to_string(below) + (above <= most ? " or " + std::to_string(above) : "");
}

Violation span_fits_replicas(const OptionValues& values) {
    const std::int64_t replicas = values.integer("replicas");
    const std::int64_t span = values.integer("BN_span");
    const std::int64_t processes = values.launch().processes;
    if (values.flag("group_norm") || schedule::norm_span_fits(span, replicas, processes)) return {};
    const std::string nearest = nearest_norm_spans(span, replicas, processes);
    const std::string what =
        "--BN-span " + std::to_string(span) + " must divide --replicas " + std::to_string(replicas);
    if (processes == 1) {
        const bool several = span % replicas == 0;
        return what + (several ? ", or needs " + std::to_string(span / replicas) + " processes (mpirun -np)" : "") +
               "; the nearest that does: " + nearest;
    }
    return what + ", or be that times a divisor of the " + std::to_string(processes) +
           " processes; the nearest that fits: " + nearest;
}

Violation fixed_image_size(const OptionValues& values) {
    const auto dataset = dataset_of(values);
    const std::int64_t size = values.integer("image_size");
    if (!dataset || size == 0) return {};
    const data::DatasetInfo& info = data::dataset_info(*dataset);
    if (info.any_image_size || size == info.image_size) return {};
    std::string text = "image size " + std::to_string(size) + " with " + std::string(spelling(*dataset)) +
                       ": its images have " + std::to_string(info.image_size) + " x " +
                       std::to_string(info.image_size) + " pixels";
    const auto family = family_of(values);
    return family ? text + "; " + std::string(nn::family_info(*family).advice_for_small_images) : text;
}

Violation made_images_need_a_published_set(const OptionValues& values) {
    const auto dataset = dataset_of(values);
    const bool made = values.flag("generated_data") || values.flag("synthetic_data");
    if (!made || !dataset || data::dataset_info(*dataset).classes > 0) return {};
    return "--generated-data and --synthetic-data do not work with --dataset " + std::string(spelling(*dataset)) +
           ", whose classes are counted in its files; choose another --dataset";
}

Violation lars_companions(const OptionValues& values) {
    if (values.text("optimiser") != spelling(graph::UpdateRule::lars)) return {};
    for (const char* other : {"offload_fp32_weight_copy", "proxy_norm"}) {
        if (values.flag(other))
            return "--optimiser LARS does not work with " + std::string(values.at(other).option->flag);
    }
    return {};
}

Violation accumulation_companions(const OptionValues& values) {
    if (values.integer("gradient_accumulation_count") <= 1 || values.flag("pipeline")) return {};
    for (const char* other : {"offload_fp32_weight_copy", "proxy_norm"}) {
        if (!values.flag(other)) continue;
        return std::string(values.at(other).option->flag) +
               " with --gradient-accumulation-count above 1 needs --pipeline";
    }
    return {};
}

Violation recomputed_norms(const OptionValues& values) {
    if (!values.flag("recompute_norms")) return {};
    for (const char* other : {"pipeline", "enable_recomputation"}) {
        if (values.flag(other))
            return "--recompute-norms does not work with " + std::string(values.at(other).option->flag) +
                   "; leave one of them out (--enable-recomputation saves more memory than --recompute-norms)";
    }
    return {};
}

Violation data_folder(const OptionValues& values) {
    const bool real = !values.flag("generated_data") && !values.flag("synthetic_data");
    const bool known = dataset_of(values).has_value();  // otherwise infer_dataset has reported it
    if (!real || !known || !values.text("data_dir").empty()) return {};
    return "no data folder: give --data-dir, set DATA_DIR, or use --generated-data";
}

Violation photos_or_folder(const OptionValues& values) {
    if (!values.has("photos") || values.texts("photos").empty()) return {};
    if (values.text("data_dir") == values.texts("photos").front()) return {};
    return "--photos takes the place of --data-dir; leave one of them out";
}

Violation mixing_needs_pairs(const OptionValues& values) {
    const bool mixes = values.number("mixup_alpha") > 0.0 || values.number("cutmix_lambda") != 1.0;
    if (!values.has("cutmix_lambda") || !mixes || values.integer("micro_batch_size") != 1) return {};
    return "mixup and cutmix need --micro-batch-size above 1";
}

Violation cutmix_share(const OptionValues& values) {
    const double share = values.number("cutmix_lambda");
    if (share >= 0.0 && share <= 1.0) return {};
    return "--cutmix-lambda must lie between 0 and 1, got " + to_string(Value(share));
}

Violation learning_rate(const OptionValues& values) {
    if (values.is_set("abs_learning_rate") || values.is_set("base_learning_rate_exponent")) return {};
    if (!family_of(values) || !dataset_of(values)) return {};
    return values.text("model") + " with " + values.text("dataset") + " has no default learning rate for " +
           values.text("optimiser") + "; give --base-learning-rate-exponent or --abs-learning-rate";
}

Violation exponential_decay(const OptionValues& values) {
    if (!values.has("lr_drops") || !dataset_of(values)) return {};
    if (values.is_set("lr_decay_rate") && values.integer("lr_drops") != 0) return {};
    return values.text("model") + " has no default for the exponential schedule; give --lr-decay-rate and --lr-drops";
}

Violation channel_constants(const OptionValues& values) {
    const std::vector<double> mean = values.numbers("normalise_mean");
    const std::vector<double> deviation = values.numbers("normalise_std");
    if (mean.empty() != deviation.empty())
        return "--normalise-mean and --normalise-std belong together; give both, with three numbers each";
    if (mean.empty() || (mean.size() == 3 && deviation.size() == 3)) return {};
    return "--normalise-mean and --normalise-std take one number each for R, G and B, got " +
           std::to_string(mean.size()) + " and " + std::to_string(deviation.size());
}

Violation crop_area(const OptionValues& values) {
    const std::vector<double> area = values.numbers("crop_area");
    if (area.empty() || (area.size() == 2 && area[0] > 0 && area[0] <= area[1])) return {};
    return "--crop-area takes two shares MIN,MAX with 0 < MIN <= MAX <= 1, such as 0.08,1";
}

Violation rand_augment(const OptionValues& values) {
    const std::vector<double> numbers = values.numbers("rand_augment");
    constexpr double kMostMagnitude = 30;
    const auto whole = [](double number) { return number == std::floor(number); };
    if (numbers.empty()) return {};
    if (numbers.size() == 2 && std::ranges::all_of(numbers, whole) && numbers[1] <= kMostMagnitude) return {};
    return "--rand-augment takes two whole numbers: operations for each image, and a magnitude from 0 to 30, such as "
           "2,9";
}

Violation colour_jitter(const OptionValues& values) {
    const std::vector<double> numbers = values.numbers("colour_jitter");
    constexpr double kMostHue = 0.5;
    if (numbers.empty() || (numbers.size() == 4 && numbers[3] <= kMostHue)) return {};
    return "--colour-jitter takes four numbers: brightness, contrast, saturation, and hue from 0 to 0.5, such as "
           "0.4,0.4,0.4,0.1";
}

Violation class_weights_exist(const OptionValues& values) {
    const std::string text = values.text("class_weights");
    if (text.empty() || text == kBalanced || !listed_weights(text).empty()) return {};
    if (posix_files().kind(text) == FileKind::file) return {};
    return "--class-weights " + text + ": expected " + std::string(kBalanced) +
           ", numbers separated by commas, or a file with a weight on each line; there is no such file";
}

Violation class_weights_need_pairs(const OptionValues& values) {
    if (values.text("class_weights").empty() || values.integer("micro_batch_size") != 1) return {};
    return "--class-weights needs --micro-batch-size above 1: losses are divided by the weights of their micro-batch";
}

Violation augmentation_of_evaluation(const OptionValues& values) {
    if (!values.flag("train_with_valid_preprocessing")) return {};
    for (const char* key : {"crop_area", "rand_augment", "colour_jitter", "random_erasing"}) {
        const bool on = key == std::string_view("random_erasing") ? values.number(key) > 0 : values.is_set(key);
        if (!on) continue;
        return "--train-with-valid-preprocessing and " + std::string(values.at(key).option->flag) +
               " are both given; the first one changes no training image at random";
    }
    return {};
}

const std::vector<Rule> kImageRules = {
    {kTVE, one_norm},          {kT, span_fits_replicas},
    {kTVE, fixed_image_size},  {kTVE, made_images_need_a_published_set},
    {kT, lars_companions},     {kT, accumulation_companions},
    {kT, recomputed_norms},    {kTVE, data_folder},
    {kE, photos_or_folder},    {kT, mixing_needs_pairs},
    {kT, cutmix_share},        {kTVE, channel_constants},
    {kT, crop_area},           {kT, rand_augment},
    {kT, colour_jitter},       {kT, augmentation_of_evaluation},
    {kT, class_weights_exist}, {kT, class_weights_need_pairs},
    {kT, learning_rate},       {kT, exponential_decay},
};

}  // namespace

void check_image_options(Resolution& run) {
    check_rules(kImageRules, run);
}

}  // namespace cnntrain::tasks
