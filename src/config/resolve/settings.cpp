#include "cnntrain/config/settings.h"

#include "config/resolve/resolve.h"

namespace cnntrain::config {

namespace {

/// Which weights are not decayed, by data set and model.
std::vector<std::string> weight_decay_exclusions(nn::Family family, data::DatasetId dataset) {
    if (data::dataset_info(dataset).decays_norms) return {};
    if (family == nn::Family::efficientnet) return {"beta", "gamma", "proxy", "moving_"};
    return {"beta", "gamma"};
}

/// Members that more than one option decides.
void derive(Settings& settings, const OptionValues& values) {
    settings.model.norm = values.flag("group_norm") ? nn::NormKind::group : nn::NormKind::batch;
    if (values.flag("group_norm") || settings.training.replicas * settings.training.processes == 1)
        settings.training.norm_span = 1;
    settings.model.groups = values.flag("group_norm") ? values.integer("groups") : 1;
    if (values.flag("generated_data")) settings.data.kind = data::DataKind::generated;
    if (values.flag("synthetic_data")) settings.data.kind = data::DataKind::synthetic;
    if (settings.data.kind != data::DataKind::real) settings.data.data_dir.clear();
    settings.optimiser.weight_decay_exclude = weight_decay_exclusions(settings.model.family, settings.data.dataset);
    if (settings.training.iterations == 0) settings.training.iterations.reset();
}

}  // namespace

Settings to_settings(const Resolution& run) {
    Settings settings;
    for (const ResolvedOption& entry : run.values.all()) {
        if (entry.option->bind.write != nullptr) entry.option->bind.write(settings, entry.value);
    }
    settings.training.processes = run.values.launch().processes;
    if (run.values.has("dataset")) derive(settings, run.values);
    return settings;
}

std::string run_name(const Settings& settings, std::string_view random) {
    const train::TrainingSettings& training = settings.training;
    const bool efficientnet = settings.model.family == nn::Family::efficientnet;
    std::string replicas;
    if (training.replicas > 1) replicas = "x" + std::to_string(training.replicas) + "r";
    std::string accumulation;
    if (training.pipeline || training.gradient_accumulation_count > 1) {
        accumulation = "x" + std::to_string(training.gradient_accumulation_count) + (training.pipeline ? "p" : "a");
    }
    std::string result = settings.model.family == nn::Family::resnet    ? "RN"
                         : settings.model.family == nn::Family::resnext ? "RNX"
                                                                        : "EfficientNet-";
    result += settings.model.size + "_bs" + std::to_string(training.micro_batch_size);
    result += efficientnet ? accumulation + replicas : replicas + accumulation;
    result += settings.model.norm == nn::NormKind::group ? "_GN" + std::to_string(settings.model.groups) : "_BN";
    if (!efficientnet) {
        result += "_" + std::string(name(settings.device.precision));
        if (settings.device.stochastic_rounding == backend::StochasticRounding::off) result += "_noSR";
    }
    if (settings.logging.name_suffix) result += "_" + *settings.logging.name_suffix;
    return result + "_" + std::string(random);
}

}  // namespace cnntrain::config
