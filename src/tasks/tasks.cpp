#include "cnntrain/tasks/tasks.h"

#include <algorithm>
#include <filesystem>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/line.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/weights/checkpoint.h"
#include "tasks/image_classification/task.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {

const std::vector<run::TaskRow>& task_table() {
    static const std::vector<run::TaskRow> table = {
        image_classification_row(),
        pretraining_row(options::Command::pretrain),
        text_classification_row(),
        question_answering_row(),
    };
    return table;
}

void check_rows(const options::TaskOptions& task) {
    std::vector<std::string> missing;
    for (const char* flag : {"--help", "--restore-path", "--init-path", "--seed", "--epochs", "--iterations",
                             "--micro-batch-size", "--gradient-accumulation-count", "--replicas"}) {
        if (task.options().with_shared(flag) == nullptr) missing.emplace_back(flag);
    }
    if (missing.empty()) return;
    throw Error(ErrorKind::internal, "the options of task " + std::string(task.name) + " lack " + listed(missing) +
                                         ", which every run reads; take them with shared()");
}

run::Topic model_topic(const run::Task& task, const graph::Graph& graph, double flops) {
    const run::TaskDescription description = task.description();
    return {"Model", description.title + ", " + description.details + ", " +
                         std::to_string(nn::parameter_count(graph)) + " parameters, " + formatted("%.5g", flops / 1e9) +
                         " GFLOP forward per " + task.columns().unit.one};
}

std::vector<std::string_view> task_names() {
    std::vector<std::string_view> names;
    for (const run::TaskRow& row : task_table())
        names.push_back(row.options.name);
    return names;
}

RecordedRun arguments_beside(const FileSystem& files, const std::string& place) {
    std::string path = file_beside(files, place, kArguments);
    const std::filesystem::path folder = std::filesystem::path(place).parent_path();
    const bool is_derived = folder.filename() == "ckpt" || folder.filename() == weights::kEightBitFolder;
    if (path.empty() && is_derived) path = file_beside(files, folder.string(), kArguments);
    if (path.empty()) return {};
    return {path, read_text(files, path)};
}

RecordedRun recorded_run(const FileSystem& files, const std::string& restore_path) {
    if (restore_path.empty()) return {};
    const std::string given = without_trailing_slashes(restore_path);
    if (RecordedRun run = arguments_beside(files, given); !run.source.empty()) return run;
    try {
        const std::string checkpoint = weights::one_of(files, given).path;
        if (RecordedRun run = arguments_beside(files, checkpoint); !run.source.empty()) return run;
        return {checkpoint, weights::run_options_of(files, checkpoint)};
    } catch (const Error&) {
        return {};  // the command reports what is wrong with the checkpoint
    }
}

std::string file_beside(const FileSystem& files, const std::string& checkpoint, const char* name) {
    const std::filesystem::path place(checkpoint);
    for (const auto& folder : {place, place.parent_path()}) {
        std::string path = (folder / name).string();
        if (!folder.empty() && exists(files, path)) return path;
    }
    return {};
}

Layer recorded_options(const RecordedRun& run, const OptionSet& options) {
    if (run.text.empty()) return {};
    try {
        return options::layer_from_json(options, run.text);
    } catch (const Error& error) {
        throw error.within(run.source);
    }
}

void take(Resolution& run, const Layer& layer, Source source, bool (*wanted)(const Option&)) {
    for (const auto& [option, value] : layer) {
        const std::string name = key(*option);
        if (wanted(*option) && run.values.has(name) && !run.values.given(name)) run.values.set(name, value, source);
    }
}

namespace {

using options::Command;
using run::TaskRow;

bool serves(const TaskRow& row, Command command) {
    return std::ranges::find(row.options.commands, command) != row.options.commands.end();
}

const TaskRow* row_named(std::string_view name) {
    const auto& table = task_table();
    const auto found = std::ranges::find_if(table, [&](const TaskRow& row) { return row.options.name == name; });
    return found == table.end() ? nullptr : &*found;
}

const TaskRow& first_row(Command command) {
    const auto& table = task_table();
    const auto found = std::ranges::find_if(table, [&](const TaskRow& row) { return serves(row, command); });
    CNNTRAIN_CHECK(found != table.end(), "no task serves the command " + std::string(options::name(command)));
    return *found;
}

[[noreturn]] void refuse_task(const std::string& name) {
    const std::vector<std::string_view> known = task_names();
    const std::vector<std::string> names(known.begin(), known.end());
    throw Error(ErrorKind::usage,
                "unknown task '" + name + "'" + suggestion(name, names) + "; tasks: " + joined(names));
}

/// A run of a task that does not serve a command which evaluates.
[[noreturn]] void refuse_run(const TaskRow& row, Command command, const std::string& run) {
    const std::string lacks = command == Command::inference ? "assigns no classes" : "is evaluated by its own command";
    throw Error(ErrorKind::usage, run + " is of a " + std::string(row.options.name) + ", which " + lacks + ": " +
                                      (row.evaluation_line != nullptr ? row.evaluation_line(run) : ""));
}

struct Choice {
    const TaskRow& row;
    Command command;
};

/// The run whose checkpoints a line evaluates; without text if it evaluates none.
struct EvaluatedRun {
    std::string path = {};  // as on the line
    options::RecordedRun record = {};
};

EvaluatedRun evaluated_run(Command command, const options::OwnWords& line, const FileSystem& files) {
    if (command != Command::validation && command != Command::inference) return {};
    const auto path = line.value("--restore-path");
    if (!path) return {};
    return {*path, recorded_run(files, *path)};
}

/// The row whose options a line of `restore` may have: that of the run, or the first one, whose options all tasks have.
const TaskRow& restoring_row(const options::OwnWords& line, const FileSystem& files) {
    const TaskRow& first = first_row(Command::restore);
    const auto path = line.value("--restore-path");
    const std::string record = path.value_or("") + "/" + kArguments;
    if (!path || files.kind(record) != FileKind::file) return first;
    const TaskRow* const row = row_named(options::recorded_task(read_text(files, record)));
    return row != nullptr && serves(*row, Command::restore) ? *row : first;
}

/// A command that only one task serves, such as pretrain, decides the task; elsewhere --task or the run's record does.
Choice chosen(Command command, const options::OwnWords& line, const EvaluatedRun& run) {
    const TaskRow& first = first_row(command);
    const auto serving = std::ranges::count_if(task_table(), [&](const TaskRow& row) { return serves(row, command); });
    const bool own_command = serving == 1 && &first != &task_table().front();
    if (own_command) return {first, command};
    if (const auto name = line.value("--task")) {
        const TaskRow* const row = row_named(*name);
        if (row == nullptr) refuse_task(*name);
        if (serves(*row, command)) return {*row, command};
        if (command == Command::train) return {*row, row->options.commands.front()};
        throw Error(ErrorKind::usage, "--task " + *name + " has no command " + std::string(options::name(command)) +
                                          "; see cnntrain " +
                                          std::string(options::name(row->options.commands.front())) + " --help");
    }
    if (!run.record.text.empty()) {
        const TaskRow* const row = row_named(options::recorded_task(run.record.text));
        if (row != nullptr && serves(*row, command)) return {*row, command};
        if (row != nullptr) refuse_run(*row, command, run.path);
    }
    return {first, command};
}

/// "--restore-path (train) or --restore-dir (pretrain)": how the tasks' own lines name the folder of a run.
std::string restore_flags() {
    std::string text;
    for (const TaskRow& row : task_table()) {
        const std::string flag(row.options.options().of_shared("--restore-path").flag);
        const std::string of = flag + " (" + std::string(options::name(row.options.commands.front())) + ")";
        if (text.find(of) == std::string::npos) text += (text.empty() ? "" : " or ") + of;
    }
    return text;
}

/// The task of the run in the folder that a restore line names.
const TaskRow& restored_row(const options::ParseResult& restore_line, const FileSystem& files) {
    const std::string folder = without_trailing_slashes(*restore_line.settings.main.restore_path);
    const std::string record = folder + "/" + kArguments;
    if (files.kind(record) == FileKind::absent) {
        throw Error(ErrorKind::not_found, "--restore-path " + folder +
                                              ": no arguments.json there; give the folder of a run, or resume with "
                                              "the run's own line and " +
                                              restore_flags());
    }
    const TaskRow* const row = row_named(options::recorded_task(read_text(files, record)));
    return row == nullptr ? task_table().front() : *row;
}

}  // namespace

const TaskRow& row_of(const options::ParseResult& arguments) {
    const auto& table = task_table();
    const auto found = std::ranges::find_if(table, [&](const TaskRow& row) { return &row.options == arguments.task; });
    CNNTRAIN_CHECK(found != table.end(), "arguments of no task");
    return *found;
}

options::ParseResult parse_command_line(Command command, const std::vector<std::string>& arguments,
                                        const options::Environment& environment, const FileSystem& files) {
    const options::OwnWords line = options::in_own_words(first_row(command).options, command, arguments);
    const EvaluatedRun run = evaluated_run(command, line, files);
    const Choice choice =
        command == Command::restore ? Choice{restoring_row(line, files), command} : chosen(command, line, run);
    check_rows(choice.row.options);
    return options::parse_command_line(choice.row.options, choice.command, arguments, environment, run.record);
}

std::vector<TaskPage> help_pages(Command command, std::string_view called) {
    std::vector<TaskPage> pages;
    for (const TaskRow& row : task_table()) {
        if (serves(row, command)) pages.push_back({row.options.name, options::help_page(row.options, command, called)});
    }
    return pages;
}

bool serves(Command command) {
    return std::ranges::any_of(task_table(), [&](const TaskRow& row) { return serves(row, command); });
}

std::vector<Command> training_commands() {
    std::vector<Command> commands;
    for (const TaskRow& row : task_table()) {
        const Command first = row.options.commands.front();
        if (std::ranges::find(commands, first) == commands.end()) commands.push_back(first);
    }
    return commands;
}

bool takes_place_of(std::string_view flag, std::string_view other) {
    return std::ranges::any_of(task_table(), [&](const TaskRow& row) {
        return serves(row, Command::train) && options::takes_place_of(row.options, flag, other);
    });
}

options::ParseResult restored_arguments(const options::ParseResult& restore_line, const FileSystem& files) {
    return run::restored_arguments(restored_row(restore_line, files), restore_line, files);
}

int run_restored(const options::ParseResult& restore_line, const run::Host& host) {
    return run::run_restored(restored_row(restore_line, *host.files), restore_line, host);
}

int run(const options::ParseResult& arguments, const run::Host& host) {
    const run::TaskRow& row = row_of(arguments);
    const bool has_phases = arguments.command == Command::train || arguments.command == Command::inference;
    if (has_phases && row.run != nullptr) return row.run(row, arguments, host);
    if (arguments.settings.main.trains) return run::run_training(row, arguments, host);
    return arguments.command == Command::inference ? run::run_inference(row, arguments, host)
                                                   : run::run_validation(row, arguments, host);
}

std::string dry_run_text(const options::ParseResult& arguments) {
    return run::dry_run_text(row_of(arguments), arguments);
}

}  // namespace cnntrain::tasks
