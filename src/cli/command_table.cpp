#include "cli/command_table.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "cli/resnet_recipe.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/tasks/tasks.h"

namespace cnntrain::cli {
namespace {

using config::Command;
using config::HelpPage;

template <const CommandFlags& (*kFlags)()> HelpPage page_of(const std::string& called) {
    return help_page(kFlags(), called);
}

/// The functions behind config::commands(), which holds names, script names and help lines. A command without a row
/// here is implemented by tasks or not available.
constexpr std::array<CommandEntry, 11> kCommands = {{
    {Command::demo, demo_command, page_of<demo_flags>},
    {Command::restore, restore_command},
    {Command::average, average_command, page_of<average_flags>},
    {Command::analyse, analyse_command, page_of<analyse_flags>},
    {Command::convert, convert_command, page_of<convert_flags>},
    {Command::dataset, dataset_command},
    {Command::benchmark, benchmark_command, benchmark_page},
    {Command::plan, plan_command, page_of<plan_flags>},
    {Command::profile, profile_command, page_of<profile_flags>},
    {Command::poprun, poprun_command, launch::poprun_page},
    {Command::report, report_command, page_of<report_flags>},
}};

constexpr ForeignProgram kForeignPrograms[] = {
    {config::kRecipeScripts[0], "the large-batch ResNet-50 recipe for CPUs: its training", resnet_main_flags,
     resnet_main_command},
    {config::kRecipeScripts[1], "the large-batch ResNet-50 recipe for CPUs: top-1 and top-5 accuracy",
     resnet_eval_flags, resnet_eval_command},
};

/// The options of all tasks that serve a command: those that only some tasks have are in groups with the task's name.
HelpPage page_of_tasks(Command command, const std::string& called) {
    HelpPage all;
    for (tasks::TaskPage& of_task : tasks::help_pages(command, called)) {
        if (all.rows.empty()) {
            all = std::move(of_task.page);
            continue;
        }
        for (config::HelpRow& row : of_task.page.rows) {
            if (std::ranges::find(all.rows, row.flag, &config::HelpRow::flag) != all.rows.end()) continue;
            row.group += " (" + std::string(of_task.task) + ")";
            all.rows.push_back(std::move(row));
        }
    }
    return all;
}

/// Commands of flags take these without rows.
void add_help_flags(HelpPage& page) {
    if (std::ranges::find(page.rows, config::kHelpFlag, &config::HelpRow::flag) != page.rows.end()) return;
    page.rows.push_back({.flag = std::string(config::kHelpFlag), .help = "print the main options"});
    page.rows.push_back({.flag = std::string(config::kHelpAllFlag), .help = "print all options"});
}

std::vector<std::string> words_of(const std::vector<std::string_view>& views) {
    return {views.begin(), views.end()};
}

}  // namespace

const CommandEntry* command_entry(Command command) {
    const auto* const found = std::ranges::find(kCommands, command, &CommandEntry::command);
    return found == kCommands.end() ? nullptr : found;
}

bool is_available(Command command) {
    return command_entry(command) != nullptr || tasks::serves(command);
}

int run_command(Command command, const Invocation& invocation) {
    const CommandEntry* const found = command_entry(command);
    return found != nullptr ? found->run(invocation) : task_command(command, invocation);
}

std::span<const ForeignProgram> foreign_programs() {
    return kForeignPrograms;
}

const ForeignProgram* foreign_program(std::string_view word) {
    const auto* const found = std::ranges::find(kForeignPrograms, last_part(word), &ForeignProgram::script);
    return found == std::end(kForeignPrograms) ? nullptr : found;
}

std::vector<CommandPage> command_pages() {
    std::vector<CommandPage> pages;
    for (const config::CommandInfo& info : config::commands()) {
        if (!is_available(info.command)) continue;
        const std::string called = "cnntrain " + std::string(info.name);
        if (info.command == Command::dataset) {
            for (const DatasetKind& kind : dataset_kinds()) {
                CommandPage& page = pages.emplace_back();
                page.command = std::string(info.name) + " " + std::string(kind.name);
                if (!kind.script.empty()) page.scripts.emplace_back(kind.script);
                page.summary = kind.help;
                page.page = help_page(kind.flags(), called + " " + std::string(kind.name));
            }
            continue;
        }
        const CommandEntry* const found = command_entry(info.command);
        const bool own = found != nullptr && found->page != nullptr;
        pages.push_back({std::string(info.name), words_of(info.scripts), std::string(info.help),
                         own ? found->page(called) : page_of_tasks(info.command, called)});
    }
    for (const ForeignProgram& program : kForeignPrograms) {
        const std::string script(program.script);
        pages.push_back({script, {}, std::string(program.help), help_page(program.flags(), script)});
    }
    for (CommandPage& page : pages)
        add_help_flags(page.page);
    return pages;
}

}  // namespace cnntrain::cli
