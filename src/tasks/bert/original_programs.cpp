#include "tasks/bert/original_programs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/parse.h"

namespace cnntrain::tasks {
namespace {

Binding reduction() {
    return {[](const Settings& settings) {
                return Value(std::string(settings.optimiser.adds_micro_batches ? "sum" : "mean"));
            },
            [](Settings& settings, const Value& value) {
                settings.optimiser.adds_micro_batches = value == Value(std::string("sum"));
            },
            Type::choice};
}

Binding partials() {
    return {[](const Settings& settings) { return Value(std::string(settings.ipu.half_partials ? "half" : "float")); },
            [](Settings& settings, const Value& value) {
                settings.ipu.half_partials = value == Value(std::string("half"));
            },
            Type::choice};
}

}  // namespace

std::vector<Option> original_training_options() {
    return {
        {.flag = "--reduction-type",
         .type = Type::choice,
         .fallback = "mean",
         .help = "Average (mean) or add (sum) the gradients of micro-batches and replicas.",
         .choices = {"mean", "sum"},
         .numerics = true,
         .bind = reduction()},
        {.flag = "--loss-scaling-by-step",
         .help = "First step and loss scaling of each part of the run, instead of --loss-scaling: {\"0\": 512, "
                 "\"1000\": 1024}. Updates divide gradients by the factor.",
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::loss_scaling_by_step>()},
        {.flag = "--increase-optimiser-precision",
         .help = "lamb: compute the last product of the update in 32 bits.",
         .acts = {.never = "updates are always computed in 32 bits"}},
        {.flag = "--use-lr-fp32",
         .help = "lamb: keep the learning rate in 32 bits.",
         .acts = {.never = "the learning rate always has 32 bits"}},
        {.flag = "--weight-norm-clip",
         .type = Type::number,
         .fallback = 0.0,
         .help = "lamb: upper bound of a weight's norm.",
         .range = at_least(0),
         .acts = {.never = "the original programs never read it"}},
    };
}

std::vector<Option> original_stage_options() {
    return {
        {.flag = "--pipeline-stages",
         .help =
             "Functions of each pipeline stage: [[\"emb\", \"pos\"], [\"hid\", \"hid\"], [\"mlm\", \"nsp\"]] (default: "
             "one stage). All stages run in this process, in parallel with --lanes. Results are the same.",
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::stages>()},
        {.flag = "--device-mapping",
         .help = "Device of each stage. Stages that share the table of words have the same device.",
         .range = between(0, kMostReplicas),
         .acts = {.needs = {{"pipeline_stages"}}},
         .bind = left_open(to<&Settings::training, &run::TrainingSettings::device_mapping>())},
    };
}

std::vector<Option> original_ipu_options() {
    return {
        {.flag = "--variable-offloading",
         .type = Type::boolean_value,
         .help = "Keep the optimiser's state off the chip.",
         .acts = {.on_backends = kIpu},
         .bind = to<&Settings::ipu, &backend::IpuSettings::offload_variables>()},
        {.flag = "--partials-type",
         .type = Type::choice,
         .fallback = "half",
         .help = "Type in which matrix products of halves are accumulated.",
         .choices = {"half", "float"},
         .acts = {.on_backends = kIpu},
         .numerics = true,
         .bind = partials()},
        {.flag = "--max-reduce-scatter-buffer-size",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help = "Buffer that merges reduce-scatters.",
         .unit = "bytes",
         .range = between(0, kMostBytes),
         .acts = {.on_backends = kIpu, .never_on_ipu = "the operations of the program are not merged"}},
        {.flag = "--scheduler",
         .type = Type::choice,
         .fallback = "CLUSTERING",
         .help = "Order of operations in the compiled program.",
         .choices = {"CHOOSE_BEST", "CLUSTERING", "POST_ORDER", "LOOK_AHEAD", "SHORTEST_PATH"},
         .acts = {.on_backends = kIpu,
                  .never_on_ipu = "operations run in the order in which the network computes them"}},
        {.flag = "--recomputation-mode",
         .type = Type::choice,
         .fallback = "RecomputeAndBackpropagateInterleaved",
         .help = "Order of recomputation and backward pass.",
         .choices = {"Auto", "RecomputeThenBackpropagate", "RecomputeAndBackpropagateInterleaved"},
         .acts = {.on_backends = kIpu, .never_on_ipu = "each result is recomputed where the backward pass needs it"}},
        {.flag = "--no-outlining",
         .type = Type::boolean_value,
         .help = "Do not share code between equal parts of the program.",
         .acts = {.on_backends = kIpu, .never_on_ipu = "the program shares code between micro-batches only"}},
        {.flag = "--ipu-replica-identical-seed",
         .type = Type::boolean_value,
         .help = "All replicas round stochastically with the same random numbers.",
         .acts = {.on_backends = kIpu, .processes = Processes::several_or_replicas},
         .numerics = true,
         .bind = to<&Settings::ipu, &backend::IpuSettings::identical_replica_seeding>()},
        {.flag = "--sync-replicas-independently",
         .help = "Synchronise replicas as late as possible.",
         .acts = {.on_backends = kIpu, .processes = Processes::several_or_replicas},
         .bind = to<&Settings::ipu, &backend::IpuSettings::sync_replicas_independently>()},
        {.flag = "--memory-profile",
         .help = "Write a profile of the memory.",
         .acts = {.on_backends = kIpu, .never_on_ipu = "the emulator has no profile of memory"}},
        {.flag = "--profile-dir",
         .type = Type::text,
         .fallback = "./",
         .help = "Folder of profiles.",
         .acts = {.on_backends = kIpu, .never_on_ipu = "the emulator has no profile of memory"}},
        {.flag = "--progress-bar",
         .type = Type::choice,
         .fallback = "auto",
         .help = "Progress of the compilation.",
         .choices = {"auto", "true", "false"},
         .acts = {.on_backends = kIpu, .never_on_ipu = "the emulator has no compiler that takes time"}},
    };
}

void drop_empty_texts(Resolution& run, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        if (run.values.has(key) && run.values.at(key).value == Value(std::string())) run.values.reset(key);
    }
}

std::int64_t count_of(const Stages& stages, std::string_view token) {
    std::int64_t count = 0;
    for (const auto& stage : stages)
        count += std::ranges::count(stage, token);
    return count;
}

Violation stage_order(const nn::BertSettings& model, const std::vector<std::string_view>& heads) {
    const Stages& stages = model.stages;
    if (stages.size() == 1) return "--pipeline-stages: expected at least 2 stages; leave it out for one";
    if (std::ranges::any_of(stages, [](const auto& stage) { return stage.empty(); }))
        return "--pipeline-stages: a stage has no functions";
    std::vector<std::string_view> order = {nn::kWordsToken, nn::kPositionsToken, nn::kLayerToken};
    order.insert(order.end(), heads.begin(), heads.end());
    std::size_t reached = 0;
    for (const auto& stage : stages) {
        for (const std::string& token : stage) {
            const auto place = static_cast<std::size_t>(std::ranges::find(order, token) - order.begin());
            if (place == order.size()) {
                return "--pipeline-stages: unknown function '" + token +
                       "'; functions: " + listed(std::vector<std::string>(order.begin(), order.end()));
            }
            if (place < reached) {
                return "--pipeline-stages: '" + token + "' follows '" + std::string(order[reached]) +
                       "', but precedes it in the network: " +
                       joined(std::vector<std::string>(order.begin(), order.end()));
            }
            reached = place;
        }
    }
    if (count_of(stages, nn::kLayerToken) != model.layers) {
        return "--pipeline-stages has 'hid' " + std::to_string(count_of(stages, nn::kLayerToken)) +
               " times, but --num-hidden-layers is " + std::to_string(model.layers);
    }
    for (const std::string_view token : {nn::kPositionsToken, heads.back()}) {
        if (count_of(stages, token) != 1) return "--pipeline-stages must have '" + std::string(token) + "' once";
    }
    return {};
}

std::vector<std::string> splits_of(const Stages& stages) {
    std::map<std::string, std::int64_t> met;
    std::vector<std::string> splits;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        for (std::size_t k = 0; k < stages[i].size(); ++k) {
            const std::string& token = stages[i][k];
            const std::int64_t number = met[token]++;
            if (i > 0 && k == 0) splits.push_back(token + std::to_string(number));
        }
    }
    return splits;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kFolder = "bert";

/// Names from older documents, without the phase.
constexpr std::pair<std::string_view, std::string_view> kOldNames[] = {
    {"pretrain_base_128", "pretrain_base_128_phase1"},
    {"pretrain_base_384", "pretrain_base_384_phase2"},
    {"pretrain_large_128", "pretrain_large_128_phase1"},
    {"pretrain_large_384", "pretrain_large_384_phase2"},
};

bool is_file(const fs::path& path) {
    return exists(posix_files(), path) && !is_directory(posix_files(), path);
}

/// The end of ".json" if a comma or a quotation mark follows: a published line has `.json","$DATASETS_DIR/...`, which
/// becomes one word in a shell.
std::size_t end_of_name(const std::string& word) {
    const std::size_t suffix = word.find(kSuffix);
    if (suffix == std::string::npos) return word.size();
    const std::size_t end = suffix + kSuffix.size();
    const bool slip = end < word.size() && (word[end] == ',' || word[end] == '"');
    return slip ? end : word.size();
}

/// "configs/pretrain_base_128.json" -> "pretrain_base_128".
std::string stem_of(const std::string& word) {
    const std::string name = fs::path(word).filename();
    return name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

std::string current_name(const std::string& stem) {
    const auto* const old = std::ranges::find(kOldNames, stem, &std::pair<std::string_view, std::string_view>::first);
    return old == std::end(kOldNames) ? stem : std::string(old->second);
}

/// Configurations of GroupBERT's fine-tuning have the names of BERT's, in folders of their own.
std::optional<fs::path> find_file(const std::string& word, const std::vector<std::string>& folders) {
    const FileKind kind = posix_files().kind(word);
    if (kind != FileKind::absent && kind != FileKind::directory) return word;
    const fs::path name = fs::path(word).replace_filename(current_name(stem_of(word)) + std::string(kSuffix));
    for (auto first = name.begin(); first != name.end(); ++first) {  // the last parts of the path, the most first
        fs::path last;
        for (auto part = first; part != name.end(); ++part)
            last /= *part;
        for (const std::string& folder : folders) {
            for (const fs::path& path : {fs::path(folder) / kFolder / last, fs::path(folder) / last}) {
                if (is_file(path)) return path;
            }
        }
    }
    return std::nullopt;
}

[[noreturn]] void refuse_unknown(const std::string& word, const std::vector<std::string>& folders) {
    const std::vector<std::string> known = bert_config_names(folders);
    std::string message = "unknown configuration '" + word + "'" + suggestion(stem_of(word), known);
    message += (known.empty() ? "; no configuration files in" : "; known in") + each_behind(" ", folders);
    throw Error(ErrorKind::usage, message + (known.empty() ? "" : ":" + each_behind(" ", known)));
}

/// The text without its task.
std::string without_task(const std::string& text, std::string_view task) {
    check_json(text);
    nlohmann::json document = nlohmann::json::parse(text);
    if (!document.is_object() || !document.contains("task")) return text;
    if (document["task"] != task) {
        throw Error(ErrorKind::usage, "expected a configuration of the task " + std::string(task) + ", found one of " +
                                          document["task"].dump() +
                                          "; run_pretraining.py, run_squad.py and run_classifier.py have their own");
    }
    document.erase("task");
    return document.dump();
}

}  // namespace

options::NamedConfig read_bert_config(const OptionSet& options, const std::string& config,
                                      const options::Environment& environment, std::string_view task) {
    const std::size_t end = end_of_name(config);
    const std::string word = config.substr(0, end);
    const std::optional<fs::path> file = find_file(word, environment.config_folders);
    if (!file) refuse_unknown(word, environment.config_folders);
    options::NamedConfig result{.name = word};
    try {
        result.layer = options::layer_of_json_config(options, without_task(read_text(posix_files(), *file), task));
    } catch (const Error& error) {
        throw Error(ErrorKind::usage, error.what()).within(file->string());
    }
    if (end < config.size()) {
        result.notices.push_back("--config: '" + config.substr(end) + "' after " + word +
                                 " is not part of the name and is ignored; --train-file names the data");
    }
    return result;
}

std::vector<std::string> bert_config_names(const std::vector<std::string>& folders) {
    std::set<std::string> names;
    for (const std::string& folder : folders) {
        for (const fs::path& place : {fs::path(folder) / kFolder, fs::path(folder)}) {
            if (!is_directory(posix_files(), place)) continue;
            for (const std::string& name : posix_files().list(place)) {
                if (name.ends_with(kSuffix)) names.insert(stem_of(name));
            }
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace cnntrain::tasks
