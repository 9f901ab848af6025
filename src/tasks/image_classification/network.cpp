#include "tasks/image_classification/network.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/options/line.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/task.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/hugging_face.h"
#include "tasks/image_classification/options.h"
#include "tasks/image_classification/resolve.h"
#include "tasks/task_table.h"
#include "tasks/teacher.h"

namespace cnntrain::tasks {

using run::arithmetic;
using run::batch_plan;
using run::numerics;

data::InputSettings data_settings(const options::Settings& settings, const backend::Backend& backend,
                                  std::uint64_t seed) {
    data::InputSettings result = data_settings_without_folder(settings, backend, seed);
    if (result.kind == data::DataKind::real) result.folder = data::find_data_folder(result.dataset, result.data_dir);
    return result;
}

data::InputSettings data_settings_without_folder(const options::Settings& settings, const backend::Backend& backend,
                                                 std::uint64_t seed) {
    data::InputSettings result{image_settings(settings).data};
    result.compute_dtype = arithmetic(settings.device, backend).type;
    result.seed = seed;
    result.threads = run::core_budget(settings.run).input_threads;
    return result;
}

namespace {

std::int64_t class_count(const ImageSettings& settings) {
    if (!settings.recorded_classes.empty()) return std::ssize(settings.recorded_classes);
    return settings.source_classes > 0 ? settings.source_classes : data::class_count(settings.data);
}

}  // namespace

nn::NetworkSettings network_settings(const options::Settings& settings) {
    const data::DataSettings& images = image_settings(settings).data;
    nn::NetworkSettings result{image_settings(settings).model};
    result.form = network_form(image_settings(settings));
    result.classes = class_count(image_settings(settings));
    if (images.classes && *images.classes != result.classes) {
        throw Error(ErrorKind::usage, "--num-classes " + std::to_string(*images.classes) +
                                          ": the network of the checkpoint has " + std::to_string(result.classes) +
                                          " classes");
    }
    result.image_size = images.image_size;
    return result;
}

bool reports_top_5(const options::Settings& settings) {
    if (image_settings(settings).data.labels.several()) return false;
    constexpr std::int64_t kAlwaysRight = 5;
    const bool is_usual = data::dataset_info(image_settings(settings).data.dataset).reports_top_5;
    return (is_usual || settings.validation.any()) && network_settings(settings).classes > kAlwaysRight;
}

nn::BuildRequest build_request(const options::Settings& settings, const backend::Backend& backend,
                               const TensorDesc& images) {
    nn::BuildRequest request;
    request.model = network_settings(settings);
    request.numerics = numerics(settings.device, backend);
    request.input.images = images;
    request.input.normalise = data::device_normalisation(image_settings(settings).data);
    request.labels = image_settings(settings).data.labels.kind;
    request.focus = settings.loss.focal_gamma;
    request.label_smoothing = image_settings(settings).label_smoothing;
    request.mixing = data::effective_mixing(image_settings(settings).data);
    return request;
}

graph::Graph teacher_graph(const options::Settings& student, const options::Settings& teacher,
                           const backend::Backend& backend, const TensorDesc& images) {
    nn::BuildRequest request = build_request(student, backend, images);
    request.model = network_settings(teacher);
    request.model.image_size = network_settings(student).image_size;
    request.label_smoothing = 0;
    nn::Model model = nn::build_evaluation(request, ops::op_table());
    model.graph.mark_output(run::kLogits, model.values.logits);
    return std::move(model.graph);
}

graph::Graph training_graph(const options::Settings& settings, const backend::Backend& backend,
                            const TensorDesc& images, const std::vector<double>& class_weights) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.class_weights = class_weights;
    if (settings.training.pipeline) request.splits = settings.training.pipeline_splits;
    request.model.frozen = settings.optimiser.freeze;
    request.model.norm_replicas = run::placement(settings, backend).samples / batch_plan(settings).micro_batch;
    if (!settings.loss.teacher.empty()) request.teacher_temperature = settings.loss.teacher_temperature();
    nn::Model model = nn::build_training(request, ops::op_table());
    run::warn_of_idle_filters(model.graph, settings.device);
    const auto samples = static_cast<double>(run::placement(settings, backend).samples);
    graph::Graph graph = run::with_update(std::move(model.graph), taught_loss(settings.loss, samples), settings,
                                          backend, image_settings(settings).model.bn_decay);
    if (settings.training.pipeline || !image_settings(settings).norm_recomputation) return graph;
    return graph::apply_rewrites(std::move(graph), backend.rewrites().one_stage);
}

namespace {

nn::Model evaluation_model(const options::Settings& settings, const backend::Backend& backend, const TensorDesc& images,
                           std::int64_t views) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.input.views = views;
    request.label_smoothing = 0;
    request.counts_top_5 = reports_top_5(settings);
    return nn::build_evaluation(request, ops::op_table());
}

}  // namespace

graph::Graph evaluation_graph(const options::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, run::GraphUse use, std::int64_t views) {
    nn::Model model = evaluation_model(settings, backend, images, views);
    if (use != run::GraphUse::evaluation) {
        model.graph.mark_output(run::kLogits, model.values.logits);
        if (!settings.main.features.empty()) nn::mark_features(model.graph, model.values.logits, run::kFeatures);
    }
    if (use == run::GraphUse::maps) nn::mark_maps(model.graph, model.values.logits, run::kMaps);
    return graph::apply_rewrites(std::move(model.graph), backend.rewrites().evaluation);
}

run::Classifier::Features features_graph(const options::Settings& settings, const backend::Backend& backend,
                                         const TensorDesc& images) {
    nn::Model model = evaluation_model(settings, backend, images, 1);
    nn::LastLayer last = nn::mark_features(model.graph, model.values.logits, run::kFeatures);
    return {graph::apply_rewrites(std::move(model.graph), backend.rewrites().evaluation), std::move(last)};
}

std::vector<std::string> image_functions(const options::Settings& settings) {
    return nn::split_points(network_settings(settings));
}

std::vector<std::string> usual_image_splits(const options::Settings& settings) {
    const bool all = nn::family_info(image_settings(settings).model.family).splits_before_any_function;
    std::vector<std::string> result;
    for (const std::string& name : image_functions(settings)) {
        if (all || name.ends_with("/relu")) result.push_back(name);
    }
    return result;
}

std::optional<weights::ImageNetwork> image_network(const options::ParseResult& arguments) {
    if (&arguments.task->options() != &image_options()) return std::nullopt;
    return weights::ImageNetwork{network_settings(arguments.settings), image_settings(arguments.settings).data};
}

namespace {

/// Keys of a run's options for the network and the images of its weights.
constexpr std::array<std::string_view, 28> kKept = {
    "model",         "model_size",        "batch_norm",        "group_norm",         "groups",         "padding",
    "norm_epsilon",  "bottleneck_stride", "network_form",      "convolution_groups", "group_dim",      "widenet",
    "no_se",         "depth_divisor",     "top_width",         "use_relu",           "expand_ratio",   "proxy_norm",
    "proxy_epsilon", "width_coefficient", "depth_coefficient", "normalise_input",    "normalise_mean", "normalise_std",
    "interpolation", "crop_fraction",     "resize_mode",       "image_size"};

/// Sets the value of the option with this key.
void set(WeightsSource& source, std::string_view key, Value value) {
    if (const Option* const option = image_options().find(key)) {
        source.values[option] = std::move(value);
    } else {
        source.without_option.push_back(std::string(key) + " " + to_string(value));
    }
}

void set_network(WeightsSource& source, const nn::NetworkSettings& network) {
    set(source, "model", std::string(spelling(network.family)));
    set(source, "model_size", network.size);
    set(source, network.norm == nn::NormKind::group ? "group_norm" : "batch_norm", true);
    if (network.family == nn::Family::resnext) {
        set(source, "convolution_groups", network.resnext.convolution_groups);
        set(source, "group_dim", network.resnext.group_dim);
        set(source, "widenet", network.resnext.widenet);
    }
    if (network.family == nn::Family::efficientnet) {
        set(source, "group_dim", network.efficientnet.group_dim);
        set(source, "no_se", !network.efficientnet.squeeze_excite);
    } else {
        set(source, "network_form", std::string(spelling(network.form)));
    }
}

void set_conventions(WeightsSource& source, const nn::NetworkSettings& network) {
    set(source, "padding", std::string(spelling(network.padding)));
    set(source, "norm_epsilon", network.epsilon);
    if (network.family != nn::Family::efficientnet) {
        set(source, "bottleneck_stride", std::string(spelling(network.bottleneck_stride)));
    }
}

void set_pixels(WeightsSource& source, const nn::SourcePixels& pixels) {
    const nn::SourcePixels imagenet;
    set(source, "image_size", pixels.image_size);
    if (pixels.mean == imagenet.mean && pixels.deviation == imagenet.deviation) {
        set(source, "normalise_input", true);
    } else {
        set(source, "normalise_mean", std::vector<double>(pixels.mean.begin(), pixels.mean.end()));
        set(source, "normalise_std", std::vector<double>(pixels.deviation.begin(), pixels.deviation.end()));
    }
    set(source, "crop_fraction", pixels.crop_fraction);
    set(source, "interpolation", pixels.interpolation);
}

/// timm's config.json says more than the architecture.
void add_config(const weights::TimmConfig& config, WeightsSource& source) {
    nn::SourcePixels& pixels = source.network.pixels;
    if (config.image_size) pixels.image_size = *config.image_size;
    if (!config.mean.empty()) std::ranges::copy(config.mean, pixels.mean.begin());
    if (!config.deviation.empty()) std::ranges::copy(config.deviation, pixels.deviation.begin());
    if (config.crop_fraction) pixels.crop_fraction = *config.crop_fraction;
    if (!config.interpolation.empty()) pixels.interpolation = config.interpolation;
    source.class_names = config.class_names;
    if (config.crop_mode == "squash") set(source, "resize_mode", std::string("squash"));
    if (config.crop_mode == "border") source.without_option.push_back("crop_mode " + config.crop_mode);
}

/// Adds options of the run that has saved the checkpoint: from its folder, or, if the checkpoint was moved, from its
/// metadata.
void add_recorded(const FileSystem& files, const std::map<std::string, std::string>& metadata, WeightsSource& source) {
    RecordedRun run = arguments_beside(files, source.path);
    if (run.source.empty()) run = {source.path, weights::run_options(metadata)};
    for (const auto& [option, value] : recorded_options(run, image_options())) {
        if (std::ranges::find(kKept, key(*option)) != kKept.end()) source.values[option] = value;
    }
}

/// The best or newest one of a folder; "" if there is none.
std::string file_of(const FileSystem& files, const std::string& restore_path) {
    try {
        return weights::best_or_latest(files, "", restore_path).path;
    } catch (const Error&) {
        return "";
    }
}

std::optional<weights::WeightsHeader> header_of(const FileSystem& files, const std::string& path) {
    try {
        return weights::weights_header(files, path);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<WeightsSource> own_source(const FileSystem& files, WeightsSource source,
                                        const weights::WeightsHeader& header) {
    set_network(source, source.network.settings);
    add_recorded(files, header.metadata, source);
    source.class_names = weights::class_names(header.metadata);
    return source;
}

std::optional<WeightsSource> foreign_source(const FileSystem& files, WeightsSource source) {
    const auto config = weights::timm_config_beside(files, source.path);
    if (config) add_config(*config, source);
    if (source.network.normalises_inside)
        nn::take_inner_normalisation(source.network.pixels, weights::load_weights(files, source.path).tensors);
    set_network(source, source.network.settings);
    set_conventions(source, source.network.settings);
    set_pixels(source, source.network.pixels);
    return source;
}

/// The option of a command that names a file of weights; "" if it has none.
std::string_view weights_option(Command command) {
    if (command == Command::train) return "--init-path";
    return command == Command::validation || command == Command::inference ? "--restore-path" : "";
}

std::string title_of(const nn::NetworkSettings& network) {
    return nn::family_info(network.family).title(network);
}

/// Options of the line that contradict the shapes of the weights.
std::vector<std::string> contradictions(const options::Resolution& run, const Layer& told) {
    std::vector<std::string> found;
    for (const char* key_text : {"model", "model_size", "network_form", "convolution_groups"}) {
        const auto value = told.find(&image_options().at(key_text));
        if (value == told.end() || !run.values.given(key_text)) continue;
        const ResolvedOption given = run.values.at(key_text);
        const bool zero = to_string(given.value) == "0" || to_string(given.value).empty();
        if (given.value != value->second && !zero)
            found.push_back(std::string(given.option->flag) + " " + to_string(given.value));
    }
    const auto group_norm = told.find(&image_options().at("group_norm"));
    const bool grouped = group_norm != told.end() && group_norm->second == Value(true);
    const char* const other = grouped ? "batch_norm" : "group_norm";
    if (run.values.given(other) && run.values.at(other).value == Value(true))
        found.emplace_back(run.values.option(other).flag);
    return found;
}

/// Reads the weights, unless the last call read this path. Null if this command takes nothing from them.
const WeightsSource* found_weights(ImageFindings& findings, Command command, const std::string& path) {
    if (findings.weights_path != path) {
        findings.weights = weights_source(posix_files(), path);
        findings.weights_path = path;
    }
    const bool tells = findings.weights && (!findings.weights->network.own || command == Command::train);
    return tells ? &*findings.weights : nullptr;
}

}  // namespace

ImageFindings& findings_of(std::shared_ptr<options::Findings>& findings) {
    if (findings == nullptr) findings = std::make_shared<ImageFindings>();
    return dynamic_cast<ImageFindings&>(*findings);
}

ImageFindings& findings_of(const options::Resolution& run) {
    CNNTRAIN_CHECK(run.findings != nullptr, "findings are asked for before there are any");
    return dynamic_cast<ImageFindings&>(*run.findings);
}

std::optional<WeightsSource> weights_source(const FileSystem& files, const std::string& restore_path) {
    const std::string path = file_of(files, restore_path);
    const auto header = path.empty() ? std::nullopt : header_of(files, path);
    if (!header) return std::nullopt;
    try {
        WeightsSource source;
        source.path = path;
        auto network = nn::source_network(header->tensors, "");
        if (!network) return std::nullopt;  // the run says what does not fit
        const auto config = network->own ? std::nullopt : weights::timm_config_beside(files, path);
        if (config) network = nn::source_network(header->tensors, config->architecture);
        source.network = *std::move(network);
        return source.network.own ? own_source(files, std::move(source), *header)
                                  : foreign_source(files, std::move(source));
    } catch (const Error& error) {
        throw error.within(path);
    }
}

Layer options_of_weights(Command command, const OwnWords& line, const Layer& config,
                         std::shared_ptr<options::Findings>& findings) {
    const std::string_view flag = weights_option(command);
    if (flag.empty()) return {};
    const auto of_line = [&](std::string_view wanted) -> std::optional<std::string> {
        if (auto typed = line.value(wanted)) return typed;
        const auto found = config.find(&image_options().of_shared(wanted));
        return found == config.end() ? std::nullopt : std::optional(to_string(found->second));
    };
    if (command == Command::train && of_line("--restore-path")) return {};  // its run has recorded everything
    const auto path = of_line(flag);
    if (!path) return {};
    const WeightsSource* const source = found_weights(findings_of(findings), command, *path);
    return source == nullptr ? Layer() : source->values;
}

const WeightsSource* weights_source_of(const options::Resolution& run) {
    const std::string_view flag = weights_option(run.command);
    if (flag.empty()) return nullptr;
    const std::optional<std::string>& restored = run.settings().main.restore_path;
    const bool resumes = run.command == Command::train && restored;
    const std::string path =
        (run.command == Command::train ? run.settings().training.init_path : restored).value_or("");
    if (resumes || path.empty()) return nullptr;
    return found_weights(findings_of(run), run.command, path);
}

void settle_weights(options::Resolution& run) {
    const WeightsSource* const source = weights_source_of(run);
    if (source == nullptr) return;
    const auto dataset = dataset_of(run);
    const bool other_size = dataset && !data::dataset_info(*dataset).any_image_size;
    if (other_size && run.values.source("image_size") == Source::weights) run.values.reset("image_size");
    for (const char* const colours : {"normalise_mean", "normalise_std"}) {
        // ImageNet's colours were asked for.
        const bool replaced = run.values.given("normalise_input") && run.values.source(colours) == Source::weights;
        if (replaced) run.values.reset(colours);
    }
    const std::vector<std::string> against = contradictions(run, source->values);
    if (!against.empty()) {
        run.violations.push_back(listed(against) + " contradicts " + source->path + ": its weights are of " +
                                 title_of(source->network.settings) + " with " +
                                 (source->network.settings.norm == nn::NormKind::group ? "group" : "batch") +
                                 " norm; leave out the option, or give other weights");
        return;
    }
    std::vector<std::string> taken;
    for (const auto& [option, value] : source->values) {
        if (!run.values.has(key(*option))) continue;
        const ResolvedOption now = run.values.at(key(*option));
        if (now.source == Source::weights) {
            const bool usual = is_boolean(*option) ? value == Value(false) : value == option->fallback;
            const std::string text = is_boolean(*option) ? "" : " " + to_string(value);
            if (!usual) taken.push_back(std::string(option->flag) + text);
        } else if (run.values.given(key(*option)) && now.value != value) {
            run.notices.push_back(documented_flag(*option) + " " + to_string(now.value) + " is used, but " +
                                  source->path + " has " + to_string(value));
        }
    }
    const std::string what = source->network.own ? "" : " (" + source->network.format + ")";
    if (!taken.empty()) run.notices.push_back("taken from " + source->path + what + ": " + joined(taken));
    if (!source->network.assumed.empty()) {
        run.notices.push_back(source->path + what +
                              " does not tell it, so these are assumed: " + source->network.assumed);
    }
    if (!source->without_option.empty())
        run.notices.push_back(source->path + what + ": not taken over: " + listed(source->without_option));
}

}  // namespace cnntrain::tasks
