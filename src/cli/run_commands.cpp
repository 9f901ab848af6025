// `cnntrain restore`, the commands that tasks implement, and the recipe's programs.
#include <iostream>

#include "cli/commands.h"
#include "cli/resnet_recipe.h"
#include "cli/run_options.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/tasks/tasks.h"

namespace cnntrain::cli {
namespace {

/// The file name of the script that was typed.
std::string script_of(const Invocation& invocation) {
    return std::string(last_part(invocation.command));
}

RecipeHost this_host() {
    return recipe_host(comm::read_launched(comm::process_environment()));
}

/// The call of our command that replaces the recipe's command line. Rank 0 logs it.
Invocation announced(const Invocation& invocation, RecipeLine line, const std::string& command, int rank) {
    std::string words;
    for (const std::string& option : line.options)
        words += " " + option;
    line.notices.insert(line.notices.begin(), script_of(invocation) + " is run as: cnntrain " + command + words);
    for (const std::string& notice : line.notices) {
        if (rank == 0) log::info(notice);
    }
    return {std::move(line.options), invocation.command_line, command};
}

}  // namespace

int restore_command(const Invocation& invocation) {
    config::ParseResult line;
    return parse_and_run(
        config::Command::restore, invocation,
        [&line](const config::ParseResult&, const train::Host& host) { return tasks::run_restored(line, host); },
        [&line](const config::ParseResult& given) {
            line = given;
            return tasks::restored_arguments(line, posix_files());
        });
}

int resnet_main_command(const Invocation& invocation) {
    const std::string script = script_of(invocation);
    const RecipeHost host = this_host();
    RecipeLine line = resnet_main_line(script, invocation.arguments, host, posix_files());
    if (line.help_wish) {
        std::cout << config::help_text(help_page(resnet_main_flags(), script), *line.help_wish);
        return 0;
    }
    return task_command(config::Command::train, announced(invocation, std::move(line), "train", host.rank));
}

int resnet_eval_command(const Invocation& invocation) {
    const std::string script = script_of(invocation);
    const RecipeHost here = this_host();
    RecipeLine line = resnet_eval_line(script, invocation.arguments, here, posix_files());
    if (line.help_wish) {
        std::cout << config::help_text(help_page(resnet_eval_flags(), script), *line.help_wish);
        return 0;
    }
    return parse_and_run(config::Command::validation, announced(invocation, std::move(line), "validation", here.rank),
                         [](const config::ParseResult& arguments, train::Host host) {
                             host.estimator = train::EstimatorReport{.weight_decay = kRecipeWeightDecay};
                             return tasks::run_validation(arguments, host);
                         });
}

int task_command(config::Command command, const Invocation& invocation) {
    return parse_and_run(command, invocation, tasks::run);
}

}  // namespace cnntrain::cli
