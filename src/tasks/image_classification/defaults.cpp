// Values that a model sets if the user did not.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/data/sets.h"
#include "cnntrain/graph/model.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {
namespace {

/// Sets options that have no value to the model's defaults. For options without a meaning for 0, 0 counts as not given.
class Filler {
public:
    explicit Filler(Resolution& run) : run_(run), values_(run.values) {}

    void if_unset(std::string_view key, const std::optional<double>& value) {
        if (value && values_.has(key) && !values_.is_set(key)) values_.set(key, *value, Source::model);
    }

    void if_zero(std::string_view key, double value) { replace(key, value, {Value(), Value(0.0)}); }
    void if_zero(std::string_view key, std::int64_t value) { replace(key, value, {Value(), Value(std::int64_t{0})}); }

    /// A name may also be missing as "" or "0".
    void if_nameless(std::string_view key, std::string_view value) {
        replace(key, std::string(value), {Value(), Value(std::string()), Value(std::string("0"))});
    }

private:
    void replace(std::string_view key, const Value& value, const std::vector<Value>& missing) {
        if (!values_.has(key)) return;
        const ResolvedOption now = values_.at(key);
        if (now.value == value || std::ranges::find(missing, now.value) == missing.end()) return;
        const bool given = values_.given(key) && now.value != Value(std::string());
        if (given) {
            run_.notices.push_back(std::string(now.option->flag) + " 0 counts as not given: " + to_string(value) +
                                   " is used");
        }
        values_.set(key, value, given ? Source::adjusted : Source::model);
    }

    Resolution& run_;
    OptionValues& values_;
};

void fill_norm(Resolution& run, const nn::FormDefaults& defaults) {
    const ImageSettings& own = image_settings(run.settings());
    if (!own.batch_norm && !own.group_norm) {
        run.values.set(defaults.norm == nn::NormKind::group ? "group_norm" : "batch_norm", true, Source::model);
    }
    if (own.group_norm) Filler(run).if_zero("groups", defaults.groups);
}

void fill_training(Resolution& run, const nn::FormDefaults& defaults) {
    OptionValues& values = run.values;
    const optim::OptimiserSettings& optimiser = run.settings().optimiser;
    Filler fill(run);
    const bool lars = optimiser.rule == graph::UpdateRule::lars;
    fill.if_unset("weight_decay", lars ? 0.0 : defaults.weight_decay);
    if (lars) fill.if_unset("lars_weight_decay", defaults.weight_decay);
    if (optimiser.rule == graph::UpdateRule::rmsprop && !optimiser.rmsprop_decay)
        fill.if_unset("rmsprop_base_decay_exp", defaults.rmsprop_base_decay_exp);
    const auto exponent = defaults.rate_exponents.find(optimiser.rule);
    if (!image_settings(run.settings()).learning_rate.absolute && exponent != defaults.rate_exponents.end())
        fill.if_zero("base_learning_rate_exponent", exponent->second);
    if (run.settings().training.iterations.value_or(0) == 0) fill.if_zero("epochs", defaults.epochs);
    if (values.has("learning_rate_schedule") && !values.is_set("learning_rate_schedule"))
        values.set("learning_rate_schedule", defaults.drop_fractions, Source::model);
    // LARS uses the common weight decay if its own is 0.
    if (lars) fill.if_zero("lars_weight_decay", optimiser.weight_decay);
    fill.if_zero("learning_rate_decay", 0.1);
    if (defaults.rate_decay) fill.if_zero("lr_decay_rate", *defaults.rate_decay);
    if (defaults.rate_drops) fill.if_zero("lr_drops", *defaults.rate_drops);
}

/// The data set's times of validations, unless the user says some or wants none.
void fill_validation_times(Resolution& run, const data::DatasetInfo& images) {
    if (images.validate_every <= 0 || !run.settings().validation.enabled) return;
    for (const char* key : {"validate_every", "validate_every_updates"}) {
        if (run.values.source(key) != Source::default_value) return;
    }
    run.values.set("validate_every", images.validate_every, Source::model);
}

std::int64_t default_image_size(const nn::FamilyInfo& family, const std::string& size,
                                const data::DatasetInfo& dataset) {
    const std::int64_t pixels = family.image_size != nullptr ? family.image_size(size) : 0;
    return pixels != 0 ? pixels : dataset.image_size;
}

/// The form that --network-form names, or that follows from the size of the network and of the images.
nn::NetworkForm fill_form(Resolution& run, const data::DatasetInfo& images) {
    const ImageSettings& own = image_settings(run.settings());
    if (own.network_form) return *own.network_form;
    const auto has_size = [&](nn::NetworkForm form) {
        const std::vector<std::string> sizes = nn::model_sizes(own.model.family, form);
        return std::ranges::find(sizes, own.model.size) != sizes.end();
    };
    if (images.format != data::ImageFormat::class_folders) return images.network_form;
    const bool large = has_size(nn::NetworkForm::large_images);
    const bool small = has_size(nn::NetworkForm::small_images);
    const std::int64_t side = own.data.image_size;
    const bool small_images = large == small ? side > 0 && side <= data::kLargestSmallImage : small;
    const auto form = small_images ? nn::NetworkForm::small_images : nn::NetworkForm::large_images;
    run.values.set("network_form", std::string(spelling(form)), Source::model);
    return form;
}

}  // namespace

void fill_model_defaults(Resolution& run) {
    const auto dataset = dataset_of(run);
    if (!dataset) return;
    const ImageSettings& own = image_settings(run.settings());
    const data::DatasetInfo& images = data::dataset_info(*dataset);
    const nn::FamilyInfo info = nn::family_info(own.model.family);
    const nn::FormDefaults& defaults = nn::defaults_of(info, fill_form(run, images));
    Filler fill(run);
    fill.if_nameless("model_size", defaults.size);
    fill.if_zero("micro_batch_size", defaults.micro_batch_size);
    fill_norm(run, defaults);
    fill.if_zero("BN_decay", 0.97);
    fill.if_zero("pipeline_num_parallel", std::int64_t{48});
    fill.if_zero("image_size", default_image_size(info, own.model.size, images));
    fill.if_unset("norm_epsilon", info.norm_epsilon);
    if (info.convolution_groups != 0) fill.if_zero("convolution_groups", info.convolution_groups);
    if (info.group_dim != 0) fill.if_zero("group_dim", info.group_dim);
    if (defaults.label_smoothing != 0 && !own.data.labels.several())
        fill.if_zero("label_smoothing", defaults.label_smoothing);
    if (defaults.two_pass_variance && !own.force_unstable_norm && !run.settings().ipu.stable_norm)
        run.values.set("stable_norm", true, Source::model);
    if (run.command != Command::train) return;
    fill_training(run, defaults);
    fill_validation_times(run, images);
}

data::DataSettings options_of_data(const Resolution& run) {
    const ImageSettings& own = image_settings(run.settings());
    data::DataSettings settings;
    settings.dataset = own.data.dataset;
    settings.kind = kind_of(own);
    settings.data_dir = own.data.data_dir;
    settings.validation_fraction = own.data.validation_fraction;
    settings.split_seed = own.data.split_seed;
    settings.labels = own.data.labels;
    settings.classes = own.data.classes;
    settings.found_photos = findings_of(run).photos;
    return settings;
}

std::optional<data::DatasetId> dataset_of(const Resolution& run) {
    if (!run.values.is_set("dataset")) return std::nullopt;
    return image_settings(run.settings()).data.dataset;
}

}  // namespace cnntrain::tasks
