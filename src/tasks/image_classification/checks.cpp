// Rules between options: one function and one message each. Rules that need the model's graph or the data files are
// checked by the modules that have them.
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"
#include "tasks/class_weights.h"
#include "tasks/image_classification/options.h"
#include "tasks/image_classification/own_photos.h"
#include "tasks/image_classification/resolve.h"
#include "tasks/teacher.h"

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

Violation features_of_one_view(const Resolution& run) {
    const bool flips = image_settings(run.settings()).data.test_time_flip;
    const run::MainSettings& wanted = run.settings().main;
    if ((wanted.features.empty() && wanted.maps.empty()) || !flips) return {};
    return (wanted.features.empty() ? "--maps" : "--features") +
           std::string(" does not work with --test-time-flip, which averages the answers of two photos");
}

Violation teaching_of_mixed_images(const Resolution& run) {
    const bool mixes = data::effective_mixing(image_settings(run.settings()).data).any();
    if (run.settings().loss.teacher.empty() || !mixes) return {};
    return "--teacher does not work with --mixup-alpha and --cutmix-lambda, which mix images after it has seen them";
}

/// Options that go with one class a photo only.
Violation several_labels(const Resolution& run) {
    const ImageSettings& own = image_settings(run.settings());
    const run::MainSettings& main = run.settings().main;
    if (own.data.labels.separator.size() != 1)
        return "--label-separator takes one character, got '" + own.data.labels.separator + "'";
    if (!own.data.labels.several()) return {};
    const auto dataset = dataset_of(run);
    const bool in_table = dataset && data::dataset_info(*dataset).format == data::ImageFormat::class_folders;
    if (!in_table || are_made(own))
        return "--labels several needs photos in a table of files and labels (--data-dir FILE.csv)";
    const std::string other = data::effective_mixing(own.data).any() ? "--mixup-alpha and --cutmix-lambda"
                              : own.label_smoothing > 0              ? "--label-smoothing"
                              : own.data.balanced                    ? "--balanced-sampling"
                              : !run.settings().loss.teacher.empty() ? "--teacher"
                              : !main.maps.empty()                   ? "--maps"
                              : !main.features.empty()               ? "--features"
                              : main.temperature != 1                ? "--temperature"
                              : main.unknown_below > 0               ? "--unknown-below"
                              : run.values.given("top_classes")      ? "--top-classes"
                                                                     : "";
    return other.empty() ? "" : other + ": not with --labels several; each label has a probability of its own";
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

Violation class_weights_of_batches(const Resolution& run) {
    return class_weights_need_pairs(run, image_settings(run.settings()).data.labels.several());
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
    {kE, features_of_one_view},
    {kTVE, data_folder},
    {kE, photos_or_folder},
    {kT, mixing_needs_pairs},
    {kT, teaching},
    {kT, teaching_of_mixed_images},
    {kTVE, several_labels},
    {kT, cutmix_share},
    {kTVE, channel_constants},
    {kT, crop_area},
    {kT, rand_augment},
    {kT, colour_jitter},
    {kT, augmentation_of_evaluation},
    {kT, class_weights_exist},
    {kT, class_weights_of_batches},
    {kT, learning_rate},
    {kT, exponential_decay},
};

}  // namespace

void check_image_options(Resolution& run) {
    check_rules(kImageRules, run);
}

// Adjusts given values before they are checked: updates old spellings, detects the data set, and changes values that
// cannot be honoured, with a notice.

namespace {

bool given_other_than_default(const OptionValues& values, std::string_view key) {
    return values.given(key) && values.at(key).value != values.option(key).fallback;
}

/// Converts split names of old releases: b1/2/relu, which counts units from 0, becomes stage1/unit3/relu.
std::string new_split_name(const std::string& name) {
    std::size_t at = 1;
    const auto digits = [&] {
        const std::size_t begin = at;
        while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0)
            ++at;
        return name.substr(begin, at - begin);
    };
    if (name.empty() || name[0] != 'b') return name;
    const std::string stage = digits();
    if (stage.empty()) return name;
    if (at == name.size()) return "stage" + stage;
    if (name[at++] != '/') return name;
    const std::string unit = digits();
    const std::string rest = name.substr(at);
    if (unit.empty() || unit.size() > 6 || (!rest.empty() && rest != "/relu")) return name;
    return "stage" + stage + "/unit" + std::to_string(std::stoi(unit) + 1) + rest;
}

std::optional<data::DatasetId> dataset_from_name(const std::string& name) {
    const std::string path = in_lower_case(name);
    for (const data::DatasetInfo& info : data::kDatasets) {
        const auto is_in_path = [&](std::string_view part) {
            return !part.empty() && path.find(part) != std::string::npos;
        };
        if (std::ranges::any_of(info.path_part, is_in_path)) return info.id;
    }
    return std::nullopt;
}

/// True if `folder` contains this file or folder. Each part of the path may have shell wildcards.
bool holds(const std::string& folder, std::string_view path) {
    const std::size_t slash = path.find('/');
    const std::string part(path.substr(0, slash));
    return std::ranges::any_of(posix_files().list(folder), [&](const std::string& name) {
        if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) != 0) return false;
        if (slash == std::string_view::npos) return true;
        const std::string inner = folder + "/" + name;
        return is_directory(posix_files(), inner) && holds(inner, path.substr(slash + 1));
    });
}

/// Detects the data set from the folder's files, for folders whose name gives no hint. Throws Error(data) if the folder
/// cannot be read.
std::optional<data::DatasetId> dataset_from_content(const std::string& folder) {
    if (posix_files().kind(folder) == FileKind::directory) {
        std::vector<data::DatasetId> found;
        for (const data::DatasetInfo& info : data::kDatasets) {
            if (!info.mark.empty() && (holds(folder, info.mark) || holds(folder, info.folder)))
                found.push_back(info.id);
        }
        if (found.size() == 1) return found.front();
        if (found.size() > 1) return std::nullopt;
    }
    return data::looks_like_photos(folder) ? std::optional(data::DatasetId::folder) : std::nullopt;
}

/// The names for a message; `published`: only data sets whose number of classes is fixed.
std::string dataset_names(bool published = false) {
    std::vector<std::string> names;
    for (const std::string_view name : spellings(data::DatasetId{})) {
        if (!published || data::dataset_info(*named<data::DatasetId>(name)).classes > 0) names.emplace_back(name);
    }
    return listed(names, "or");
}

/// The files of a data set are in the folder or below it.
bool is_below(data::DatasetId dataset, const std::string& folder) {
    try {
        data::find_data_folder(dataset, folder);
        return true;
    } catch (const Error&) {
        return false;
    }
}

void turn_off(Resolution& run, std::string_view key, const std::string& reason) {
    run.values.set(key, false, Source::adjusted);
    run.notices.push_back(documented_flag(run.values.option(key)) + " is switched off: " + reason);
}

void adjust_data(Resolution& run) {
    OptionValues& values = run.values;
    const ImageSettings& own = image_settings(run.settings());
    const optim::OptimiserSettings& optimiser = run.settings().optimiser;
    const auto dataset = dataset_of(run);
    if (own.fused_preprocessing && dataset && !data::dataset_info(*dataset).normalised_by_channel)
        turn_off(run, "fused_preprocessing", "it exists for ImageNet only");
    if (own.data.hostside_norm && own.fused_preprocessing)
        turn_off(run, "hostside_norm", "with --fused-preprocessing the device normalises");
    if (own.data.hostside_norm && own.data.eight_bit_io)
        turn_off(run, "hostside_norm", "with --eight-bit-io the device normalises");
    if (are_made(own)) {
        for (const char* mixing : {"mixup_alpha", "cutmix_lambda"}) {
            if (!given_other_than_default(values, mixing)) continue;
            const Option& option = values.option(mixing);
            values.set(mixing, option.fallback, Source::adjusted);
            run.notices.push_back(std::string(option.flag) + " is ignored: the images are not real");
        }
    }
    if (optimiser.rmsprop_decay && values.given("rmsprop_base_decay_exp"))
        run.notices.push_back("--rmsprop-base-decay-exp is ignored: --rmsprop-decay is given");
    if (own.synthetic_data && run.settings().device.latency)
        turn_off(run, "latency", "synthetic data never passes the host");
}

/// Replaces old spellings of values by the new ones.
void renew_spellings(Resolution& run) {
    OptionValues& values = run.values;
    if (values.is_set("pipeline_splits")) {
        std::vector<std::string> splits = run.settings().training.pipeline_splits;
        for (std::string& split : splits)
            split = new_split_name(split);
        values.set("pipeline_splits", splits, values.source("pipeline_splits"));
    }
    const nn::ModelSettings& model = image_settings(run.settings()).model;
    const auto spelled = nn::family_info(model.family).spelled_size;
    if (spelled != nullptr && values.is_set("model_size"))
        values.set("model_size", spelled(model.size), values.source("model_size"));
}

/// Names of the classes in the checkpoint of --restore-path, if it is there and its network has named ones.
std::vector<std::string> recorded_classes(const std::optional<std::string>& restore_path) {
    if (!restore_path || restore_path->empty()) return {};
    try {
        return weights::class_names_of(posix_files(), *restore_path);
    } catch (const Error&) {
        return {};  // the run reports what is wrong with the checkpoint
    }
}

/// The line's own data folder may hold another data set than that of the run that is evaluated.
void prefer_found_dataset(Resolution& run) {
    OptionValues& values = run.values;
    const data::DataSettings& own = image_settings(run.settings()).data;
    const std::string& folder = own.data_dir;
    if (folder.empty() || values.source("data_dir") == Source::arguments) return;
    const auto found = dataset_from_content(folder);
    if (!found || found == dataset_of(run)) return;
    run.notices.push_back("--dataset: the run has " + std::string(spelling(own.dataset)) + ", " + folder + " holds " +
                          std::string(spelling(*found)));
    values.set("dataset", std::string(spelling(*found)), Source::adjusted);
}

bool is_missing_run(const std::string& path) {
    return !path.empty() && !exists(posix_files(), path) &&
           !exists(posix_files(), path + std::string(weights::kCheckpointSuffix)) &&
           !exists(posix_files(), path + std::string(weights::kTensorFlowIndex));
}

void infer_dataset(Resolution& run) {
    OptionValues& values = run.values;
    if (!values.has("dataset")) return;
    if (values.source("dataset") == Source::arguments) prefer_found_dataset(run);
    if (values.is_set("dataset")) return;
    const ImageSettings& own = image_settings(run.settings());
    const std::string run_path = run.settings().main.restore_path.value_or("");
    if (is_missing_run(run_path)) {
        run.violations.push_back("--restore-path " + run_path + ": there is no such run or checkpoint");
        return;
    }
    // Weights determine the classes, so that the data set need not.
    if (own.synthetic_data && run.command == Command::inference && weights_source_of(run)) {
        values.set("dataset", std::string(spelling(data::DatasetId::imagenet)), Source::adjusted);
        return;
    }
    if (are_made(own)) {
        run.violations.push_back("--generated-data and --synthetic-data need --dataset (" +
                                 dataset_names(/*published=*/true) + ")");
        return;
    }
    const std::string& folder = own.data.data_dir;
    if (folder.empty()) {
        const std::string resumed = run.command == Command::train ? run_path : "";
        run.violations.emplace_back(
            std::string("no data: give --data-dir (or set DATA_DIR), a folder of photos, CIFAR's files or ImageNet's "
                        "TFRecords, or use --generated-data with --dataset") +
            (run.command == Command::inference ? "; a run and its photos: cnntrain inference RUN PHOTO.jpg" : "") +
            (resumed.empty() ? ""
                             : "; to go on with all options of a run: cnntrain restore --restore-path " + resumed));
        return;
    }
    auto dataset = dataset_from_name(folder);
    const auto found = dataset_from_content(folder);
    const bool only_named = dataset && found == data::DatasetId::folder && !is_below(*dataset, folder);
    if (!dataset || only_named) dataset = found;
    if (!dataset && run.command == Command::inference && weights_source_of(run)) dataset = data::DatasetId::folder;
    if (dataset) {
        values.set("dataset", std::string(spelling(*dataset)), Source::adjusted);
        return;
    }
    if (!exists(posix_files(), folder)) {
        run.violations.push_back("the data folder '" + folder +
                                 "' does not exist; give --data-dir a folder with a data set (" + dataset_names() +
                                 ")");
        return;
    }
    const std::string hint = run.command != Command::inference
                                 ? "; photos lie in a folder for each class, PHOTOS/<class>/, or a table "
                                   "names their files and classes (.csv)"
                             : run_path.empty() ? "; to find classes by the network of a run, give --restore-path RUN"
                                                : "";
    run.violations.push_back("--dataset is not given and cannot be detected from the data folder '" + folder +
                             "'; give --dataset " + dataset_names() + hint);
}

/// --smoothing of timm and PyTorch includes the sample's own class.
void convert_smoothing(Resolution& run) {
    OptionValues& values = run.values;
    const std::optional<double> smoothing = image_settings(run.settings()).smoothing;
    if (!smoothing || !dataset_of(run)) return;
    const auto classes = static_cast<double>(data::class_count(options_of_data(run)));
    constexpr double kDigits = 1e12;  // 0.0875 for 0.1 of 8 classes, not 0.08750000000000001
    const double share = std::round(kDigits * *smoothing * (classes - 1) / classes) / kDigits;
    values.set("label_smoothing", share, values.source("smoothing"));
    run.notices.push_back("--smoothing " + to_string(Value(*smoothing)) + " over all " + formatted("%.0f", classes) +
                          " classes is --label-smoothing " + to_string(Value(share)));
}

/// Photos take the place of the data folder. A single one is a folder, a pattern, a table or a file, as --data-dir.
void take_photos(OptionValues& values) {
    const std::vector<std::string> photos = image_settings(values.settings()).data.photos;
    if (photos.empty() || values.source("data_dir") == Source::command_line) return;
    values.set("data_dir", photos.front(), Source::command_line);
    if (photos.size() == 1) values.set("photos", std::vector<std::string>{}, Source::adjusted);
}

}  // namespace

void fill_image_options(Resolution& run) {
    findings_of(run.findings);
    take_photos(run.values);
    renew_spellings(run);
    infer_dataset(run);
    settle_weights(run);
    convert_smoothing(run);
    fill_for_own_photos(run);
    fill_model_defaults(run);
}

void adjust_image_options(Resolution& run) {
    OptionValues& values = run.values;
    adjust_data(run);
    keep_path_of_class_weights(values);
    const ImageSettings& own = image_settings(run.settings());
    const auto dataset = dataset_of(run);
    const bool validates_imagenet = run.command != Command::train && dataset && !are_made(own) &&
                                    data::dataset_info(*dataset).format == data::ImageFormat::records;
    if (values.has("standard_imagenet") && validates_imagenet && values.at("standard_imagenet").value != Value(true))
        values.set("standard_imagenet", true, Source::adjusted);
    if (run.settings().ipu.half_partials && run.settings().device.precision == nn::Precision::p32_32)
        run.notices.emplace_back("--enable-half-partials has no defined use with --precision 32.32");
    const bool batch_norm_only = own.batch_norm && !own.group_norm;
    if (nn::family_info(own.model.family).one_group_with_batch_norm && batch_norm_only)
        values.set("groups", std::int64_t{1}, Source::adjusted);
}

namespace {

Images images_of(const data::DatasetInfo& info, bool made) {
    switch (info.format) {
        case data::ImageFormat::records:
            return made ? Images::imagenet_made : Images::imagenet_files;
        case data::ImageFormat::class_folders:
            return made ? Images::imagenet_made : Images::class_folders;
        case data::ImageFormat::raw_pixels:
            return made ? Images::cifar_made : Images::cifar_files;
    }
    throw Error(ErrorKind::internal, "a format of images without a source");
}

}  // namespace

std::string images_reason(const Option& option, const Resolution& run) {
    const auto dataset = dataset_of(run);
    if (!dataset) return "";
    const ImageSettings& own = image_settings(run.settings());
    const bool made = are_made(own);
    // This option also sizes the buffers of streams with --backend ipu; synthetic inputs have no streams.
    const bool has_streams = run.settings().run.backend == backend::BackendKind::ipu && !own.synthetic_data;
    if (option.flag == "--prefetch-depth" && has_streams) return "";
    if ((option.acts.on & bit(images_of(data::dataset_info(*dataset), made))) != 0) return "";
    if (!option.acts.on_reason.empty()) return std::string(option.acts.on_reason);
    if (made && (option.acts.on & ~kFiles) == 0) return "no images are read from files";
    return (option.acts.on & kPhotos) == 0         ? "it is for CIFAR only"
           : (option.acts.on & kPhotos) == kPhotos ? "it is for ImageNet and photos in folders only"
                                                   : "it is for ImageNet only";
}

namespace {

/// Parts of the names of weights without weight decay, by data set and model.
std::vector<std::string> weight_decay_exclusions(nn::Family family, data::DatasetId dataset) {
    if (data::dataset_info(dataset).decays_norms) return {};
    return nn::family_info(family).undecayed;
}

/// Said before the training, because the way out is another training.
void note_missing_exports(const ImageSettings& own, Resolution& run) {
    const bool photos = data::dataset_info(own.data.dataset).format == data::ImageFormat::class_folders;
    const bool trains_on_photos = run.command == Command::train && photos && own.data.kind == data::DataKind::real;
    if (!trains_on_photos || !run.violations.empty()) return;
    nn::NetworkSettings network{own.model};
    network.form = network_form(own);
    const std::string why = nn::why_no_target(network);
    if (!why.empty()) run.notices.push_back("convert will not write this run for torchvision or timm: " + why);
}

std::vector<std::string> numbers_below(std::int64_t count) {
    std::vector<std::string> numbers;
    for (std::int64_t i = 0; i < count; ++i)
        numbers.push_back(std::to_string(i));
    return numbers;
}

/// True if the photos' classes are numbers of the classes of weights that name none, as in shards of ImageNet.
bool names_numbers(const ImageSettings& own) {
    if (data::dataset_info(own.data.dataset).format != data::ImageFormat::class_folders || are_made(own)) return false;
    try {
        const std::vector<std::string> names = data::class_names(own.data);
        return std::ssize(names) < own.source_classes && std::ranges::all_of(names, [&](const std::string& name) {
                   const auto number = as_number<std::int64_t>(name);
                   return number && *number >= 0 && *number < own.source_classes;
               });
    } catch (const Error&) {
        return false;  // whoever reads the photos reports it
    }
}

}  // namespace

void complete_image_settings(Settings& settings, Resolution& run) {
    ImageSettings& own = settings.task.as<ImageSettings>();
    if (settings.training.iterations == 0) settings.training.iterations.reset();
    if (!run.values.has("dataset")) return;
    own.model.norm = own.group_norm ? nn::NormKind::group : nn::NormKind::batch;
    if (own.group_norm || settings.training.replicas * settings.training.processes == 1)
        settings.training.norm_span = 1;
    if (!own.group_norm) own.model.groups = 1;
    own.data.kind = kind_of(own);
    settings.ipu.inputs_stay = own.data.kind == data::DataKind::synthetic;
    if (own.data.kind != data::DataKind::real) own.data.data_dir.clear();
    own.data.found_photos = findings_of(run).photos;
    const bool names_classes = data::dataset_info(own.data.dataset).format != data::ImageFormat::raw_pixels;
    const bool evaluates = run.command == Command::validation || run.command == Command::inference;
    if (names_classes && evaluates && own.data.kind == data::DataKind::real)
        own.recorded_classes = recorded_classes(settings.main.restore_path);
    if (const WeightsSource* const source = evaluates ? weights_source_of(run) : nullptr) {
        own.source_classes = source->network.settings.classes;
        if (std::ssize(source->class_names) == own.source_classes) own.recorded_classes = source->class_names;
        if (own.recorded_classes.empty() && names_numbers(own))
            own.recorded_classes = numbers_below(own.source_classes);
    }
    own.data.known_classes = own.recorded_classes;
    note_missing_exports(own, run);
    settings.optimiser.weight_decay_exclude = weight_decay_exclusions(own.model.family, own.data.dataset);
}

}  // namespace cnntrain::tasks
