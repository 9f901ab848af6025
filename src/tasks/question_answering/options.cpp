// The options of question answering: its own rows beside those of fine-tuning.
#include "tasks/question_answering/options.h"

#include <string>
#include <vector>

#include "cnntrain/options/task_options.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> question_files() {
    std::vector<Option> rows = fine_tuning_files(
        "Questions on texts: a JSON file of SQuAD's layout. Training needs one answer to each question; inference and "
        "validation take any number. See cnntrain help question-answering.",
        "File of the same layout with which a training is validated, and which validation evaluates.");
    rows[0].aliases = {{"--train-file"}};
    rows[1].aliases = {{"--predict-file"}};
    rows.push_back(changed(shared("--generated-data"), [](Option& row) {
        row.help = "Made-up questions with equal texts instead of files.";
        row.bind = to<&AnsweringSettings::generated>();
    }));
    rows.push_back({.flag = "--num-synthetic-dataset-samples",
                    .help = "Number of these questions.",
                    .range = between(1, kMostIterations),
                    .acts = {.needs = {{"generated_data"}}},
                    .bind = to<&AnsweringSettings::generated_count>()});
    rows.push_back({.flag = "--tfrecord-dir",
                    .help = "Folder in which the features are kept as TFRecords, for other programs; their names hold "
                            "a digest of the files and settings that they are made from.",
                    .names = Names::expanded_path,
                    .bind = to<&AnsweringSettings::feature_folder>()});
    return rows;
}

std::vector<Option> feature_options() {
    return {
        fine_tuning_length(384, "Tokens S of a feature: question, window of the text, three special tokens."),
        packed_option(kV | kE,
                      "Several features in each row of S tokens instead of padding; --no-packed: one. Each sees itself "
                      "alone."),
        {.flag = "--doc-stride",
         .help = "Tokens from the start of a window to that of the next one; texts that do not fit have several.",
         .unit = "tokens",
         .range = between(1, 65536),
         .numerics = true,
         .bind = to<&AnsweringSettings::questions, &data::QuestionSettings::doc_stride>()},
        {.flag = "--max-query-length",
         .help = "Tokens kept of a question.",
         .unit = "tokens",
         .range = between(0, 65536),
         .numerics = true,
         .bind = to<&AnsweringSettings::questions, &data::QuestionSettings::max_query_length>()},
        {.flag = "--version-2-with-negative",
         .type = Type::boolean_value,
         .help = "SQuAD 2.0: questions may have no answer in their text.",
         .numerics = true,
         .bind = to<&AnsweringSettings::questions, &data::QuestionSettings::v2>()},
        {.flag = "--n-best-size",
         .help = "Answers kept of each question, and first and last tokens that are tried in each feature.",
         .range = between(1, 65536),
         .acts = {.in = kTVE},
         .bind = to<&AnsweringSettings::answers, &data::AnswerSettings::n_best>()},
        {.flag = "--max-answer-length",
         .help = "Longest answer.",
         .unit = "tokens",
         .range = between(1, 65536),
         .acts = {.in = kTVE},
         .bind = to<&AnsweringSettings::answers, &data::AnswerSettings::max_answer_length>()},
        {.flag = "--null-score-diff-threshold",
         .help = "SQuAD 2.0: a question has no answer if the score of none, less that of the best, is above this.",
         .range = between(-1e6, 1e6),
         .acts = {.needs = {{"version_2_with_negative"}}},
         .bind = to<&AnsweringSettings::answers, &data::AnswerSettings::null_threshold>()},
    };
}

}  // namespace

const OptionSet& answering_options() {
    static const OptionSet options = fine_tuning_options({
        .task = "question-answering",
        .data_group = "Questions",
        .data = concatenated({question_files(), feature_options()}),
        .micro_batch_size = 8,
        .splits_help = "Names of the first functions of stages 1, 2, ... (hid6), which follow stage 0; required with "
                       "--pipeline. Functions: emb0, pos0, hid0, hid1, ..., loc0.",
        .training = {},
    });
    return options;
}

void fill_answering(Resolution& run) {
    fill_fine_tuning(run, "\"question\"", "questions");
    const AnsweringSettings& own = answering_settings(run.settings());
    const bool validates = !own.validation_file.empty() && !own.has_phases();
    if (trains(run) && !validates && run.values.source("validation") == Source::default_value)
        run.values.set("validation", false, Source::adjusted);
}

/// Made-up questions have no answers that anyone would read.
Violation predicts_real_questions(const Resolution& run) {
    const AnsweringSettings& own = answering_settings(run.settings());
    if (!own.generated || !(own.does_prediction || own.does_evaluation)) return {};
    return "--do-predict and --do-evaluation need real questions: give --predict-file FILE.json without "
           "--generated-data";
}

void check_answering(Resolution& run) {
    const AnsweringSettings& own = answering_settings(run.settings());
    const bool needs_file = !own.generated && (trains(run) || own.validation_file.empty());
    if (!own.model.stages.empty()) {
        if (Violation order = stage_order(own.model, {nn::kAnswersToken}); !order.empty())
            run.violations.push_back(std::move(order));
    }
    check_rules({{kT | kE, predicts_real_questions}}, run);
    check_fine_tuning(run, needs_file ? "no questions: give --data-dir, a JSON file of SQuAD's layout" : "");
}

void complete_answering(Settings& settings, Resolution& run) {
    if (run.command == Command::restore) return;
    AnsweringSettings& own = settings.task.as<AnsweringSettings>();
    complete_fine_tuning(settings);
    own.questions.file = own.file;
    own.questions.generated = own.generated ? own.generated_count : 0;
    own.questions.vocabulary_file = own.vocabulary_file;
    own.questions.lower_case = own.lower_case;
    own.questions.splits_special_tokens = own.splits_special_tokens;
    own.questions.sequence_length = own.sequence_length;
    own.questions.vocabulary_size = bert_words_in_files(own.model.vocabulary);
}

}  // namespace cnntrain::tasks
