#include "cli/run_options.h"

#include <unistd.h>

#include <iostream>

#include "cli/signals.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/metrics/progress.h"
#include "cnntrain/train/assemble.h"
#include "cnntrain/train/dry_run.h"

namespace cnntrain::cli {

train::Host process_host(const Invocation& invocation) {
    train::Host host;
    host.command_line = invocation.command_line;
    host.console = &std::cout;
    host.terminal_width = metrics::terminal_width(STDOUT_FILENO);
    host.stop_requested = stop_requested;
    host.hold_exit = hold_exit;
    return host;
}

void require_run_memory(const config::Settings& settings, config::Command command) {
    constexpr std::uint64_t kLibraryBytes = std::uint64_t{32} << 20;
    std::uint64_t threads = 0;
    for (const std::int64_t wanted : {settings.run.threads, settings.run.input_threads})
        threads += static_cast<std::uint64_t>(wanted > 0 ? wanted : available_cores());
    require_memory(kLibraryBytes + threads * thread_stack_bytes(), "cnntrain " + std::string(config::name(command)));
}

int parse_and_run(config::Command command, const Invocation& invocation,
                  const std::function<int(const config::ParseResult&, const train::Host&)>& run,
                  const std::function<config::ParseResult(const config::ParseResult&)>& complete) {
    config::ParseResult arguments =
        config::parse_command_line(command, invocation.arguments, config::process_environment());
    if (arguments.wants_help) {
        std::cout << config::help_text(command, called(invocation));
        return 0;
    }
    if (complete) arguments = complete(arguments);
    if (arguments.wants_print_config) {
        std::cout << config::print_config_text(arguments);
        return 0;
    }
    for (const std::string& notice : arguments.notices) {
        log::info(notice);
    }
    if (arguments.command == config::Command::train) train::check_network(arguments.settings);
    if (arguments.wants_dry_run) std::cout << train::dry_run_text(arguments);
    config::refuse_unavailable(arguments);
    if (arguments.wants_dry_run) return 0;
    require_run_memory(arguments.settings, command);
    catch_stop_signals();
    return run(arguments, process_host(invocation));
}

}  // namespace cnntrain::cli
