// The options of text classification: its own rows beside those of fine-tuning.
#include "tasks/text_classification/options.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/data/glue.h"
#include "cnntrain/options/task_options.h"
#include "tasks/class_weights.h"
#include "tasks/task_table.h"
#include "tasks/teacher.h"

namespace cnntrain::tasks {
namespace {

constexpr std::string_view kScoreToken = "glu_reg";  // of --pipeline-stages: the head of a score

std::vector<Option> file_options() {
    std::vector<Option> rows = fine_tuning_files(
        "TSV or CSV file with one or two texts and a label in each row; a header line names the "
        "columns. Inference needs no labels. See cnntrain help text-classification.",
        "File of the same format that is used for validation; without it, --validation-fraction is.");
    rows.push_back(changed(shared("--validation-fraction"), [](Option& row) {
        row.fallback = 0.1;
        row.help =
            "Share of each class in --data-dir that is held out for validation, the same in every run; without "
            "--validation-file.";
        row.range = between(1e-6, 0.9);
        row.bind = to<&TextSettings::validation_fraction>();
    }));
    return rows;
}

std::vector<std::string_view> glue_names() {
    std::vector<std::string_view> names;
    for (const data::GlueTask& task : data::glue_tasks())
        names.push_back(task.name);
    return names;
}

std::vector<Option> column_options() {
    return {
        changed(shared("--labels"),
                [](Option& row) {
                    row.help =
                        "Labels of a text: single (one of several classes), score (a number) or several (any of the "
                        "classes, also none).";
                    row.choices = choices_of<nn::LabelKind>();
                    row.bind = to<&TextSettings::text, &data::LabelledTextSettings::labels>();
                }),
        changed(
            shared("--label-separator"),
            [](Option& row) { row.bind = to<&TextSettings::text, &data::LabelledTextSettings::label_separator>(); }),
        {.flag = "--task-name",
         .type = Type::choice,
         .help = "Task of GLUE whose files are in the folder --data-dir: its train.tsv to train, its dev.tsv to "
                 "validate, its test.tsv for inference.",
         .choices = glue_names(),
         .numerics = true,
         .recorded = Recorded::taken,
         .bind = left_open(to<&TextSettings::glue>())},
        changed(shared("--generated-data"),
                [](Option& row) {
                    row.help = "Made-up pairs of texts instead of files.";
                    row.aliases = {{"--synthetic-data"}};
                    row.bind = to<&TextSettings::generated>();
                }),
        {.flag = "--text-column",
         .help = "Name of the column of texts in the header line (default: the usual names).",
         .recorded = Recorded::taken,
         .bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::text_column>())},
        {.flag = "--pair-column",
         .help = "Name of the column of second texts; samples are then pairs.",
         .recorded = Recorded::taken,
         .bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::pair_column>())},
        {.flag = "--label-column",
         .help = "Name of the column of labels.",
         .recorded = Recorded::taken,
         .bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::label_column>())},
    };
}

}  // namespace

const OptionSet& text_options() {
    constexpr std::string_view kShuffled = "all texts are shuffled";
    constexpr std::string_view kUnused = "the original program never read it";
    static const OptionSet options = fine_tuning_options({
        .task = "text-classification",
        .data_group = "Texts",
        .data = concatenated({file_options(),
                              column_options(),
                              {fine_tuning_length(128,
                                                  "Length S of the sequences; longer texts lose their last "
                                                  "tokens."),
                               packed_option(kTVE,
                                             "Several texts in each row of S tokens instead of padding (default: on "
                                             "in validation and inference, off in training). Each text sees itself "
                                             "alone; batches of a training then count rows, fewer by default.")}}),
        .micro_batch_size = 32,
        .splits_help = "Names of the first functions of stages 1, 2, ... (hid6), which follow stage 0; required with "
                       "--pipeline. Functions: emb0, pos0, hid0, hid1, ..., glu0.",
        .training = concatenated({{changed(bert_classifier_dropout_option(),
                                           [](Option& row) { row.bind = to<&TextSettings::head_dropout>(); })},
                                  shared_rows("--class-weights --focal-gamma --teacher --distill")}),
        .head = shared_rows("--head-only --head-first --head-strength --feature-cache"),
        .original = {without_effect("--buffer-size", Type::integer, std::int64_t{10000}, kShuffled),
                     without_effect("--predict-file", Type::text, {}, kUnused),
                     without_effect("--tfrecord-dir", Type::text, {}, kUnused),
                     without_effect("--doc-stride", Type::integer, std::int64_t{128}, kUnused),
                     without_effect("--max-query-length", Type::integer, std::int64_t{64}, kUnused),
                     without_effect("--n-best-size", Type::integer, std::int64_t{20}, kUnused),
                     without_effect("--max-answer-length", Type::integer, std::int64_t{30}, kUnused),
                     without_effect("--null-score-diff-threshold", Type::number, 0.0, kUnused),
                     without_effect("--version-2-with-negative", Type::boolean_value, false, kUnused)},
    });
    return options;
}

void fill_text_options(Resolution& run) {
    keep_path_of_class_weights(run.values);
    const TextSettings& own = text_settings(run.settings());
    fill_fine_tuning(run, "\n", "texts");
    if (trains(run) && own.has_phases() && run.values.source("validation") == Source::default_value)
        run.values.set("validation", false, Source::adjusted);
}

/// The losses that go with these labels only.
Violation losses_of_labels(const Resolution& run) {
    const run::LossSettings& loss = run.settings().loss;
    const nn::LabelKind labels = text_settings(run.settings()).text.labels;
    if (labels == nn::LabelKind::score && !loss.class_weights.empty())
        return "--class-weights does not work with scores, which are no classes";
    if (labels != nn::LabelKind::single && !loss.teacher.empty())
        return "--teacher works with --labels single only, for which its answers are probabilities of classes";
    return {};
}

void check_text_options(Resolution& run) {
    const TextSettings& own = text_settings(run.settings());
    const std::vector<std::string_view> heads = {nn::kClassesToken, kScoreToken};
    if (!own.model.stages.empty()) {
        const bool scores = count_of(own.model.stages, kScoreToken) > 0;
        if (Violation order = stage_order(own.model, {heads[scores ? 1 : 0]}); !order.empty())
            run.violations.push_back(std::move(order));
    }
    if (trains(run)) {
        const bool several = own.text.labels == nn::LabelKind::several;
        for (Violation violation :
             {class_weights_exist(run), class_weights_need_pairs(run, several), teaching(run), losses_of_labels(run)}) {
            if (!violation.empty()) run.violations.push_back(std::move(violation));
        }
    }
    if (own.text.label_separator.size() != 1)
        run.violations.push_back("--label-separator takes one character, got '" + own.text.label_separator + "'");
    check_fine_tuning(run, own.generated ? "" : "no texts: give --data-dir, a TSV or CSV file of texts and labels");
}

void complete_text_settings(Settings& settings, Resolution& run) {
    if (run.command == Command::restore) return;
    TextSettings& own = settings.task.as<TextSettings>();
    for (std::vector<std::string>& stage : own.model.stages) {
        if (std::erase(stage, kScoreToken) == 0) continue;
        stage.emplace_back(nn::kClassesToken);
        own.text.labels = nn::LabelKind::score;
    }
    if (!own.glue.empty()) own.text.labels = data::glue_task(own.glue).kind();
    complete_fine_tuning(settings);
    own.text.file = own.file;
    own.text.vocabulary_file = own.vocabulary_file;
    own.text.lower_case = own.lower_case;
    own.text.splits_special_tokens = own.splits_special_tokens;
    own.text.sequence_length = own.sequence_length;
    own.text.vocabulary_size = bert_words_in_files(own.model.vocabulary);
    own.text.type_vocabulary = own.model.segment_types;
}

}  // namespace cnntrain::tasks
