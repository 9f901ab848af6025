#include "tasks/image_classification/row.h"

#include "tasks/image_classification/network.h"
#include "tasks/image_classification/resolve.h"
#include "tasks/image_classification/task.h"
#include "tasks/image_classification/weights_source.h"

namespace cnntrain::tasks {
namespace {

std::string_view image_examples(Command command) {
    switch (command) {
        case Command::train:
            return "  cnntrain train --data-dir PHOTOS --model-size 18 --logs-path RUN\n"
                   "  cnntrain train --config resnet8_test --data-dir DIR --dry-run\n";
        case Command::validation:
            return "  cnntrain validation --restore-path RUN          all checkpoints of a run, on its data\n"
                   "  cnntrain validation --restore-path RUN/ckpt-500 --data-dir DIR\n";
        case Command::restore:
            return "  cnntrain restore --restore-path RUN\n";
        case Command::inference:
            return "  cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 100   "
                   "measures\n"
                   "  cnntrain inference --restore-path RUN             classifies the run's validation split\n"
                   "  cnntrain inference --restore-path RUN/ckpt-500 --data-dir 'PHOTOS/*.jpg' --predictions FILE.csv\n"
                   "Options that the line leaves out are those of the run.\n";
        default:
            return "";
    }
}

std::unique_ptr<train::Task> make_images(const config::ParseResult& arguments, const backend::Backend& backend,
                                         std::uint64_t seed) {
    return std::make_unique<ImageClassification>(arguments, backend, seed);
}

}  // namespace

train::TaskRow image_classification_row() {
    return {
        .options = {.name = "image-classification",
                    .commands = {Command::train, Command::validation, Command::inference, Command::restore},
                    .options = image_options,
                    .examples = image_examples,
                    .alternatives = {{"batch_norm", "group_norm"},
                                     {"epochs", "iterations"},
                                     {"label_smoothing", "smoothing"},
                                     {"base_learning_rate_exponent", "abs_learning_rate"},
                                     {"ckpts_per_epoch", "epochs_per_ckpt", true},
                                     {"validate_every", "validate_every_updates"},
                                     {"syncs_per_epoch", "epochs_per_sync", true},
                                     {"generated_data", "synthetic_data"},
                                     {"micro_batch_size", "batch_size"}},
                    .told_by_files = told_by_weights,
                    .fill = fill_image_options,
                    .adjust = adjust_image_options,
                    .check = check_image_options,
                    .settings = [] { return TaskSettings(ImageSettings{}); },
                    .complete = complete_image_settings,
                    .data_reason = images_reason,
                    .not_resumed = {"smoothing"}},
        .make = make_images,
        .functions = image_functions,
        .usual_splits = usual_image_splits,
        .every_process_prints = true,
    };
}

}  // namespace cnntrain::tasks
