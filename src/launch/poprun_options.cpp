#include "launch/poprun_options.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "cnntrain/base/error.h"
#include "cnntrain/config/line.h"
#include "cnntrain/launch/words.h"
#include "launch/hosts.h"

namespace cnntrain::launch {
namespace {

std::vector<std::string> split(const std::string& text) {
    try {
        return split_words(text);
    } catch (const Error& error) {
        refuse_line("the options for mpirun '" + text + "': " + error.what());
    }
}

/// Splits a string of mpirun options. It may contain line breaks from a document: backslashes before white space are
/// dropped.
std::vector<std::string> words_for_mpirun(std::string text) {
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        const bool before_blank = std::isspace(static_cast<unsigned char>(text[i + 1])) != 0;
        if (text[i] == '\\' && before_blank) text[i] = ' ';
    }
    if (text.ends_with('\\')) text.pop_back();
    std::vector<std::string> words = split(text);
    std::erase(words, "");
    return words;
}

void append_words(std::vector<std::string>& words, const OptionValue& value) {
    const std::vector<std::string> more = words_for_mpirun(value.text);
    words.insert(words.end(), more.begin(), more.end());
}

void export_vipu(PoprunRequest& request, const char* variable, const OptionValue& value) {
    request.exports.emplace_back(variable, value.text);
}

void set_placement(PoprunRequest& request, const OptionValue& value) {
    request.placement = value.text == "disabled" ? Placement::disabled : Placement::spread_numa;
    if (value.text == "disabled" || value.text == "spreadnuma") return;
    request.notices.push_back("--process-placement " + value.text + " is not known here: spreadnuma is used");
}

void raise_verbosity(PoprunRequest& request, Verbosity least) {
    request.verbosity = std::max(request.verbosity, least);
}

using Request = PoprunRequest;
using Given = const OptionValue&;

constexpr PoprunOption kOptions[] = {
    {"--num-instances", Takes::number, 1, "N", "Processes, one rank each (default 1).",
     [](Request& request, Given value) { request.instances = value.number; }},
    {"--num-replicas", Takes::number, 1, "N",
     "Data-parallel replicas over all processes, a multiple of --num-instances (default 1).",
     [](Request& request, Given value) { request.replicas = value.number; }},
    {"--ipus-per-replica", Takes::number, 1, "N",
     "Devices per replica: passed to the program, which has one pipeline stage for each (default 1).",
     [](Request& request, Given value) { request.ipus_per_replica = value.number; }},
    {"--host", Takes::text, 0, "A,B,...",
     "Hosts, also as -H or node[0-2,4]: each gets the same number of consecutive instances. Without hosts, or if all "
     "are names of this machine, instances run here.",
     [](Request& request, Given value) { request.hosts = expand_hosts(value.text); }},
    {"--hostfile", Takes::text, 0, "FILE", "File with one host per line, instead of --host.", nullptr},
    {"--host-subnet", Takes::text, 0, "A.B.C.D/N", "Network between the hosts.",
     [](Request& request, Given value) { request.host_subnet = value.text; }, true, false},
    {"--mpi-global-args", Takes::words, 0, "TEXT", "Options for mpirun as a whole; repeat the flag to add more.",
     [](Request& request, Given value) { append_words(request.global_args, value); }},
    {"--mpi-local-args", Takes::words, 0, "TEXT",
     "Options for mpirun, applied to every instance, such as '-x NAME'; repeat the flag to add more.",
     [](Request& request, Given value) { append_words(request.local_args, value); }, true, false},
    {"--process-placement", Takes::text, 0, "NAME",
     "spreadnuma: the instances of a host divide its cores, in whole NUMA nodes if possible (default). disabled: each "
     "may run on all cores, with as many threads as its share has cores.",
     set_placement},
    {"--numa-aware", Takes::boolean, 0, "yes|no", "yes is --process-placement spreadnuma, no is disabled.",
     [](Request& request, Given value) { request.placement = value.on ? Placement::spread_numa : Placement::disabled; },
     true, false},
    {"--only-output-from-instance", Takes::number, 0, "I",
     "Print the output of one instance only, and the last 50 lines of standard error of any other that fails.",
     [](Request& request, Given value) { request.only_output_from = value.number; }},
    {"--print-topology", Takes::boolean, 0, "yes|no", "Print hosts, instances and replicas as a box.",
     [](Request& request, Given value) { request.print_topology = value.on; }, true, false},
    {"--executable-cache-path", Takes::text, 0, "FOLDER",
     "Folder for compiled executables, passed to the program as POPDIST_EXECUTABLE_CACHE_PATH.",
     [](Request& request, Given value) { request.executable_cache_path = value.text; }, true, false},
    {"--allow-run-as-root", Takes::boolean, 0, "yes|no", "Allow root to launch; the default is yes in containers only.",
     [](Request& request, Given value) { request.allow_run_as_root = value.on; }},
    {"--dry-run", Takes::nothing, 0, "", "Print the topology and the mpirun command line, then stop.",
     [](Request& request, Given) { request.dry_run = true; }, false},
    {"--verbose", Takes::nothing, 0, "", "Print what is started; also -v or POPRUN_LOG_LEVEL=INFO.",
     [](Request& request, Given) { raise_verbosity(request, Verbosity::info); }},
    {"--vv", Takes::nothing, 0, "", "Print more, including the topology; also -vv or POPRUN_LOG_LEVEL=DEBUG.",
     [](Request& request, Given) { raise_verbosity(request, Verbosity::debug); }, true, false},
    {"--import-config", Takes::text, 0, "FILE",
     "Read options from a YAML file with their names as keys (num-instances: 8); the command line takes precedence.",
     nullptr, false},
    {"--export-config", Takes::text, 0, "FILE", "Write the options of this command line to such a file.",
     [](Request& request, Given value) { request.export_path = value.text; }, false, false},
    {"--overwrite-config", Takes::boolean, 0, "yes|no", "Allow --export-config to replace a file (default no).",
     [](Request& request, Given value) { request.overwrite_export = value.on; }, false, false},
    {"--version", Takes::nothing, 0, "", "Print the version and stop.",
     [](Request& request, Given) { request.version = true; }, false},
    {"--version-format", Takes::text, 0, "FORMAT", "text, full-text or full-json (default text).",
     [](Request& request, Given value) {
         const bool known = value.text == "text" || value.text == "full-text" || value.text == "full-json";
         if (!known) refuse_line("--version-format expects text, full-text or full-json, got '" + value.text + "'");
         request.version_format = value.text;
     },
     false, false},
    {"--help", Takes::nothing, 0, "", "Print the main options.",
     [](Request& request, Given) { request.help.emplace(); }, false},
    {"--help-all", Takes::nothing, 0, "", "Print all options.",
     [](Request& request, Given) { request.help = config::HelpWish{.all = true}; }, false, false},
    {"--num-ilds", Takes::number, 1, "", "", [](Request& request, Given value) { request.ilds = value.number; }},
    {"--offline-mode", Takes::boolean},
    {"--vipu-server-host", Takes::text, 0, "", "",
     [](Request& request, Given value) {
         request.vipu_server_host = value.text;
         export_vipu(request, "IPUOF_VIPU_API_HOST", value);
     }},
    {"--vipu-server-port", Takes::number, 1, "", "",
     [](Request& request, Given value) { export_vipu(request, "IPUOF_VIPU_API_PORT", value); }},
    {"--vipu-server-timeout", Takes::number, 0, "", "",
     [](Request& request, Given value) { export_vipu(request, "IPUOF_VIPU_API_TIMEOUT", value); }},
    {"--vipu-partition", Takes::text, 0, "", "",
     [](Request& request, Given value) { export_vipu(request, "IPUOF_VIPU_API_PARTITION_ID", value); }},
    {"--vipu-partition-attempts", Takes::number},
    {"--vipu-cluster", Takes::text},
    {"--vipu-allocation", Takes::text},
    {"--update-partition", Takes::boolean},
    {"--reset-partition", Takes::boolean},
    {"--remove-partition", Takes::boolean},
    {"--sync-type", Takes::text},
    {"--synchronise-python-venv", Takes::boolean},
    {"--synchronise-poplar-sdk", Takes::boolean},
    {"--distribute-ssh-key", Takes::boolean},
};

}  // namespace

void refuse_line(const std::string& message) {
    throw Error(ErrorKind::usage, "poprun: " + message);
}

constexpr PoprunOption kOtherVipu = {"--vipu-...", Takes::text};

std::span<const PoprunOption> poprun_options() {
    return kOptions;
}

const PoprunOption* option_named(std::string_view flag) {
    const auto* const found = std::ranges::find(kOptions, flag, &PoprunOption::flag);
    return found == std::end(kOptions) ? nullptr : found;
}

OptionValue read_value(const GivenOption& given) {
    const PoprunOption& option = *given.option;
    OptionValue value{given.text};
    if (option.takes == Takes::boolean) {
        constexpr std::array<std::string_view, 4> kOn = {"yes", "true", "on", "1"};
        constexpr std::array<std::string_view, 4> kOff = {"no", "false", "off", "0"};
        value.on = std::ranges::find(kOn, given.text) != kOn.end();
        if (!value.on && std::ranges::find(kOff, given.text) == kOff.end())
            refuse_line(std::string(option.flag) + " expects yes or no, got '" + given.text + "'");
    }
    if (option.takes == Takes::number) {
        constexpr int kMost = 1'000'000;
        value.number = static_cast<int>(
            config::whole_number("poprun: " + std::string(option.flag), given.text, option.least, kMost));
    }
    if (option.takes == Takes::text && given.text.empty())
        refuse_line(std::string(option.flag) + " needs a value, got an empty one");
    return value;
}

}  // namespace cnntrain::launch
