// Values that a model sets if the user did not.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/data/resolve.h"
#include "cnntrain/graph/family_info.h"
#include "cnntrain/graph/model.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {
namespace {

/// Sets options that have no value to the model's defaults. For options without a meaning for 0, 0 counts as not given.
class Filler {
public:
    explicit Filler(Resolution& run) : run_(run), values_(run.values) {}

    void number(std::string_view key, std::optional<double> value) {
        if (value && values_.has(key) && !values_.is_set(key)) values_.set(key, *value, Source::model);
    }

    void number_unless_zero(std::string_view key, std::optional<double> value) {
        if (value && values_.has(key) && values_.number(key) == 0.0) replace_zero(key, *value);
    }

    void integer(std::string_view key, std::int64_t value) {
        if (values_.has(key) && values_.integer(key) == 0) replace_zero(key, value);
    }

    /// A size is a name; "" and "0" count as not given.
    void size(std::string_view key, std::string_view value) {
        if (values_.text(key) == "0") {
            replace_zero(key, std::string(value));
        } else if (values_.text(key).empty()) {
            values_.set(key, std::string(value), Source::model);
        }
    }

    void on(std::string_view key) {
        if (!values_.flag(key)) values_.set(key, true, Source::model);
    }

private:
    void replace_zero(std::string_view key, Value value) {
        if (values_.at(key).value == value) return;
        const bool given = values_.given(key);
        if (given) {
            run_.notices.push_back(std::string(values_.at(key).option->flag) +
                                   " 0 counts as not given: " + to_string(value) + " is used");
        }
        values_.set(key, std::move(value), given ? Source::adjusted : Source::model);
    }

    Resolution& run_;
    OptionValues& values_;
};

void fill_norm(Resolution& run, const nn::FormDefaults& defaults) {
    OptionValues& values = run.values;
    if (!values.flag("batch_norm") && !values.flag("group_norm"))
        values.set(defaults.norm == nn::NormKind::group ? "group_norm" : "batch_norm", true, Source::model);
    if (values.flag("group_norm")) Filler(run).integer("groups", defaults.groups);
}

/// LARS uses the common weight decay if its own is 0.
void fill_lars_weight_decay(Resolution& run, graph::UpdateRule optimiser) {
    OptionValues& values = run.values;
    if (optimiser != graph::UpdateRule::lars || values.number("lars_weight_decay") != 0.0) return;
    Filler(run).number_unless_zero("lars_weight_decay", values.number("weight_decay"));
}

void fill_training(Resolution& run, const nn::FormDefaults& defaults) {
    OptionValues& values = run.values;
    Filler fill(run);
    const graph::UpdateRule optimiser = *named<graph::UpdateRule>(values.text("optimiser"));
    fill.number("weight_decay", optimiser == graph::UpdateRule::lars ? 0.0 : defaults.weight_decay);
    if (optimiser == graph::UpdateRule::lars) fill.number("lars_weight_decay", defaults.weight_decay);
    if (optimiser == graph::UpdateRule::rmsprop && !values.is_set("rmsprop_decay"))
        fill.number("rmsprop_base_decay_exp", defaults.rmsprop_base_decay_exp);
    const auto exponent = defaults.rate_exponents.find(optimiser);
    if (!values.is_set("abs_learning_rate") && exponent != defaults.rate_exponents.end())
        fill.number_unless_zero("base_learning_rate_exponent", exponent->second);
    if (values.integer("iterations") == 0) fill.number_unless_zero("epochs", defaults.epochs);
    if (values.has("learning_rate_schedule") && !values.is_set("learning_rate_schedule"))
        values.set("learning_rate_schedule", defaults.drop_fractions, Source::model);
    fill_lars_weight_decay(run, optimiser);
    fill.number_unless_zero("learning_rate_decay", 0.1);
    fill.number_unless_zero("lr_decay_rate", defaults.rate_decay);
    if (defaults.rate_drops) fill.integer("lr_drops", *defaults.rate_drops);
}

/// The data set's times of validations, unless the user says some or wants none.
void fill_validation_times(OptionValues& values, const data::DatasetInfo& images) {
    if (images.validate_every <= 0 || !values.flag("validation")) return;
    for (const char* key : {"validate_every", "validate_every_updates"}) {
        if (values.at(key).source != Source::default_value) return;
    }
    values.set("validate_every", images.validate_every, Source::model);
}

std::int64_t default_image_size(const nn::FamilyInfo& family, const std::string& size,
                                const data::DatasetInfo& dataset) {
    const std::int64_t pixels = family.image_size != nullptr ? family.image_size(size) : 0;
    return pixels != 0 ? pixels : dataset.image_size;
}

/// The form that --network-form names, or that follows from the size of the network and of the images.
nn::NetworkForm fill_form(Resolution& run, nn::Family family, const data::DatasetInfo& images) {
    OptionValues& values = run.values;
    if (const auto given = named<nn::NetworkForm>(values.text("network_form"))) return *given;
    const auto has_size = [&](nn::NetworkForm form) {
        const std::vector<std::string> sizes = nn::model_sizes(family, form);
        return std::ranges::find(sizes, values.text("model_size")) != sizes.end();
    };
    if (images.format != data::ImageFormat::class_folders) return images.network_form;
    const bool large = has_size(nn::NetworkForm::large_images);
    const bool small = has_size(nn::NetworkForm::small_images);
    const std::int64_t side = values.integer("image_size");
    const bool small_images = large == small ? side > 0 && side <= data::kLargestSmallImage : small;
    const auto form = small_images ? nn::NetworkForm::small_images : nn::NetworkForm::large_images;
    values.set("network_form", std::string(spelling(form)), Source::model);
    return form;
}

}  // namespace

void fill_model_defaults(Resolution& run) {
    const auto family = family_of(run.values);
    const auto dataset = dataset_of(run.values);
    if (!family || !dataset) return;
    const data::DatasetInfo& images = data::dataset_info(*dataset);
    const nn::FamilyInfo info = nn::family_info(*family);
    const nn::NetworkForm form = fill_form(run, *family, images);
    const nn::FormDefaults& defaults = nn::defaults_of(info, form);
    Filler fill(run);
    fill.size("model_size", defaults.size);
    fill.integer("micro_batch_size", defaults.micro_batch_size);
    fill_norm(run, defaults);
    fill.number_unless_zero("BN_decay", 0.97);
    fill.integer("pipeline_num_parallel", 48);
    fill.integer("image_size", default_image_size(info, run.values.text("model_size"), images));
    fill.number("norm_epsilon", info.norm_epsilon);
    if (info.convolution_groups != 0) fill.integer("convolution_groups", info.convolution_groups);
    if (info.group_dim != 0) fill.integer("group_dim", info.group_dim);
    if (defaults.label_smoothing != 0) fill.number_unless_zero("label_smoothing", defaults.label_smoothing);
    if (defaults.two_pass_variance && !run.values.flag("force_unstable_norm")) fill.on("stable_norm");
    if (run.command != Command::train) return;
    fill_training(run, defaults);
    fill_validation_times(run.values, images);
}

data::DataSettings options_of_data(const Resolution& run) {
    const OptionValues& values = run.values;
    data::DataSettings settings;
    settings.dataset = *dataset_of(values);
    if (values.flag("generated_data")) settings.kind = data::DataKind::generated;
    if (values.flag("synthetic_data")) settings.kind = data::DataKind::synthetic;
    settings.data_dir = values.text("data_dir");
    settings.validation_fraction = values.number("validation_fraction");
    settings.split_seed = values.integer("split_seed");
    if (values.is_set("num_classes")) settings.classes = values.integer("num_classes");
    settings.found_photos = findings_of(run).photos;
    return settings;
}

std::optional<nn::Family> family_of(const OptionValues& values) {
    return named<nn::Family>(values.text("model"));
}

std::optional<data::DatasetId> dataset_of(const OptionValues& values) {
    return named<data::DatasetId>(values.text("dataset"));
}

}  // namespace cnntrain::tasks
