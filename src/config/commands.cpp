#include "cnntrain/config/commands.h"

#include <algorithm>
#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::config {

const std::vector<CommandInfo>& commands() {
    static const std::vector<CommandInfo> table = {
        {Command::train, "train", {"train.py"}, "train a CNN"},
        {Command::validation,
         "validation",
         {"validation.py"},
         "evaluate one or all checkpoints, or measure inference throughput"},
        {Command::restore, "restore", {"restore.py"}, "resume a run from its folder"},
        {Command::inference,
         "inference",
         {"inference_embedded.py"},
         "measure latency and throughput, or find the classes of images"},
        {Command::pretrain, "pretrain", {"run_pretraining.py"}, "BERT pretraining"},
        {Command::average, "average", {"weight_avg.py"}, "average checkpoints"},
        {Command::analyse, "analyse", {"analyse_checkpoints.py"}, "find NaNs in checkpoints"},
        {Command::dataset,
         "dataset",
         {"imagenet_to_gcs.py", "create_pretraining_data.py"},
         "write and inspect data sets"},
        {Command::benchmark, "benchmark", {"examples_utils"}, "run the entries of a benchmarks.yml"},
        {Command::poprun, "poprun", {}, "launch over MPI"},
        {Command::convert, "convert", {"convert_ckpt.py"}, "import and export checkpoints"},
        {Command::report, "report", {}, "look at a run"},
        {Command::profile, "profile", {}, "where a step's time goes"},
        {Command::plan, "plan", {}, "stages, times and memory of a pipelined training, and better splits"},
    };
    return table;
}

const CommandInfo& info(Command command) {
    const auto& all = commands();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const CommandInfo& entry) { return entry.command == command; });
    CNNTRAIN_CHECK(found != all.end(), "a command without a row");
    return *found;
}

std::string_view name(Command command) {
    return info(command).name;
}

Command command_named(std::string_view word) {
    const std::string_view file = word.substr(word.find_last_of('/') + 1);
    std::vector<std::string> known;
    for (const CommandInfo& entry : commands()) {
        if (entry.name == word) return entry.command;
        known.emplace_back(entry.name);
        for (std::string_view script : entry.scripts) {
            if (script == file) return entry.command;
            known.emplace_back(script);
        }
    }
    const std::string nearest = nearest_name(file, known);
    std::string message = "unknown command '" + std::string(word) + "'";
    if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
    message += nearest.empty() ? ". Commands:" : " Commands:";
    for (const CommandInfo& entry : commands())
        message += " " + std::string(entry.name);
    throw Error(ErrorKind::usage, message);
}

bool is_script(std::string_view word) {
    const std::string_view file = word.substr(word.find_last_of('/') + 1);
    if (std::ranges::find(kRecipeScripts, file) != std::end(kRecipeScripts)) return true;
    return std::ranges::any_of(commands(), [&](const CommandInfo& entry) {
        return std::ranges::find(entry.scripts, file) != entry.scripts.end();
    });
}

}  // namespace cnntrain::config
