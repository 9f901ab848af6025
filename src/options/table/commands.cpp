#include "cnntrain/options/commands.h"

#include <algorithm>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::options {
namespace {

/// A word in a name, and the reason given when it occurs.
struct Absent {
    std::string_view word;
    std::string_view reason;
};

constexpr Absent kMissingScripts[] = {
    {"send_request.py", "a client of a TensorFlow Serving server"},
    {"run_squad.py", "SQuAD fine-tuning is not part of cnntrain"},
    {"run_classifier.py",
     "GLUE fine-tuning is not part of cnntrain; texts are classified by cnntrain train --task text-classification "
     "--data-dir FILE.tsv --init-checkpoint CKPT"},
    {"run_squad_runtime.py", "SQuAD inference is not part of cnntrain"},
};

constexpr Absent kMissingParts[] = {
    {"groupbert", "GroupBERT is not part of cnntrain"},
    {"squad", "SQuAD fine-tuning is not part of cnntrain"},
    {"glue", "GLUE fine-tuning is not part of cnntrain"},
};

/// A line without a command, or a slip in one of the program's own options.
[[noreturn]] void refuse_option_first(std::string_view word) {
    const std::string nearest = nearest_name(word, {"--help", "--version"});
    const std::string what = "'" + std::string(word) + "' is not a command";
    if (!nearest.empty()) throw Error(ErrorKind::usage, what + "; did you mean " + nearest + "?");
    throw Error(ErrorKind::usage, what + ", with which each line begins: cnntrain train " + std::string(word) +
                                      " ...; see cnntrain help");
}

}  // namespace

const std::vector<CommandInfo>& commands() {
    static const std::vector<CommandInfo> table = {
        {Command::demo, "demo", {}, "a first use: make photos, train on them, write a page and an ONNX file"},
        {Command::train, "train", {"train.py"}, "train a network"},
        {Command::validation,
         "validation",
         {"validation.py"},
         "evaluate one or all checkpoints, or measure inference throughput"},
        {Command::restore, "restore", {"restore.py"}, "resume a run from its folder"},
        {Command::inference,
         "inference",
         {"inference_embedded.py"},
         "measure latency and throughput, or find the classes of samples"},
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
        {Command::report, "report", {}, "a page about a run: did it learn, how fast, what does it confuse, what ran"},
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
    if (word.starts_with("-")) refuse_option_first(word);
    const std::string_view file = last_part(word);
    if (const std::string_view reason = why_not_here(word); !reason.empty())
        throw Error(ErrorKind::unsupported, std::string(file) + ": " + std::string(reason));
    std::vector<std::string> known;
    for (const CommandInfo& entry : commands()) {
        if (entry.name == word) return entry.command;
        known.emplace_back(entry.name);
        for (std::string_view script : entry.scripts) {
            if (script == file) return entry.command;
            known.emplace_back(script);
        }
    }
    std::string message = "unknown command '" + std::string(word) + "'" + suggestion(file, known, ".") + " Commands:";
    for (const CommandInfo& entry : commands())
        message += " " + std::string(entry.name);
    throw Error(ErrorKind::usage, message);
}

bool is_script(std::string_view word) {
    const std::string_view file = last_part(word);
    if (std::ranges::find(kRecipeScripts, file) != std::end(kRecipeScripts)) return true;
    return std::ranges::any_of(commands(), [&](const CommandInfo& entry) {
        return std::ranges::find(entry.scripts, file) != entry.scripts.end();
    });
}

std::string_view why_not_here(std::string_view script) {
    const Absent* const found = std::ranges::find(kMissingScripts, last_part(script), &Absent::word);
    return found == std::end(kMissingScripts) ? std::string_view() : found->reason;
}

std::string_view missing_part(std::string_view name) {
    for (const Absent& part : kMissingParts) {
        if (name.find(part.word) != std::string_view::npos) return part.reason;
    }
    return {};
}

}  // namespace cnntrain::options
