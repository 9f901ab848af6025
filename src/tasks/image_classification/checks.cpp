// Rules between options: one function and one message each. Rules that need the model's graph or the data files are
// checked by the modules that have them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/graph/model.h"
#include "tasks/image_classification/class_weights.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {
namespace {

Violation one_norm(const Resolution& run) {
    const ImageSettings& own = image_settings(run.settings());
    return own.batch_norm && own.group_norm ? "--batch-norm and --group-norm are both given; choose one" : "";
}

Violation one_data_source(const Resolution& run) {
    const ImageSettings& own = image_settings(run.settings());
    if (!own.generated_data || !own.synthetic_data) return {};
    return "--generated-data and --synthetic-data are both given; choose one";
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

Violation span_fits_replicas(const Resolution& run) {
    const std::int64_t replicas = run.settings().training.replicas;
    const std::int64_t span = run.settings().training.norm_span;
    const std::int64_t processes = run.settings().training.processes;
    if (image_settings(run.settings()).group_norm || schedule::norm_span_fits(span, replicas, processes)) return {};
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

Violation fixed_image_size(const Resolution& run) {
    const auto dataset = dataset_of(run);
    const ImageSettings& own = image_settings(run.settings());
    const std::int64_t size = own.data.image_size;
    if (!dataset || size == 0) return {};
    const data::DatasetInfo& info = data::dataset_info(*dataset);
    if (info.any_image_size || size == info.image_size) return {};
    return "image size " + std::to_string(size) + " with " + std::string(info.name) + ": its images have " +
           std::to_string(info.image_size) + " x " + std::to_string(info.image_size) + " pixels; " +
           std::string(nn::family_info(own.model.family).advice_for_small_images);
}

Violation made_images_need_a_published_set(const Resolution& run) {
    const auto dataset = dataset_of(run);
    if (!are_made(image_settings(run.settings())) || !dataset || data::dataset_info(*dataset).classes > 0) return {};
    return "--generated-data and --synthetic-data do not work with --dataset " + std::string(spelling(*dataset)) +
           ", whose classes are counted in its files; choose another --dataset";
}

/// The option of these two that is on; "" if none is.
std::string copies_or_proxies(const Resolution& run) {
    if (run.settings().optimiser.fp32_weight_copy) return "--offload-fp32-weight-copy";
    return image_settings(run.settings()).model.efficientnet.proxy_norm ? "--proxy-norm" : "";
}

Violation lars_companions(const Resolution& run) {
    const std::string other = copies_or_proxies(run);
    if (run.settings().optimiser.rule != graph::UpdateRule::lars || other.empty()) return {};
    return "--optimiser LARS does not work with " + other;
}

Violation accumulation_companions(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    const std::string other = copies_or_proxies(run);
    if (training.gradient_accumulation_count <= 1 || training.pipeline || other.empty()) return {};
    return other + " with --gradient-accumulation-count above 1 needs --pipeline";
}

Violation recomputed_norms(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    if (!image_settings(run.settings()).norm_recomputation) return {};
    if (!training.pipeline && !training.recomputation) return {};
    return std::string("--recompute-norms does not work with ") +
           (training.pipeline ? "--pipeline" : "--enable-recomputation") +
           "; leave one of them out (--enable-recomputation saves more memory than --recompute-norms)";
}

Violation data_folder(const Resolution& run) {
    const ImageSettings& own = image_settings(run.settings());
    const bool known = dataset_of(run).has_value();  // otherwise infer_dataset has reported it
    if (are_made(own) || !known || !own.data.data_dir.empty()) return {};
    return "no data folder: give --data-dir, set DATA_DIR, or use --generated-data";
}

Violation photos_or_folder(const Resolution& run) {
    const data::DataSettings& own = image_settings(run.settings()).data;
    if (own.photos.empty() || own.data_dir == own.photos.front()) return {};
    return "--photos takes the place of --data-dir; leave one of them out";
}

Violation mixing_needs_pairs(const Resolution& run) {
    if (!image_settings(run.settings()).data.mixing.any() || run.settings().training.micro_batch_size != 1) return {};
    return "mixup and cutmix need --micro-batch-size above 1";
}

Violation cutmix_share(const Resolution& run) {
    const double share = image_settings(run.settings()).data.mixing.cutmix_lambda;
    if (share >= 0.0 && share <= 1.0) return {};
    return "--cutmix-lambda must lie between 0 and 1, got " + to_string(Value(share));
}

Violation learning_rate(const Resolution& run) {
    const ImageSettings& own = image_settings(run.settings());
    const auto dataset = dataset_of(run);
    if (!dataset || own.learning_rate.absolute || run.values.is_set("base_learning_rate_exponent")) return {};
    return std::string(spelling(own.model.family)) + " with " + std::string(spelling(*dataset)) +
           " has no default learning rate for " + std::string(spelling(run.settings().optimiser.rule)) +
           "; give --base-learning-rate-exponent or --abs-learning-rate";
}

Violation exponential_decay(const Resolution& run) {
    const ImageSettings& own = image_settings(run.settings());
    if (own.learning_rate.schedule != optim::LrSchedule::exponential || !dataset_of(run)) return {};
    if (run.values.is_set("lr_decay_rate") && own.learning_rate.exponential_drops != 0) return {};
    return std::string(spelling(own.model.family)) +
           " has no default for the exponential schedule; give --lr-decay-rate and --lr-drops";
}

Violation channel_constants(const Resolution& run) {
    const data::PreparationSettings& how = image_settings(run.settings()).data.preparation;
    const std::size_t means = how.normalise_mean.size();
    const std::size_t deviations = how.normalise_std.size();
    if ((means == 0) != (deviations == 0))
        return "--normalise-mean and --normalise-std belong together; give both, with three numbers each";
    if (means == 0 || (means == 3 && deviations == 3)) return {};
    return "--normalise-mean and --normalise-std take one number each for R, G and B, got " + std::to_string(means) +
           " and " + std::to_string(deviations);
}

Violation crop_area(const Resolution& run) {
    const std::vector<double>& area = image_settings(run.settings()).data.augmentation.crop_area;
    if (area.empty() || (area.size() == 2 && area[0] > 0 && area[0] <= area[1])) return {};
    return "--crop-area takes two shares MIN,MAX with 0 < MIN <= MAX <= 1, such as 0.08,1";
}

Violation rand_augment(const Resolution& run) {
    const std::vector<double>& numbers = image_settings(run.settings()).data.augmentation.rand_augment;
    constexpr double kMostMagnitude = 30;
    const auto whole = [](double number) { return number == std::floor(number); };
    if (numbers.empty()) return {};
    if (numbers.size() == 2 && std::ranges::all_of(numbers, whole) && numbers[1] <= kMostMagnitude) return {};
    return "--rand-augment takes two whole numbers: operations for each image, and a magnitude from 0 to 30, such as "
           "2,9";
}

Violation colour_jitter(const Resolution& run) {
    const std::vector<double>& numbers = image_settings(run.settings()).data.augmentation.colour_jitter;
    constexpr double kMostHue = 0.5;
    if (numbers.empty() || (numbers.size() == 4 && numbers[3] <= kMostHue)) return {};
    return "--colour-jitter takes four numbers: brightness, contrast, saturation, and hue from 0 to 0.5, such as "
           "0.4,0.4,0.4,0.1";
}

Violation class_weights_exist(const Resolution& run) {
    const std::string& text = image_settings(run.settings()).class_weights;
    if (text.empty() || text == kBalanced || !listed_weights(text).empty()) return {};
    if (posix_files().kind(text) == FileKind::file) return {};
    return "--class-weights " + text + ": expected " + std::string(kBalanced) +
           ", numbers separated by commas, or a file with a weight on each line; there is no such file";
}

Violation class_weights_need_pairs(const Resolution& run) {
    const bool weighs = !image_settings(run.settings()).class_weights.empty();
    if (!weighs || run.settings().training.micro_batch_size != 1) return {};
    return "--class-weights needs --micro-batch-size above 1: losses are divided by the weights of their micro-batch";
}

Violation augmentation_of_evaluation(const Resolution& run) {
    const data::DataSettings& own = image_settings(run.settings()).data;
    const data::AugmentationSettings& how = own.augmentation;
    if (!own.train_with_valid_preprocessing) return {};
    const std::string other = !how.crop_area.empty()       ? "--crop-area"
                              : !how.rand_augment.empty()  ? "--rand-augment"
                              : !how.colour_jitter.empty() ? "--colour-jitter"
                              : how.random_erasing > 0     ? "--random-erasing"
                                                           : "";
    if (other.empty()) return {};
    return "--train-with-valid-preprocessing and " + other +
           " are both given; the first one changes no training image at random";
}

const std::vector<Rule> kImageRules = {
    {kTVE, one_data_source},
    {kTVE, one_norm},
    {kT, span_fits_replicas},
    {kTVE, fixed_image_size},
    {kTVE, made_images_need_a_published_set},
    {kT, lars_companions},
    {kT, accumulation_companions},
    {kT, recomputed_norms},
    {kTVE, data_folder},
    {kE, photos_or_folder},
    {kT, mixing_needs_pairs},
    {kT, cutmix_share},
    {kTVE, channel_constants},
    {kT, crop_area},
    {kT, rand_augment},
    {kT, colour_jitter},
    {kT, augmentation_of_evaluation},
    {kT, class_weights_exist},
    {kT, class_weights_need_pairs},
    {kT, learning_rate},
    {kT, exponential_decay},
};

}  // namespace

void check_image_options(Resolution& run) {
    check_rules(kImageRules, run);
}

}  // namespace cnntrain::tasks
