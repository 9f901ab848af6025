#include "tasks/pretraining/row.h"

#include <filesystem>
#include <system_error>

#include "cnntrain/nn/bert.h"
#include "tasks/pretraining/config_file.h"
#include "tasks/pretraining/resolve.h"
#include "tasks/pretraining/task.h"

namespace cnntrain::tasks {
namespace {

std::string_view pretraining_examples(Command /*command*/) {
    return "  cnntrain pretrain --config configs/pretrain_base_128_phase1.json --train-file 'DIR/*.tfrecord'\n"
           "  cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4\n"
           "  cnntrain pretrain --config pretrain_base_384_phase2 --train-file FILE --init-checkpoint RUN/ckpt-7031\n"
           "  cnntrain pretrain --config pretrain_base_128_phase1 --evaluate --restore-dir RUN --valid-file FILE\n";
}

std::unique_ptr<train::Task> make_pretraining(const config::ParseResult& arguments, const backend::Backend& backend,
                                              std::uint64_t seed) {
    return std::make_unique<Pretraining>(arguments, backend, seed);
}

std::vector<std::string> pretraining_functions(const config::Settings& settings) {
    return nn::bert_functions(pretraining_settings(settings).model);
}

std::string evaluation_line(const std::string& checkpoint) {
    std::error_code failed;
    const bool is_run = std::filesystem::is_directory(checkpoint, failed);
    return "cnntrain pretrain --evaluate " + std::string(is_run ? "--restore-dir " : "--init-checkpoint ") +
           checkpoint + " --valid-file FILES";
}

/// The tokens of each stage, and devices if the line has some: stages that share the table of words have the same one.
std::string written_stages(const config::Settings& settings, const std::vector<std::string>& splits) {
    std::vector<std::string> stages(1);
    std::vector<std::size_t> devices(1);
    for (const std::string& function : pretraining_functions(settings)) {
        if (stages.size() <= splits.size() && splits[stages.size() - 1] == function) {
            devices.push_back(stages.size());
            stages.emplace_back();
        }
        const std::string token = function.substr(0, nn::kWordsToken.size());
        if (token == nn::kMaskedWordsToken) devices.back() = devices.front();
        stages.back() += (stages.back().empty() ? "\"" : ",\"") + token + '"';
    }
    std::string text;
    for (const std::string& stage : stages)
        text += (text.empty() ? "[" : ",[") + stage + "]";
    text = "--pipeline-stages '[" + text + "]'";
    if (settings.training.device_mapping.empty()) return text;
    text += " --device-mapping";
    for (const std::size_t device : devices)
        text += " " + std::to_string(device);
    return text;
}

}  // namespace

train::TaskRow pretraining_row(Command command) {
    return {
        .options = {.name = "pretraining",
                    .commands = {command},
                    .options = pretraining_options,
                    .examples = pretraining_examples,
                    .alternatives = {{"validate_every", "validate_every_updates"}},
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
        .make = make_pretraining,
        .functions = pretraining_functions,
        .evaluation_line = evaluation_line,
        .scopes = nn::bert_scopes,
        .pipeline = train::PipelineOptions{.stages = written_stages, .micro_batch_unit = micro_batch_unit},
    };
}

}  // namespace cnntrain::tasks
