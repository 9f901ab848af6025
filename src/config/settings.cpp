#include "cnntrain/config/settings.h"

#include <cmath>

#include "config/resolve.h"

namespace cnntrain::config {

namespace {

/// Which weights are not decayed, by data set and model.
std::vector<std::string> weight_decay_exclusions(ModelFamily family, Dataset dataset) {
    if (dataset != Dataset::imagenet) return {};
    if (family == ModelFamily::efficientnet) return {"beta", "gamma", "proxy", "moving_"};
    return {"beta", "gamma"};
}

/// Members that more than one option decides.
void derive(Settings& settings, const OptionValues& values) {
    const bool imagenet = settings.data.dataset == Dataset::imagenet;
    settings.model.norm = values.flag("group_norm") ? Norm::group : Norm::batch;
    settings.model.groups = values.flag("group_norm") ? values.integer("groups") : 1;
    settings.model.shortcut = imagenet ? Shortcut::projection : Shortcut::zero_pad;
    if (values.flag("generated_data")) settings.data.source = DataSource::generated;
    if (values.flag("synthetic_data")) settings.data.source = DataSource::synthetic;
    if (settings.data.source != DataSource::real) settings.data.data_dir.clear();
    settings.training.weight_decay_exclude = weight_decay_exclusions(settings.model.family, settings.data.dataset);
    if (settings.training.iterations == 0) settings.training.iterations.reset();
}

}  // namespace

Settings to_settings(const Resolution& run) {
    Settings settings;
    for (const ResolvedOption& entry : run.values.all()) {
        if (entry.option->bind.write != nullptr) entry.option->bind.write(settings, entry.value);
    }
    if (run.values.has("dataset")) derive(settings, run.values);
    return settings;
}

double base_learning_rate(const LearningRateSettings& settings, std::int64_t global_batch_size) {
    if (settings.absolute) return *settings.absolute;
    return std::exp2(settings.base_exponent) * static_cast<double>(global_batch_size);
}

double rmsprop_decay(const TrainingSettings& settings, std::int64_t global_batch_size) {
    if (settings.rmsprop_decay) return *settings.rmsprop_decay;
    if (!settings.rmsprop_base_decay_exp) return 0;
    return 1 - std::exp2(*settings.rmsprop_base_decay_exp) * static_cast<double>(global_batch_size);
}

std::string run_name(const Settings& settings, std::string_view random) {
    const TrainingSettings& training = settings.training;
    const bool efficientnet = settings.model.family == ModelFamily::efficientnet;
    std::string replicas;
    if (training.replicas > 1) replicas = "x" + std::to_string(training.replicas) + "r";
    std::string accumulation;
    if (training.pipeline || training.gradient_accumulation_count > 1) {
        accumulation = "x" + std::to_string(training.gradient_accumulation_count) + (training.pipeline ? "p" : "a");
    }
    std::string result = settings.model.family == ModelFamily::resnet    ? "RN"
                         : settings.model.family == ModelFamily::resnext ? "RNX"
                                                                         : "EfficientNet-";
    result += settings.model.size + "_bs" + std::to_string(training.micro_batch_size);
    result += efficientnet ? accumulation + replicas : replicas + accumulation;
    result += settings.model.norm == Norm::group ? "_GN" + std::to_string(settings.model.groups) : "_BN";
    if (!efficientnet) {
        result += "_" + std::string(name(settings.device.precision));
        if (settings.device.stochastic_rounding == StochasticRounding::off) result += "_noSR";
    }
    if (settings.logging.name_suffix) result += "_" + *settings.logging.name_suffix;
    return result + "_" + std::string(random);
}

}  // namespace cnntrain::config
