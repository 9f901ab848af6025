#include "cnntrain/data/glue.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::data {

const std::vector<GlueTask>& glue_tasks() {
    constexpr TextColumns kPair{.text = 1, .pair = 2};
    constexpr TextColumns kLabelledPair{.text = 1, .pair = 2, .label = kLastColumn};
    constexpr TextColumns kMnliPair{.text = 8, .pair = 9};
    constexpr TextColumns kLabelledMnli{.text = 8, .pair = 9, .label = kLastColumn};
    const std::array<std::string, 3> usual = {"train.tsv", "dev.tsv", "test.tsv"};
    const std::vector<std::string> binary = {"0", "1"};
    const std::vector<std::string> two_way = {"entailment", "not_entailment"};
    const std::vector<std::string> three_way = {"contradiction", "entailment", "neutral"};
    static const std::vector<GlueTask> tasks = {
        {"cola", "CoLA", usual, TextColumns{.text = 3, .label = 1, .has_header = false}, TextColumns{.text = 1},
         binary},
        {"sst2", "SST-2", usual, TextColumns{.text = 0, .label = 1}, TextColumns{.text = 1}, binary},
        {"mrpc", "MRPC", usual, TextColumns{.text = 3, .pair = 4, .label = 0}, TextColumns{.text = 3, .pair = 4},
         binary},
        {"stsb", "STS-B", usual},
        {"qqp", "QQP", usual, TextColumns{.text = 3, .pair = 4, .label = 5, .skips_short_rows = true},
         TextColumns{.text = 1, .pair = 2, .skips_short_rows = true}, binary},
        {"mnli", "MNLI", {"train.tsv", "dev_matched.tsv", "test_matched.tsv"}, kLabelledMnli, kMnliPair, three_way},
        {"mnli-mm",
         "MNLI",
         {"train.tsv", "dev_mismatched.tsv", "test_mismatched.tsv"},
         kLabelledMnli,
         kMnliPair,
         three_way},
        {"ax", "AX", {"", "", "test.tsv"}, kLabelledPair, kPair, three_way},
        {"qnli", "QNLI", usual, kLabelledPair, kPair, two_way},
        {"rte", "RTE", usual, kLabelledPair, kPair, two_way},
        {"wnli", "WNLI", usual, kLabelledPair, kPair, binary},
    };
    return tasks;
}

const GlueTask& glue_task(std::string_view name) {
    const auto found = std::ranges::find(glue_tasks(), name, &GlueTask::name);
    if (found != glue_tasks().end()) return *found;
    std::vector<std::string> names;
    for (const GlueTask& task : glue_tasks())
        names.push_back(task.name);
    throw Error(ErrorKind::usage,
                "'" + std::string(name) + "' is no task of GLUE (" + listed(names) + ")" + suggestion(name, names));
}

LabelledTextSettings glue_settings(const GlueTask& task, GluePhase phase, const std::string& data_dir,
                                   LabelledTextSettings settings, const FileSystem& files) {
    const std::string& file = task.files.at(static_cast<std::size_t>(phase));
    if (file.empty()) {
        throw Error(ErrorKind::usage,
                    "GLUE's " + task.name + " has texts for prediction only; train and evaluate with mnli");
    }
    const std::string own_folder = path_in(data_dir, task.folder);
    settings.file = path_in(exists(files, path_in(data_dir, file)) ? data_dir : own_folder, file);
    if (!exists(files, settings.file)) {
        throw Error(ErrorKind::data, "GLUE's " + task.name + ": expected " + file + " in " + data_dir + " or " +
                                         own_folder + ", found none; give the folder of the task's files");
    }
    settings.columns = phase == GluePhase::prediction ? task.unlabelled : task.labelled;
    settings.labels = task.kind();
    settings.needs_labels = phase != GluePhase::prediction;
    if (!settings.columns) {  // STS-B: the texts are in other columns counted from the end where there is no score
        settings.text_column = "sentence1";
        settings.pair_column = "sentence2";
        settings.label_column = "score";
    }
    return settings;
}

}  // namespace cnntrain::data
