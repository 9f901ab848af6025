// `cnntrain poprun`: starts a program in several processes through mpirun.
#include "cli/poprun.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/poprun.h"
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
    const auto open_mpi = launch::this_machine(process_variables(), "").open_mpi;
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
    const std::string level = in_lower_case(found->second);
    if (level == "trace" || level == "debug") return Verbosity::debug;
    return level == "info" ? std::max(request.verbosity, Verbosity::info) : request.verbosity;
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
    const Machine machine = launch::this_machine(process_variables(), own_program());
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
    const int number = launch::become_instance(program, process_variables());
    std::cerr << "error: poprun: " + program.front() + " cannot be started here: " + std::strerror(number) + '\n';
    return number == ENOENT ? kNotFound : kNotStarted;
}

std::string own_program() {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed) throw Error(ErrorKind::unsupported, "/proc is needed to find this program");
    return self;
}

namespace {

constexpr std::int64_t kMostProcesses = 1'000'000;
constexpr std::string_view kDots = "...";

std::int64_t parse_count(std::string_view word) {
    const auto count = as_number<std::int64_t>(word);
    if (!count || *count < 1 || *count > kMostProcesses) {
        refuse_line("--processes expects numbers from 1 to " + std::to_string(kMostProcesses) +
                    ", such as 1,2,4...1024; got '" + std::string(word) + "'");
    }
    return *count;
}

void add_doublings(std::int64_t from, std::int64_t to, std::vector<std::int64_t>& counts) {
    std::int64_t count = from;
    for (; count < to; count *= 2)
        counts.push_back(count);
    if (count == to) {
        counts.push_back(to);
        return;
    }
    const std::string range = std::to_string(from) + std::string(kDots) + std::to_string(to);
    if (to < from) refuse_line("--processes " + range + ": the first number must be the smaller one");
    refuse_line("--processes " + range + " doubles from there on, which gives " + std::to_string(count / 2) + " and " +
                std::to_string(count) + ", not to " + std::to_string(to));
}

struct Unit {
    std::string_view name;
    double factor;
};

/// A number followed by one of `units`, as value times unit; empty for any other word.
template <std::size_t N> std::optional<double> quantity(std::string_view word, const Unit (&units)[N]) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    const std::string_view unit = trimmed({end, static_cast<std::size_t>(word.data() + word.size() - end)});
    const auto found = std::ranges::find(units, unit, &Unit::name);
    if (found == std::end(units)) return std::nullopt;
    return value * found->factor;
}

/// Result in bytes per ms.
std::optional<double> bandwidth_of(std::string_view word) {
    constexpr double kByte = 1e-3;
    constexpr double kBit = kByte / 8;
    static constexpr Unit kUnits[] = {
        {"bps", kBit},          {"kbps", 1e3 * kBit},    {"Mbps", 1e6 * kBit},   {"Gbps", 1e9 * kBit},
        {"Tbps", 1e12 * kBit},  {"bit/s", kBit},         {"kbit/s", 1e3 * kBit}, {"Mbit/s", 1e6 * kBit},
        {"Gbit/s", 1e9 * kBit}, {"Tbit/s", 1e12 * kBit}, {"B/s", kByte},         {"kB/s", 1e3 * kByte},
        {"MB/s", 1e6 * kByte},  {"GB/s", 1e9 * kByte},   {"TB/s", 1e12 * kByte},
    };
    constexpr double kLeast = kByte;
    constexpr double kMost = 1e18 * kByte;
    const std::optional<double> value = quantity(word, kUnits);
    return value && *value >= kLeast && *value <= kMost ? value : std::nullopt;
}

/// Result in ms.
std::optional<double> latency_of(std::string_view word) {
    static constexpr Unit kUnits[] = {{"s", 1e3}, {"ms", 1}, {"us", 1e-3}, {"\u00b5s", 1e-3}, {"ns", 1e-6}};
    constexpr double kHourMs = 3.6e6;
    const std::optional<double> value = quantity(word, kUnits);
    return value && *value >= 0 && *value <= kHourMs ? value : std::nullopt;
}

constexpr const char* kBandwidths =
    "a bandwidth from 1B/s to 1000000TB/s, in bps, B/s or with k, M, G or T before these (100Gbps is 12.5GB/s)";

}  // namespace

std::vector<std::int64_t> parse_processes(std::string_view text) {
    std::vector<std::int64_t> counts;
    for (const std::string_view part : split(text, ',')) {
        const std::string_view word = trimmed(part);
        const std::size_t dots = word.find(kDots);
        if (dots == std::string_view::npos) {
            counts.push_back(parse_count(word));
        } else {
            add_doublings(parse_count(trimmed(word.substr(0, dots))),
                          parse_count(trimmed(word.substr(dots + kDots.size()))), counts);
        }
    }
    std::ranges::sort(counts);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
}

plan::Link parse_link(std::string_view text, std::string_view flag) {
    const auto words = split(text, ',');
    const auto got = [&] { return "; got '" + std::string(text) + "'"; };
    if (words.size() != 2)
        refuse_line(std::string(flag) + " expects bandwidth and latency, such as 100Gbps,1.5us" + got());
    const std::optional<double> bandwidth = bandwidth_of(trimmed(words[0]));
    if (!bandwidth) refuse_line(std::string(flag) + " expects first " + kBandwidths + got());
    const std::optional<double> latency = latency_of(trimmed(words[1]));
    if (!latency)
        refuse_line(std::string(flag) + " expects second a latency of at most an hour, in s, ms, us or ns" + got());
    return {*latency, *bandwidth};
}

double parse_bandwidth(std::string_view text, std::string_view flag) {
    const std::optional<double> bandwidth = bandwidth_of(trimmed(text));
    if (!bandwidth) refuse_line(std::string(flag) + " expects " + kBandwidths + "; got '" + std::string(text) + "'");
    return *bandwidth;
}

double parse_share(std::string_view text, std::string_view flag) {
    static constexpr Unit kUnits[] = {{"", 1}, {"%", 1e-2}};
    const std::optional<double> share = quantity(trimmed(text), kUnits);
    if (!share || *share < 0 || *share > 1) {
        refuse_line(std::string(flag) + " expects a share from 0 to 1, such as 5% or 0.05; got '" + std::string(text) +
                    "'");
    }
    return *share;
}

}  // namespace cnntrain::cli
