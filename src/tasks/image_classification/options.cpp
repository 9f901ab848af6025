// All options of image classification: its own, and its changes to shared ones.
#include "tasks/image_classification/options.h"

#include <algorithm>

#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> main_image_options() {
    std::vector<Option> rows = {
        {.flag = "--model",
         .help = "Model family.",
         .main_in = kTVE,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::family>()},
    };
    return concatenated({rows, shared_main_options()});
}

/// --base-learning-rate is an old name of N here. In BERT's programs it means the learning rate itself and is a
/// separate row (bert/options.cpp).
std::vector<Option> rate_options() {
    return {
        {.flag = "--base-learning-rate-exponent",
         .left_open = true,
         .help = "N of the learning rate 2^N x global batch; without it, the model's.",
         .aliases = {{"--base-learning-rate"}},
         .range = kExponents,
         .acts_in = kT,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::base_exponent>()},
        {.flag = "--abs-learning-rate",
         .help = "The learning rate itself; overrides the exponent.",
         .range = at_least(std::numeric_limits<double>::min()),
         .main_in = kT,
         .acts_in = kT,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::absolute>()},
    };
}

std::vector<Option> training_options() {
    const std::vector<Option> smoothing = {
        {.flag = "--label-smoothing",
         .help = "Share of the target distributed over the other classes.",
         .range = between(0, 1),
         .acts_in = kT,
         .numerics = true,
         .bind = to<&ImageSettings::label_smoothing>()},
        {.flag = "--smoothing",
         .type = Type::number,
         .left_open = true,
         .help = "Label smoothing as timm and PyTorch count it, distributed over all C classes: --label-smoothing "
                 "X(C-1)/C.",
         .range = between(0, 1),
         .acts_in = kT},
    };
    return with_behind(with_behind(shared_training_options(), "--gradient-accumulation-count", rate_options()),
                       "--loss-scaling", smoothing);
}

/// Photos need other options more.
Option left_out_of_short_help(Option row) {
    row.main_in &= ~kT;
    return row;
}

Option refined(const Option& row) {
    if (row.flag == "--restore-path" || row.flag == "--generated-data") return left_out_of_short_help(row);
    if (row.flag == "--task") return refine(row, {.fallback = "image-classification", .choices = task_names()});
    if (row.flag == "--lr-schedule") {
        return refine(row, {.fallback = "stepped",
                            .choices = names<optim::LrSchedule>(),
                            .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::schedule>()});
    }
    if (row.flag == "--input-threads" || row.flag == "--prefetch-depth") return refine(row, {.acts_on = kFiles});
    if (row.flag == "--iterations")
        return left_out_of_short_help(
            refine(row, {.acts_on = ~kFiles, .acts_on_in = kV, .acts_on_reason = "every image is validated once"}));
    return row;
}

std::vector<Option> with_refinements(std::vector<Option> rows) {
    std::ranges::transform(rows, rows.begin(), refined);
    return rows;
}

}  // namespace

const OptionSet& image_options() {
    static const OptionSet options({
        {"Main", with_refinements(main_image_options())},
        {kThisProgram, concatenated({photo_options(), with_refinements(shared_run_options()), preparation_options(),
                                     convention_options()})},
        {"Model", model_options()},
        {"ResNeXt", resnext_options()},
        {"EfficientNet", efficientnet_options()},
        {"Dataset", with_refinements(dataset_options())},
        {"Training", with_refinements(training_options())},
        {"Learning-rate schedule", schedule_options()},
        {config::kHeadGroup, config::shared_head_options()},
        {"Device", with_refinements(shared_ipu_options())},
        {"Logging", shared_logging_options()},
    });
    return options;
}

}  // namespace cnntrain::tasks
