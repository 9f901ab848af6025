#include "tasks/pretraining/row.h"

#include "cnntrain/nn/bert.h"
#include "tasks/pretraining/config_file.h"
#include "tasks/pretraining/resolve.h"
#include "tasks/pretraining/task.h"

namespace cnntrain::tasks {

namespace {

std::string_view examples(Command /*command*/) {
    return "  cnntrain pretrain --config configs/pretrain_base_128_phase1.json --train-file 'DIR/*.tfrecord'\n"
           "  cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4\n"
           "  cnntrain pretrain --config pretrain_base_384_phase2 --train-file 'DIR/*.tfrecord' "
           "--init-checkpoint RUN/ckpt-7031\n"
           "  cnntrain pretrain --config pretrain_base_128_phase1 --evaluate --restore-dir RUN --valid-file "
           "'DIR/*.tfrecord'\n";
}

std::unique_ptr<train::Task> make(const config::ParseResult& arguments, const backend::Backend& backend,
                                  std::uint64_t seed) {
    return std::make_unique<Pretraining>(arguments, backend, seed);
}

std::vector<std::string> functions(const config::Settings& settings) {
    return nn::bert_functions(pretraining_settings(settings).model);
}

}  // namespace

train::TaskRow pretraining_row(Command command) {
    return {
        .options = {.name = "pretraining",
                    .commands = {command},
                    .options = pretraining_options,
                    .examples = examples,
                    .read_config = read_pretraining_config,
                    .empty_line_asks_help = true,
                    .trains = pretraining_trains,
                    .fill = fill_pretraining,
                    .adjust = adjust_pretraining,
                    .check = check_pretraining,
                    .settings = [] { return TaskSettings(PretrainingSettings{}); },
                    .complete = complete_pretraining,
                    // The micro-batches are recorded, too, and say more: a batch's size is rounded up to whole ones.
                    .not_resumed = {"global_batch_size"}},
        .make = make,
        .functions = functions,
    };
}

}  // namespace cnntrain::tasks
