// Tasks that fine-tune BERT on a user's texts: the options that all of them have, and the parts of such a task that do
// not depend on its data and its head.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/packed_texts.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/rows.h"
#include "cnntrain/run/task.h"
#include "tasks/bert/bert.h"
#include "tasks/bert/original_programs.h"

namespace cnntrain::tasks {

struct FineTuningSettings : BertTaskSettings {
    std::string file = {};             // --data-dir
    std::string validation_file = {};  // empty: the task decides
    std::string vocabulary_file = {};
    bool lower_case = true;
    bool splits_special_tokens = false;
    std::int64_t sequence_length = 128;  // S
    std::optional<bool> packed = {};     // several texts in a row; empty: in evaluation and inference alone
    // The phases of the original programs, run in this order. Without any of them, a line trains; with `only_phases`,
    // it does nothing then.
    bool only_phases = false;
    bool does_training = false;
    bool does_evaluation = false;
    bool does_prediction = false;
    std::string output_dir = {};             // of evaluation and prediction; "": that of the weights
    std::int64_t steps_per_log = -1;         // -1: as --logs-per-epoch and --log-freq have it
    std::int64_t steps_per_checkpoint = -1;  // -1: as --ckpts-per-epoch has it

    bool has_phases() const { return only_phases || does_training || does_evaluation || does_prediction; }
    /// True for the line of the phases, not for that of the prediction alone.
    bool only_predicts() const { return does_prediction && !does_training && !does_evaluation; }
};

inline const FineTuningSettings& fine_tuning_settings(const options::Settings& settings) {
    return settings.task.as<FineTuningSettings>();
}

/// The most texts in a packed row.
inline std::int64_t most_texts(std::int64_t sequence_length) {
    constexpr std::int64_t kShort = 8;  // tokens; rows of shorter texts alone are not full
    return std::max(sequence_length / kShort, std::int64_t{4});
}

/// The rows in which such tasks differ.
struct FineTuningRows {
    std::string_view task;              // its name
    std::string_view data_group;        // title of the group with the options of the data
    std::vector<Option> data;           // without those of the tokeniser
    std::int64_t micro_batch_size;      // by default
    std::string_view splits_help;       // of --pipeline-splits, which lists the functions
    std::vector<Option> training;       // after those of the batch
    std::vector<Option> head = {};      // of training the last layer alone
    std::vector<Option> original = {};  // of the original program, beside those that all of them have
};
/// An option of the original programs that changes nothing here.
Option without_effect(std::string_view flag, Type type, Value fallback, std::string_view why);
/// All options of a task, in the order of the help text.
OptionSet fine_tuning_options(const FineTuningRows& rows);

/// --data-dir and --validation-file; the task gives their help.
std::vector<Option> fine_tuning_files(std::string_view data_help, std::string_view validation_help);
/// --packed, in the commands in which the task packs.
Option packed_option(std::uint32_t commands, std::string_view help);
/// The task gives its fallback and help.
Option fine_tuning_length(std::int64_t fallback, std::string_view help);

// The steps from the values of these options to settings.

/// Fills in options that are not given: those of the run whose checkpoints are read, the model of --init-checkpoint,
/// the tokeniser that the files beside the vocabulary state. A training, except by an original program, also gets a
/// rate, a batch and a length: by the number of its samples, and by whether its weights are pretrained. Samples are
/// counted by a `mark` that each has once in the file; `unit` is their name in the notice.
void fill_fine_tuning(Resolution& run, std::string_view mark, std::string_view unit);
/// Rules between these options. `no_data`: the message without a data file; "" if there need not be one.
void check_fine_tuning(Resolution& run, const std::string& no_data);

/// TaskOptions::trains: a line without phases trains, and one with that of training.
bool trains_in_phases(const Resolution& run);
/// Settings of stages and precision, after those that depend on one option.
void complete_fine_tuning(Settings& settings);

/// Files of the phases after the training.
struct PhaseFiles {
    std::string evaluation;  // "": the evaluation is a part of the prediction
    std::string prediction;
};
/// TaskRow::run: runs the phases of the line, each with its own command line. A line of inference that measures
/// requests may also predict.
int run_phases(const run::TaskRow& row, const options::ParseResult& arguments, const run::Host& host,
               const PhaseFiles& files);
/// Adds the line of a dry run that lists the phases, if there are any.
std::vector<run::Topic> with_phases(std::vector<run::Topic> topics, const FineTuningSettings& settings);

/// The row of such a task; the task adds its name, options, steps, `make`, `functions` and `run`.
run::TaskRow fine_tuning_row();

class FineTuning : public run::Task {
public:
    run::TaskDescription description() const override;
    schedule::RunPlan plan(std::int64_t samples) const override;
    run::Rate rate(const schedule::RunPlan& plan) const override;
    /// Lines of the phases of the original programs.
    std::string printed_at(const run::Moment& moment) const override;

protected:
    struct Words {
        std::string_view run;       // in names of runs
        std::string_view data_set;  // in TaskDescription::identity
        std::string_view title;     // of a run's summary
    };
    /// `backend`: executes the graphs and must outlive the task. `seed`: of the order of samples. Compares the
    /// vocabulary with that of the weights: a resumed training compares all its data elsewhere; a new one may have a
    /// vocabulary of the user's choice, which causes a warning only.
    FineTuning(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed,
               const Words& words);

    const options::ParseResult& arguments() const { return arguments_; }
    const options::Settings& settings() const { return arguments_.settings; }
    const backend::Backend& backend() const { return backend_; }
    std::uint64_t seed() const { return seed_; }
    bool is_on_line(std::string_view key) const;
    /// The log of an original program numbers calls of the device.
    metrics::Position position(const metrics::TrainingRow& row) const;
    /// False for the validation split of a training that validates nothing; its files need not be there.
    bool is_used(data::Split split) const {
        return split == data::Split::train || !settings().main.trains || settings().validation.enabled;
    }
    bool packs(data::Split split) const;
    /// The rows of a split: its texts, or several texts in each, which are packed once. `slots`: as of
    /// data::pack_texts().
    std::shared_ptr<const data::Dataset> rows_of(data::Split split, const std::shared_ptr<const data::Dataset>& texts,
                                                 std::int64_t slots) const;
    /// Place of a text in the rows of the split's last rows_of(). Where nothing is packed, text i is row i, and its
    /// tokens are not counted.
    data::PackedPlace place_of(data::Split split, std::int64_t text) const;

private:
    const FineTuningSettings& fine_tuned() const { return fine_tuning_settings(settings()); }
    void check_vocabulary() const;
    std::string bare_run_name() const;

    options::ParseResult arguments_;
    const backend::Backend& backend_;
    std::uint64_t seed_;
    Words words_;
    struct Packed {
        std::shared_ptr<const data::Dataset> texts;
        std::shared_ptr<const data::PackedTexts> rows;
    };
    mutable std::map<data::Split, Packed> packed_;
};

}  // namespace cnntrain::tasks
