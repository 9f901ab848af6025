#include "cli/commands.h"

#include <unistd.h>
#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string_view>

#include "cli/console.h"
#include "cli/resnet_recipe.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/tasks/tasks.h"

namespace cnntrain::cli {
namespace {

/// `together`: the processes that a launcher started share the work.
options::Launch launch_of(const comm::Launched& launched, bool together) {
    options::Launch launch;
    if (!together) return launch;
    if (launched.world) {
        launch.processes = launched.world->size;
        launch.index = launched.world->rank;
    }
    if (launched.popdist) launch.replicas = launched.popdist->local_replicas;
    return launch;
}

bool is_on(const options::ParseResult& arguments, std::string_view key) {
    return std::ranges::any_of(arguments.options, [&](const options::ResolvedOption& option) {
        return options::key(*option.option) == key && option.value == options::Value(true);
    });
}

/// True if a run measures speed, on made-up data or of the input alone. Processes of plain mpirun then measure side by
/// side, as benchmarks of the original programs do.
bool only_measures(const options::ParseResult& arguments) {
    return is_on(arguments, "generated_data") || is_on(arguments, "synthetic_data") ||
           arguments.settings.device.dataset_benchmark;
}

/// Parses the line for its processes. Those that train together share each update. Those that validate share the
/// samples, except under plain mpirun if they only measure. Inference has no shared work: several processes may only
/// measure, under poprun for one result; otherwise Error(usage).
options::ParseResult parsed(options::Command command, const Invocation& invocation, const comm::Launched& launched) {
    using options::Command;
    options::Environment environment = options::process_environment();
    std::map<std::string, std::string> found;  // by name, which a line is searched for twice
    environment.find_weights = [&](const options::WeightsWish& wish) {
        const auto [known, is_new] = found.try_emplace(wish.name);
        if (is_new) known->second = find_weights(wish, environment.config_folders, invocation.command_line);
        return known->second;
    };
    const auto parse = [&](bool together) {
        environment.launch = launch_of(launched, together);
        return tasks::parse_command_line(command, invocation.arguments, environment);
    };
    const bool several = launched.world && launched.world->size > 1;
    const bool shares_validation = command == Command::validation && launched.popdist;
    if (command != Command::inference && (command != Command::validation || shares_validation)) return parse(true);
    options::ParseResult arguments = parse(false);
    if (!several || arguments.wants_help || arguments.wants_print_config) return arguments;
    if (only_measures(arguments)) return launched.popdist ? parse(true) : std::move(arguments);
    if (command == Command::validation) return parse(true);
    refuse_processes(*launched.world, invocation);
}

// A launcher may kill all processes when one exits with an error, so each error is printed before any process can exit
// because of it.

/// Rank 0 prints; other ranks print only if rank 0 cannot be reached.
int print_error_of_all(comm::Communicator& communicator, const run::ErrorOfAll& error) {
    if (communicator.rank() == 0) print_error(error.what(), error.kind());
    try {
        communicator.finish();
    } catch (const Error&) {
        if (communicator.rank() != 0) throw error;
    }
    return exit_code(error.kind());
}

/// Prints this process's error if it fails, then releases the processes that wait for it.
int run_with_peers(const std::shared_ptr<comm::Communicator>& communicator, const std::function<int()>& run) {
    try {
        const int code = run();
        communicator->finish();
        return code;
    } catch (const run::ErrorOfAll& error) {
        return print_error_of_all(*communicator, error);
    } catch (const Error& error) {
        const int code = print_error(error.what(), error.kind());
        communicator->leave(error.what());
        return code;
    } catch (const std::exception& error) {
        communicator->leave(error.what());
        throw;
    }
}

/// True if this process prints. The first one always does. Some tasks print training in every process under poprun,
/// except on a terminal; for others the options decide. A validation's result covers all processes and is printed once.
bool prints(const options::ParseResult& arguments, bool by_poprun, const Terminal& terminal) {
    if (arguments.launch.index == 0 || arguments.settings.logging.all_instances) return true;
    if (terminal.is_there() && !arguments.settings.logging.verbose) return false;
    return tasks::row_of(arguments).every_process_prints && by_poprun && arguments.settings.main.trains;
}

}  // namespace

void refuse_processes(const comm::World& world, const Invocation& invocation) {
    throw Error(ErrorKind::usage, std::string(comm::name(world.launcher)) + " started " + std::to_string(world.size) +
                                      " processes, and each would do the whole work of " + called(invocation) +
                                      "; start one process without the launcher: " + invocation.command_line);
}

run::Host process_host(const Invocation& invocation) {
    run::Host host;
    host.command_line = invocation.command_line;
    host.is_original_line = options::is_script(invocation.command);
    host.console = &terminal_output();
    host.terminal = console_terminal();
    host.stop_requested = stop_requested;
    host.hold_exit = hold_exit;
    return host;
}

void require_run_memory(const options::Settings& settings, options::Command command) {
    constexpr std::uint64_t kLibraryBytes = std::uint64_t{32} << 20;
    std::uint64_t threads = 0;
    for (const std::int64_t wanted : {settings.run.threads, settings.run.input_threads})
        threads += static_cast<std::uint64_t>(wanted > 0 ? wanted : available_cores());
    require_memory(kLibraryBytes + threads * thread_stack_bytes(), "cnntrain " + std::string(options::name(command)));
}

int parse_and_run(options::Command command, const Invocation& invocation,
                  const std::function<int(const options::ParseResult&, const run::Host&)>& run,
                  const std::function<options::ParseResult(const options::ParseResult&)>& complete) {
    const comm::Launched launched = comm::read_launched(process_variables());
    options::ParseResult arguments = parsed(command, invocation, launched);
    if (arguments.wants_help) {
        std::cout << options::help_text(options::help_page(*arguments.task, arguments.command, called(invocation)),
                                        arguments.help);
        return 0;
    }
    if (complete) arguments = complete(arguments);
    if (arguments.settings.logging.quiet) log::set_level(log::Level::warning);
    if (arguments.settings.logging.format == run::LogFormat::json) report_in_json();
    if (arguments.wants_dry_run && arguments.launch.index > 0) log::set_level(log::Level::error);  // rank 0 warns
    for (const std::string& notice : arguments.notices) {
        if (arguments.launch.index == 0) log::info(notice);
    }
    if (arguments.wants_print_config) {
        std::cout << options::print_config_text(arguments);
        return 0;
    }
    run::check_stages(tasks::row_of(arguments), arguments.settings);
    options::refuse_unavailable(arguments);
    const bool alone = arguments.launch.processes == 1;
    const bool side_by_side = alone && launched.world && launched.world->rank > 0;
    if (arguments.wants_dry_run && side_by_side) return 0;  // rank 0 prints
    require_run_memory(arguments.settings, command);
    run::Host host = process_host(invocation);
    if (!alone) {
        host.communicator = comm::make_mpi_communicator({.timeout_seconds = arguments.settings.comm.timeout_seconds});
        host.reports = prints(arguments, launched.popdist.has_value(), host.terminal);
    }
    if (!arguments.wants_dry_run) catch_stop_signals();
    return run_with_peers(host.communicator, [&] {
        if (!arguments.wants_dry_run) return run(arguments, host);
        run::print_dry_run(tasks::row_of(arguments), arguments, host);
        return 0;
    });
}

// `cnntrain restore`, the commands that tasks implement, and the recipe's programs.

namespace {

/// The file name of the script that was typed.
std::string script_of(const Invocation& invocation) {
    return std::string(last_part(invocation.command));
}

RecipeHost this_host() {
    return recipe_host(comm::read_launched(process_variables()));
}

/// The call of our command that replaces the recipe's command line. Rank 0 logs it.
Invocation announced(const Invocation& invocation, RecipeLine line, const std::string& command, int rank) {
    line.notices.insert(line.notices.begin(),
                        script_of(invocation) + " is run as: cnntrain " + command + each_behind(" ", line.options));
    for (const std::string& notice : line.notices) {
        if (rank == 0) log::info(notice);
    }
    return {std::move(line.options), invocation.command_line, command};
}

}  // namespace

int restore_command(const Invocation& invocation) {
    options::ParseResult line;
    return parse_and_run(
        options::Command::restore, invocation,
        [&line](const options::ParseResult&, const run::Host& host) { return tasks::run_restored(line, host); },
        [&line](const options::ParseResult& given) {
            line = given;
            return tasks::restored_arguments(line, posix_files());
        });
}

int resnet_main_command(const Invocation& invocation) {
    const std::string script = script_of(invocation);
    const RecipeHost host = this_host();
    RecipeLine line = resnet_main_line(script, invocation.arguments, host, posix_files());
    if (line.help_wish) {
        std::cout << options::help_text(help_page(resnet_main_flags(), script), *line.help_wish);
        return 0;
    }
    return task_command(options::Command::train, announced(invocation, std::move(line), "train", host.rank));
}

int resnet_eval_command(const Invocation& invocation) {
    const std::string script = script_of(invocation);
    const RecipeHost here = this_host();
    RecipeLine line = resnet_eval_line(script, invocation.arguments, here, posix_files());
    if (line.help_wish) {
        std::cout << options::help_text(help_page(resnet_eval_flags(), script), *line.help_wish);
        return 0;
    }
    return parse_and_run(options::Command::validation, announced(invocation, std::move(line), "validation", here.rank),
                         [](const options::ParseResult& arguments, run::Host host) {
                             host.estimator = run::EstimatorReport{.weight_decay = kRecipeWeightDecay};
                             return run::run_validation(tasks::row_of(arguments), arguments, host);
                         });
}

int task_command(options::Command command, const Invocation& invocation) {
    Invocation line = invocation;
    const std::string script = script_of(invocation);
    const auto put_first = [&](std::initializer_list<std::string> words) {
        line.arguments.insert(line.arguments.begin(), words);
    };
    if (script == "run_squad.py") put_first({"--task", "question-answering", "--phases"});
    if (script == "run_classifier.py") put_first({"--task", "text-classification", "--phases"});
    if (script == "run_squad_runtime.py") {
        // Its defaults, which the line's own words replace.
        const auto counts = [](const std::string& word) { return word.starts_with("--num-iter"); };
        if (std::ranges::none_of(line.arguments, counts)) put_first({"--num-iter", "1000"});
        put_first({"--task", "question-answering", "--num-inference-thread", "2"});
    }
    return parse_and_run(command, line, tasks::run);
}

}  // namespace cnntrain::cli
