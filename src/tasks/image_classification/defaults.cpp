// What a model sets when the user did not.
#include <cmath>
#include <string>
#include <utility>

#include "cnntrain/nn/family_info.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {

namespace {

/// Fills options in for the model where no value is. For those that have no use for 0, 0 means "not given" too.
class Filler {
public:
    explicit Filler(Resolution& run) : run_(run), values_(run.values) {}

    void number(std::string_view key, double value) {
        if (values_.has(key) && !values_.is_set(key) && !std::isnan(value)) values_.set(key, value, Source::model);
    }

    void number_unless_zero(std::string_view key, double value) {
        if (values_.has(key) && values_.number(key) == 0.0 && !std::isnan(value)) replace_zero(key, value);
    }

    void integer(std::string_view key, std::int64_t value) {
        if (values_.has(key) && values_.integer(key) == 0) replace_zero(key, value);
    }

    /// A size is a name, of which "" and "0" are none.
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
        if (values_.given(key)) {
            run_.notices.push_back(std::string(values_.at(key).option->flag) +
                                   " 0 counts as not given: " + to_string(value) + " is used");
        }
        values_.set(key, std::move(value), Source::model);
    }

    Resolution& run_;
    OptionValues& values_;
};

void fill_norm(Resolution& run, const nn::FamilyDefaults& defaults) {
    OptionValues& values = run.values;
    if (!values.flag("batch_norm") && !values.flag("group_norm")) values.set(defaults.norm, true, Source::model);
    if (values.flag("group_norm")) Filler(run).integer("groups", defaults.groups);
}

/// LARS takes the weight decay of all optimisers for its own when that is 0.
void fill_lars_weight_decay(Resolution& run, optim::Optimiser optimiser) {
    OptionValues& values = run.values;
    if (optimiser != optim::Optimiser::lars || values.number("lars_weight_decay") != 0.0) return;
    Filler(run).number_unless_zero("lars_weight_decay", values.number("weight_decay"));
}

void fill_training(Resolution& run, const nn::FamilyDefaults& defaults) {
    OptionValues& values = run.values;
    Filler fill(run);
    const optim::Optimiser optimiser = *named<optim::Optimiser>(values.text("optimiser"));
    fill.number("weight_decay", optimiser == optim::Optimiser::lars ? 0.0 : defaults.weight_decay);
    if (optimiser == optim::Optimiser::lars) fill.number("lars_weight_decay", defaults.weight_decay);
    if (optimiser == optim::Optimiser::rmsprop && !values.is_set("rmsprop_decay")) {
        fill.number("rmsprop_base_decay_exp", defaults.rmsprop_base_decay_exp);
    }
    const auto index = static_cast<std::size_t>(optimiser);
    if (!values.is_set("abs_learning_rate") && index < defaults.lr_exponents.size()) {
        fill.number_unless_zero("base_learning_rate_exponent", defaults.lr_exponents[index]);
    }
    if (values.integer("iterations") == 0) fill.number_unless_zero("epochs", defaults.epochs);
    if (values.has("learning_rate_schedule") && !values.is_set("learning_rate_schedule")) {
        values.set("learning_rate_schedule", defaults.drop_fractions, Source::model);
    }
    fill_lars_weight_decay(run, optimiser);
    fill.number_unless_zero("learning_rate_decay", 0.1);
    fill.number_unless_zero("lr_decay_rate", defaults.lr_decay_rate);
    if (defaults.lr_drops > 0) fill.integer("lr_drops", defaults.lr_drops);
}

std::int64_t default_image_size(const nn::FamilyInfo& family, const std::string& size,
                                const data::DatasetInfo& dataset) {
    const std::int64_t pixels = family.image_size != nullptr ? family.image_size(size) : 0;
    return pixels != 0 ? pixels : dataset.image_size;
}

}  // namespace

void fill_model_defaults(Resolution& run) {
    const auto family = family_of(run.values);
    const auto dataset = dataset_of(run.values);
    if (!family || !dataset) return;
    const data::DatasetInfo& images = data::dataset_info(*dataset);
    const bool imagenet = images.network_form == nn::DatasetKind::imagenet;
    const nn::FamilyInfo info = nn::family_info(*family);
    for (const nn::FamilyDefaults& defaults : nn::family_defaults()) {
        if (defaults.family != *family || defaults.imagenet != imagenet) continue;
        Filler fill(run);
        fill.size("model_size", defaults.size);
        fill.integer("micro_batch_size", defaults.micro_batch_size);
        fill_norm(run, defaults);
        fill.number_unless_zero("BN_decay", 0.97);
        fill.integer("pipeline_num_parallel", 48);
        fill.integer("image_size", default_image_size(info, run.values.text("model_size"), images));
        if (info.convolution_groups != 0) fill.integer("convolution_groups", info.convolution_groups);
        if (info.group_dim != 0) fill.integer("group_dim", info.group_dim);
        if (imagenet && info.label_smoothing_on_imagenet != 0)
            fill.number_unless_zero("label_smoothing", info.label_smoothing_on_imagenet);
        const bool two_passes = info.two_pass_variance_on_imagenet && !run.values.flag("force_unstable_norm");
        if (imagenet && two_passes) fill.on("stable_norm");
        if (run.command == Command::train) fill_training(run, defaults);
    }
}

std::optional<nn::Family> family_of(const OptionValues& values) {
    return named<nn::Family>(values.text("model"));
}

std::optional<data::DatasetId> dataset_of(const OptionValues& values) {
    return named<data::DatasetId>(values.text("dataset"));
}

}  // namespace cnntrain::tasks
