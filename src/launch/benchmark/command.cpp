#include "launch/benchmark/command.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/tasks/tasks.h"
#include "launch/process.h"

namespace cnntrain::benchmark {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

/// Replaces each run of white space by one blank, also inside quotes.
std::string collapsed(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (std::isspace(static_cast<unsigned char>(c)) == 0) {
            result += c;
        } else if (!result.empty() && result.back() != ' ') {
            result += ' ';
        }
    }
    while (result.ends_with(' '))
        result.pop_back();
    return result;
}

[[noreturn]] void refuse_line(const Entry& entry, const std::string& message) {
    throw Error(ErrorKind::data, entry.file + ": " + entry.name + ": " + message);
}

bool is_option(const std::string& word) {
    return word.starts_with("--") && word.size() > 2;
}

std::string option_name(const std::string& word) {
    return word.substr(0, word.find('='));
}

/// Removes the option at `at` and its value, unless it is a switch or the value is joined to it. Returns the position
/// of the next word.
Words::iterator drop_option(Words& words, Words::iterator at, bool is_switch) {
    const bool joined = at->find('=') != std::string::npos;
    at = words.erase(at);
    if (!joined && !is_switch && at != words.end() && !is_option(*at)) at = words.erase(at);
    return at;
}

void drop_wandb(Words& words) {
    for (auto at = words.begin(); at != words.end();) {
        const bool wandb = is_option(*at) && option_name(*at).find("wandb") != std::string::npos;
        at = wandb ? drop_option(words, at, *at == "--wandb") : at + 1;
    }
}

/// "python3" and the script after it.
struct Script {
    std::size_t at = 0;  // position of the interpreter
    std::string name;
};

/// Finds the first word python3, otherwise the first word python.
std::optional<Script> find_script(const Entry& entry, const Words& words) {
    auto found = std::ranges::find(words, "python3");
    if (found == words.end()) found = std::ranges::find(words, "python");
    if (found == words.end()) return std::nullopt;
    const auto script = found + 1;
    if (script == words.end()) refuse_line(entry, "cmd: expected a script after " + *found);
    if (*script == "-m") {
        refuse_line(entry, "cmd: python modules cannot be run, and a benchmark cannot run benchmarks; got " + *found +
                               " -m " + (script + 1 == words.end() ? "" : *(script + 1)));
    }
    return Script{static_cast<std::size_t>(found - words.begin()), *script};
}

/// Why the command cannot run here: its script is missing. Otherwise "".
std::string skip_reason(const std::optional<Script>& script) {
    if (!script) return "";
    const std::string_view reason = options::why_not_here(script->name);
    return reason.empty() ? "" : std::string(last_part(script->name)) + ": " + std::string(reason);
}

void check_script(const Entry& entry, const std::string& script) {
    if (options::is_script(script)) return;
    try {
        options::command_named(script);
    } catch (const Error& error) {
        refuse_line(entry, "cmd: '" + script + "' is no script that cnntrain stands for: " + error.what());
    }
}

int count_after(const Words& words, std::string_view option) {
    int count = 1;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] != option) continue;
        const std::string& text = words[i + 1];
        std::from_chars(text.data(), text.data() + text.size(), count);
    }
    return count;
}

bool names_hosts(const Words& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        constexpr std::string_view kOptions[] = {"--host", "-host", "-H", "--hostfile", "-hostfile", "--machinefile"};
        return std::ranges::find(kOptions, word) != std::end(kOptions);
    });
}

/// Changes mpirun options that fail on most machines, such as binding more processes to a socket than it has cores.
/// `words`: the part of the command line before the program. The program takes its share of the cores itself.
void adapt_mpirun(Words& words, std::vector<std::string>& notices, const launch::Machine& machine) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] == "--bind-to" && words[i + 1] == "socket") {
            words[i + 1] = "none";
            notices.emplace_back("--bind-to socket became --bind-to none: each process keeps to its share of cores");
        } else if (words[i] == "-ppn") {
            words[i] = "--map-by";
            words[i + 1] = "ppr:" + words[i + 1] + ":node";
            notices.emplace_back("-ppn became --map-by " + words[i + 1]);
        }
    }
    const auto has = [&](const char* option) { return std::ranges::find(words, option) != words.end(); };
    if (launch::root_launch(machine, std::nullopt) == launch::RootLaunch::add_option && !has("--allow-run-as-root"))
        words.insert(words.begin() + 1, "--allow-run-as-root");
    if (names_hosts(words)) return;
    for (const std::string& dropped : launch::drop_network_choices(words))
        notices.push_back("on one host networks are not chosen; left out: " + dropped);
    const int processes = std::max(count_after(words, "--np"), count_after(words, "-np"));
    if (processes <= machine.cores || has(launch::kOversubscribe)) return;
    words.insert(words.begin() + 1, launch::kOversubscribe);
    notices.push_back(std::to_string(processes) + " processes on " + std::to_string(machine.cores) +
                      " cores: " + launch::kOversubscribe + " added");
}

/// Replaces the scripts by this executable.
void map_programs(const Entry& entry, PlannedCommand& plan, const launch::Machine& machine) {
    Words& words = plan.words;
    const std::optional<Script> script = find_script(entry, words);
    plan.skip_reason = skip_reason(script);
    if (!plan.skip_reason.empty()) return;
    if (script) check_script(entry, script->name);
    const std::string_view launcher = last_part(words.front());
    if (launcher == "poprun") {
        words.front() = machine.program;
        words.insert(words.begin() + 1, "poprun");
        return;
    }
    auto program_at = words.begin();
    if (script) {
        program_at += static_cast<std::ptrdiff_t>(script->at);
    } else if (launcher == "mpirun") {
        program_at = std::ranges::find_if(
            words, [](const std::string& word) { return word == "cnntrain" || options::is_script(word); });
    }
    const Words program = launch::with_own_commands({program_at, words.end()}, machine.program);
    words.erase(program_at, words.end());
    if (launcher == "mpirun") adapt_mpirun(words, plan.notices, machine);
    words.insert(words.end(), program.begin(), program.end());
}

/// Removes options that the override repeats or contradicts. Options before the script belong to a launcher and stay.
void drop_replaced(Words& words, const Override& override) {
    auto at =
        std::ranges::find_if(words, [](const std::string& word) { return word == "python3" || word == "python"; });
    if (at == words.end()) at = words.begin();
    while (at != words.end()) {
        if (!is_option(*at) || !tasks::takes_place_of(override.name, option_name(*at))) {
            ++at;
            continue;
        }
        const bool joined = at->find('=') != std::string::npos;
        at = words.erase(at);
        while (!joined && at != words.end() && !is_option(*at))
            at = words.erase(at);
    }
}

void add_requested_options(Words& words, const Request& request) {
    if (request.compile_only) words.emplace_back("--compile-only");
    if (request.profile) words.emplace_back("--profile");
    for (const Override& override : request.overrides) {
        drop_replaced(words, override);
        words.push_back("--" + override.name);
        if (override.value) words.push_back(*override.value);
    }
}

/// If the first variable is not set, it takes the value of the second.
constexpr std::pair<const char*, const char*> kStandIns[] = {
    {"DATASETS_DIR", "DATASET_DIR"},
    {"IPUOF_VIPU_API_PARTITION_ID", "PARTITION"},
    {"VIPU_CLI_API_HOST", "IPUOF_VIPU_API_HOST"},
};

void compose_environment(const Entry& entry, PlannedCommand& plan, const Request& request, const Host& host) {
    plan.environment = host.machine.environment;
    const auto set = [&](const std::string& name, const std::string& value) {
        plan.environment[name] = value;
        plan.added.emplace_back(name, value);
    };
    for (const auto& [name, stand_in] : kStandIns) {
        const auto other = plan.environment.find(stand_in);
        if (plan.environment.contains(name) || other == plan.environment.end()) continue;
        plan.notices.push_back(std::string(name) + " is not set: taken from " + stand_in);
        set(name, std::string(other->second));
    }
    set("POPLAR_LOG_LEVEL", std::string(spelling(request.log_level)));
    set("POPART_LOG_LEVEL", std::string(spelling(request.log_level)));
    set("TF_CPP_VMODULE", "poplar_compiler=1");
    for (const auto& [name, value] : entry.environment) {
        std::set<std::string> left;
        set(name, expand(value, plan.environment, left));
    }
}

/// Replaces variables in all words. Options of the V-IPU server have no effect here and are dropped if their variable
/// is unset.
void expand_words(PlannedCommand& plan) {
    Words result;
    std::set<std::string> dropped;
    for (const std::string& word : plan.words) {
        std::set<std::string> unset;
        const std::string text = expand(word, plan.environment, unset);
        const std::string& option = is_option(word) || result.empty() ? word : result.back();
        if (!unset.empty() && option.starts_with("--vipu-")) {
            dropped.insert(option_name(option));
            if (!is_option(word)) result.pop_back();
            continue;
        }
        const bool exported = !result.empty() && result.back() == "-x" && word.find('=') == std::string::npos;
        if (exported && !plan.environment.contains(word)) {
            result.pop_back();
            continue;
        }
        plan.unset.merge(unset);
        result.push_back(text);
    }
    plan.words = std::move(result);
    for (const std::string& option : dropped)
        plan.notices.push_back(option + " left out: its variable is not set, and no V-IPU server is needed");
}

/// The folder `location` below `base`. If it does not exist, leading parts of `location` are dropped until it does.
std::string working_folder(const Entry& entry, PlannedCommand& plan) {
    fs::path base =
        entry.reference_directory ? fs::path(*entry.reference_directory) : fs::path(entry.file).parent_path();
    if (base.empty()) base = ".";
    std::error_code ignored;
    if (!fs::is_directory(base, ignored)) refuse_line(entry, "the folder " + base.string() + " does not exist");
    if (entry.location.empty()) return fs::absolute(base).lexically_normal();
    fs::path location = entry.location;
    for (;;) {
        if (fs::is_directory(base / location, ignored)) break;
        if (location.empty()) break;
        fs::path rest;
        for (auto part = std::next(location.begin()); part != location.end(); ++part)
            rest /= *part;
        location = rest;
    }
    if (location != fs::path(entry.location)) {
        plan.notices.push_back("there is no folder " + (base / entry.location).string() + "; running in " +
                               (base / location).string());
    }
    return fs::absolute(base / location).lexically_normal();
}

/// Why a poprun line without hosts is too large for this machine; "" if it is not. Mistakes in the line are reported
/// when it is started.
std::string too_few_cores(const Words& words, const Host& host) {
    const launch::Machine& machine = host.machine;
    if (words.size() < 2 || words[0] != machine.program || words[1] != "poprun") return "";
    try {
        const launch::PoprunRequest request = launch::parse_poprun({words.begin() + 2, words.end()}, *host.files);
        if (!request.hosts.empty()) return "";
        const launch::Plan plan = launch::plan_launch(request, machine);
        const auto found = std::ranges::find(plan.obstacles, true, &launch::Obstacle::is_of_cores);
        return plan.only_describes || found == plan.obstacles.end() ? "" : found->message;
    } catch (const Error&) {
        return "";
    }
}

}  // namespace

std::string fill_placeholders(const Entry& entry, const Variant& variant) {
    const std::string_view text = entry.command;
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool doubled = i + 1 < text.size() && text[i + 1] == c;
        if ((c == '{' || c == '}') && doubled) {
            result += c;
            ++i;
            continue;
        }
        const std::size_t length = c == '{' ? name_length(text, i + 1) : 0;
        const bool placeholder =
            length > 0 && i + 1 + length < text.size() && text[i + 1 + length] == '}' && !result.ends_with('$');
        if (!placeholder) {
            result += c;
            continue;
        }
        const std::string name(text.substr(i + 1, length));
        const auto found =
            std::ranges::find_if(variant, [&](const auto& parameter) { return parameter.first == name; });
        if (found == variant.end()) {
            std::vector<std::string> names;
            for (const auto& [known, value] : variant)
                names.push_back(known);
            refuse_line(entry, "cmd: the parameter {" + name + "} is not defined" +
                                   suggestion(name, names, "; give it values under 'parameters'", "{", "}"));
        }
        result += found->second;
        i += length + 1;
    }
    return result;
}

PlannedCommand plan_command(const Entry& entry, const Variant& variant, const Request& request, const Host& host) {
    PlannedCommand plan;
    try {
        plan.words = launch::split_words(collapsed(fill_placeholders(entry, variant)));
    } catch (const Error& error) {
        const bool placed = std::string_view(error.what()).starts_with(entry.file);
        throw placed ? error : error.within("cmd").within(entry.name).within(entry.file);
    }
    if (plan.words.empty()) refuse_line(entry, "cmd: it is empty");
    const bool wandb_allowed = (request.allow_wandb || entry.allow_wandb) && !request.compile_only;
    if (!wandb_allowed) drop_wandb(plan.words);
    add_requested_options(plan.words, request);
    plan.shown = launch::quoted(plan.words);
    map_programs(entry, plan, host.machine);
    compose_environment(entry, plan, request, host);
    if (entry.needs_dataset && !plan.environment.contains("DATASETS_DIR") && plan.skip_reason.empty())
        plan.unset.insert("DATASETS_DIR");
    expand_words(plan);
    if (plan.skip_reason.empty()) plan.skip_reason = too_few_cores(plan.words, host);
    plan.folder = working_folder(entry, plan);
    return plan;
}

int printed_processes(const std::vector<std::string>& words) {
    if (words.empty() || last_part(words.front()) != "mpirun") return 1;
    return count_after(words, "--np");
}

}  // namespace cnntrain::benchmark
