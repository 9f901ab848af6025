#include "tasks/text_classification/row.h"

#include "cnntrain/nn/bert.h"
#include "tasks/text_classification/resolve.h"
#include "tasks/text_classification/task.h"

namespace cnntrain::tasks {
namespace {

std::string_view text_examples(Command command) {
    switch (command) {
        case Command::train:
            return "  cnntrain train --task text-classification --data-dir FILE.tsv --init-checkpoint RUN/ckpt-7031 "
                   "--vocab-file vocab.txt\n"
                   "  cnntrain train --task text-classification --data-dir FILE.tsv --init-checkpoint "
                   "FOLDER/model.safetensors\n";
        case Command::validation:
            return "  cnntrain validation --restore-path RUN                    on the run's held-out texts\n"
                   "  cnntrain validation --restore-path RUN --data-dir FILE.tsv\n";
        case Command::inference:
            return "  cnntrain inference --restore-path RUN/ckpt-500 --data-dir FILE.tsv   texts without labels\n";
        default:
            return "";
    }
}

std::unique_ptr<train::Task> make_texts(const config::ParseResult& arguments, const backend::Backend& backend,
                                        std::uint64_t seed) {
    return std::make_unique<TextClassification>(arguments, backend, seed);
}

std::vector<std::string> text_functions(const config::Settings& settings) {
    return nn::bert_classification_functions(text_settings(settings).model);
}

}  // namespace

train::TaskRow text_classification_row() {
    return {
        .options = {.name = "text-classification",
                    .commands = {Command::train, Command::validation, Command::inference, Command::restore},
                    .options = text_options,
                    .examples = text_examples,
                    .alternatives = {{"epochs", "iterations"},
                                     {"ckpts_per_epoch", "epochs_per_ckpt", true},
                                     {"validate_every", "validate_every_updates"},
                                     {"syncs_per_epoch", "epochs_per_sync", true}},
                    .fill = fill_text_options,
                    .check = check_text_options,
                    .settings = [] { return TaskSettings(TextSettings{}); },
                    .complete = complete_text_settings},
        .make = make_texts,
        .functions = text_functions,
        .scopes = nn::bert_scopes,
    };
}

}  // namespace cnntrain::tasks
