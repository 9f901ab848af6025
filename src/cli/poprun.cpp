// `cnntrain poprun`: starts a program in several processes through mpirun.
#include "cli/poprun.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "cli/commands.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/compile_request.h"

namespace cnntrain::cli {
namespace {

using launch::Machine;
using launch::Plan;
using launch::PoprunRequest;
using launch::Verbosity;

/// "text" prints one line; "full-text" and "full-json" add the version of Open MPI.
void print_poprun_version(const std::string& format) {
    const std::string own = run::version_line();
    if (format == "text") {
        std::cout << own << '\n';
        return;
    }
    const auto open_mpi = launch::this_machine(comm::process_environment(), "").open_mpi;
    const std::string major = open_mpi ? std::to_string(open_mpi->major) : "none";
    if (format == "full-text") {
        std::cout << own << "\nOpen MPI " << major << '\n';
    } else {
        std::cout << R"({"cnntrain": ")" << own.substr(own.find(' ') + 1) << R"(", "open_mpi": ")" << major << "\"}\n";
    }
}

/// POPRUN_LOG_LEVEL has the same effect as -v and -vv.
Verbosity wanted_verbosity(const PoprunRequest& request, const launch::Environment& environment) {
    const auto found = environment.find("POPRUN_LOG_LEVEL");
    if (found == environment.end()) return request.verbosity;
    std::string level = found->second;
    std::ranges::transform(level, level.begin(), [](unsigned char c) { return std::toupper(c); });
    if (level == "TRACE" || level == "DEBUG") return Verbosity::debug;
    return level == "INFO" ? std::max(request.verbosity, Verbosity::info) : request.verbosity;
}

void warn_of_obstacles(const Plan& plan) {
    for (const launch::Obstacle& obstacle : plan.obstacles)
        log::warning("it could not be started here: " + obstacle.message);
}

int print_plan(const Plan& plan) {
    std::cout << launch::topology_text(plan);
    std::cout << launch::quoted(plan.open_mpi ? launch::mpirun_words(plan) : plan.program) << '\n' << std::flush;
    warn_of_obstacles(plan);
    return 0;
}

int start(const PoprunRequest& request, const Plan& plan) {
    if (plan.only_describes) warn_of_obstacles(plan);
    if (!plan.obstacles.empty() && !plan.only_describes) {
        const launch::Obstacle& first = plan.obstacles.front();
        std::cerr << "error: poprun: " << first.message << '\n';
        return first.exit_code;
    }
    launch::LaunchOptions options;
    options.only_output_from = request.only_output_from;
    options.verbosity = wanted_verbosity(request, plan.environment);
    options.print_topology = request.print_topology;
    options.output = &terminal_output();
    options.notes = &std::cerr;
    options.stop_requested = stop_requested;
    catch_stop_signals();
    hold_exit(true);  // the instances need time to save their state
    return launch::run_launch(plan, options);
}

}  // namespace

int poprun_command(const Invocation& invocation) {
    const PoprunRequest request = launch::parse_poprun(invocation.arguments, posix_files());
    if (request.help) {
        std::cout << options::help_text(launch::poprun_page(called(invocation)), *request.help);
        return 0;
    }
    if (request.version) {
        print_poprun_version(request.version_format);
        return 0;
    }
    const Machine machine = launch::this_machine(comm::process_environment(), own_program());
    Plan plan = launch::plan_launch(request, machine);
    constexpr int kTag = 16;  // mpirun's, in front of each line: "[1,10]<stdout>:"
    const int columns = columns_of(console_terminal(), 0) - kTag;
    if (columns > 0) plan.environment[std::string(kColumnsVariable)] = std::to_string(columns);
    launch::export_settings(request, posix_files());
    for (const std::string& notice : plan.notices)
        log::info(notice);
    return request.dry_run ? print_plan(plan) : start(request, plan);
}

int poprun_instance(const std::vector<std::string>& program) {
    constexpr int kNotFound = 127;
    constexpr int kNotStarted = 126;
    const int number = launch::become_instance(program, comm::process_environment());
    std::cerr << "error: poprun: " + program.front() + " cannot be started here: " + std::strerror(number) + '\n';
    return number == ENOENT ? kNotFound : kNotStarted;
}

std::string own_program() {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed) throw Error(ErrorKind::unsupported, "/proc is needed to find this program");
    return self;
}

}  // namespace cnntrain::cli
