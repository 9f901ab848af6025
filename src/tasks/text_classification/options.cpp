// The options of text classification: its own rows beside those of fine-tuning.
#include "tasks/text_classification/options.h"

#include <string>
#include <vector>

#include "cnntrain/options/task_options.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

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

std::vector<Option> column_options() {
    return {
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
    static const OptionSet options = fine_tuning_options({
        .task = "text-classification",
        .data_group = "Texts",
        .data = concatenated({file_options(),
                              column_options(),
                              {fine_tuning_length(128,
                                                  "Length S of the sequences; longer texts lose their last "
                                                  "tokens.")}}),
        .micro_batch_size = 32,
        .training = {changed(bert_classifier_dropout_option(),
                             [](Option& row) { row.bind = to<&TextSettings::head_dropout>(); })},
        .head = shared({"--head-only", "--head-first", "--head-strength", "--feature-cache"}),
    });
    return options;
}

void fill_text_options(Resolution& run) {
    fill_fine_tuning(run, "\n", "texts");
}

void check_text_options(Resolution& run) {
    check_fine_tuning(run, "no texts: give --data-dir, a TSV or CSV file of texts and labels");
}

void complete_text_settings(Settings& settings, Resolution& run) {
    if (run.command == Command::restore) return;
    TextSettings& own = settings.task.as<TextSettings>();
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
