// The table of poprun's options; parses the words of a poprun command line into a request.
#include "launch/poprun_line.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/options/line.h"

namespace cnntrain::launch {
namespace {

constexpr std::size_t kMostHosts = 65'536;

[[noreturn]] void refuse_list(std::string_view list, const std::string& why) {
    throw Error(ErrorKind::usage, "poprun: the hosts '" + std::string(list) + "': " + why);
}

/// Splits at commas outside brackets.
std::vector<std::string_view> split_hosts(std::string_view list) {
    std::vector<std::string_view> items;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
        const bool end = i == list.size();
        if (!end && list[i] == '[') ++depth;
        if (!end && list[i] == ']') --depth;
        if (!end && (list[i] != ',' || depth > 0)) continue;
        items.push_back(list.substr(begin, i - begin));
        begin = i + 1;
    }
    return items;
}

/// The numbers of "0-2", or of "4", with as many digits as the first one has.
std::vector<std::string> numbers_of(std::string_view range, std::string_view list) {
    const std::size_t dash = range.find('-');
    const std::string_view first_text = range.substr(0, dash);
    const auto first = as_number<unsigned>(first_text);
    const auto last = dash == std::string_view::npos ? first : as_number<unsigned>(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostHosts)
        refuse_list(list, "expected numbers like [0-2,4] in the brackets, got '" + std::string(range) + "'");
    std::vector<std::string> numbers;
    for (unsigned i = *first; i <= *last; ++i) {
        std::string text = std::to_string(i);
        if (text.size() < first_text.size()) text.insert(0, first_text.size() - text.size(), '0');
        numbers.push_back(text);
    }
    return numbers;
}

bool is_digits_and_dots(const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

bool is_address(int family, const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    return inet_pton(family, text.c_str(), address.data()) == 1;
}

/// Describes mistakes that names of hosts and networks may have.
std::string why_not_replaced(const std::string& name) {
    if (name.empty()) return "an empty name";
    if (name.find('$') != std::string::npos) return "a variable that is not set, or that quotes protect from the shell";
    if (name.find("xxx") != std::string::npos) return "a placeholder, to be replaced";
    return "";
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view list) {
    std::vector<std::string> hosts;
    for (const std::string_view item : split_hosts(list)) {
        const std::size_t open = item.find('[');
        const std::size_t close = item.find(']');
        if (open == std::string_view::npos && close == std::string_view::npos) {
            hosts.emplace_back(item);
            continue;
        }
        if (open == std::string_view::npos || close == std::string_view::npos || close < open)
            refuse_list(list, "a bracket is never closed or opened");
        for (const std::string_view range : split(item.substr(open + 1, close - open - 1), ',')) {
            for (const std::string& number : numbers_of(range, list))
                hosts.push_back(std::string(item.substr(0, open)) + number + std::string(item.substr(close + 1)));
        }
        if (hosts.size() > kMostHosts) refuse_list(list, "more than " + std::to_string(kMostHosts));
    }
    return hosts;
}

std::vector<std::string> hosts_of_file(std::string_view text) {
    std::vector<std::string> hosts;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string host;
        if (words >> host) hosts.push_back(host);
    }
    return hosts;
}

std::string why_no_host(const std::string& name) {
    std::string unreplaced = why_not_replaced(name);
    if (!unreplaced.empty()) return unreplaced;
    if (is_digits_and_dots(name)) return is_address(AF_INET, name) ? "" : "an address has four numbers from 0 to 255";
    if (name.find(':') != std::string::npos) return is_address(AF_INET6, name) ? "" : "no address of IPv6";
    const bool plain = std::ranges::all_of(name, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    });
    return plain ? "" : "host names have letters, digits, dots and hyphens only";
}

std::string why_malformed_networks(const std::string& list) {
    for (const std::string_view item : split(list, ',')) {
        const std::string name(item);
        if (!why_not_replaced(name).empty()) continue;
        const std::size_t slash = name.find('/');
        const bool is_interface = slash == std::string::npos && !is_digits_and_dots(name);
        if (is_interface) continue;
        constexpr unsigned kBits4 = 32;
        constexpr unsigned kBits6 = 128;
        const std::string address = name.substr(0, slash);
        const auto bits = slash == std::string::npos ? std::nullopt : as_number<unsigned>(name.substr(slash + 1));
        const bool good = bits && ((is_address(AF_INET, address) && *bits <= kBits4) ||
                                   (is_address(AF_INET6, address) && *bits <= kBits6));
        if (!good) return "a subnet is written like 10.1.2.0/24";
    }
    return "";
}

std::string why_no_networks(const std::string& list) {
    for (const std::string_view item : split(list, ',')) {
        std::string unreplaced = why_not_replaced(std::string(item));
        if (!unreplaced.empty()) return unreplaced;
    }
    return why_malformed_networks(list);
}

void refuse_line(const std::string& message) {
    throw Error(ErrorKind::usage, "poprun: " + message);
}

namespace {

enum class Takes {
    nothing,  // a switch
    boolean,  // yes or no, in several spellings; the value is required
    number,   // not less than the option's `least`
    text,
    words,  // for mpirun: may start with a hyphen; repeated options append more words
};

/// An option's value, parsed according to the option's type.
struct OptionValue {
    std::string text;
    int number = 0;
    bool on = false;
};

struct PoprunOption {
    std::string_view flag;
    Takes takes = Takes::nothing;
    int least = 0;
    std::string_view placeholder = {};
    std::string_view help = {};  // empty: the option only steers IPUs
    void (*apply)(PoprunRequest& request, const OptionValue& value) = nullptr;
    bool in_files = true;  // allowed in settings files
    bool is_main = true;   // listed by --help; the others by --help-all
};

std::vector<std::string> split_for_mpirun(const std::string& text) {
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
    std::vector<std::string> words = split_for_mpirun(text);
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
     [](Request& request, Given) { request.help = options::HelpWish{.all = true}; }, false, false},
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

/// Represents all options of the V-IPU server that have no row.
constexpr PoprunOption kOtherVipu = {"--vipu-...", Takes::text};

/// An option and its value, from a command line or a file.
struct GivenOption {
    const PoprunOption* option = nullptr;
    std::string text;
    std::string flag;  // its name
};

/// Null if there is none.
const PoprunOption* option_named(std::string_view flag) {
    const auto* const found = std::ranges::find(kOptions, flag, &PoprunOption::flag);
    return found == std::end(kOptions) ? nullptr : found;
}

/// True if the option only steers IPUs and their server.
bool is_for_ipus(const PoprunOption& option) {
    return option.help.empty();
}

/// Throws Error(usage) if the option does not accept the text.
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
            options::whole_number("poprun: " + std::string(option.flag), given.text, option.least, kMost));
    }
    if (option.takes == Takes::text && given.text.empty())
        refuse_line(std::string(option.flag) + " needs a value, got an empty one");
    return value;
}

// Settings files of --import-config and --export-config.

const PoprunOption& option_of(const std::string& key) {
    std::vector<std::string> names;
    for (const PoprunOption& option : kOptions) {
        if (!option.in_files) continue;
        names.emplace_back(option.flag.substr(2));
        if (names.back() == key) return option;
    }
    refuse_line("unknown setting '" + key + "'" + suggestion(key, names, "", "", ""));
}

/// Adds an option from a file, where a switch has a boolean value; a switch that is on is added without text.
void add(const PoprunOption& option, const YAML::Node& node, std::vector<GivenOption>& given) {
    if (!node.IsScalar()) refuse_line(std::string(option.flag) + " expects one value");
    const std::string text = node.as<std::string>();
    if (option.takes != Takes::nothing) {
        given.push_back({&option, text, std::string(option.flag)});
        return;
    }
    static constexpr PoprunOption kSwitch = {"a switch", Takes::boolean};
    if (read_value({&kSwitch, text, ""}).on) given.push_back({&option, "", std::string(option.flag)});
}

std::vector<GivenOption> settings_of(const std::string& text) {
    std::vector<GivenOption> given;
    options::check_yaml(text, ErrorKind::usage);
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) refuse_line("expected a mapping like 'num-instances: 8'");
    for (const auto& entry : root) {
        const PoprunOption& option = option_of(entry.first.as<std::string>());
        if (!entry.second.IsSequence() || option.takes != Takes::words) {
            add(option, entry.second, given);
            continue;
        }
        for (const auto& one : entry.second)
            add(option, one, given);
    }
    return given;
}

/// Reads a settings file: a mapping from flags without hyphens to values. Throws Error(usage) and Error(data).
std::vector<GivenOption> read_settings(const std::string& path, const FileSystem& files) {
    constexpr std::uint64_t kLargestBytes = 1'000'000;
    const std::string text = read_text(files, path, kLargestBytes);
    try {
        return settings_of(text);
    } catch (const YAML::Exception& error) {
        throw Error(ErrorKind::usage, path + ": " + error.what());
    } catch (const Error& error) {
        throw error.within(path);
    }
}

/// The inverse of read_settings().
std::string settings_text(const std::vector<GivenOption>& given) {
    std::string text;
    for (const PoprunOption& option : kOptions) {
        std::vector<std::string> values;
        for (const GivenOption& one : given)
            if (one.option == &option) values.push_back(one.text);
        if (values.empty() || !option.in_files) continue;
        const bool is_list = option.takes == Takes::words && values.size() > 1;
        text += std::string(option.flag.substr(2)) + ": ";
        if (option.takes == Takes::nothing) {
            text += "yes";
        } else {
            text += is_list ? nlohmann::json(values).dump() : nlohmann::json(values.back()).dump();
        }
        text += "\n";
    }
    return text;
}

options::Spelling spelling_of(const PoprunOption& option, const std::string& flag) {
    const options::Takes takes = option.takes == Takes::nothing ? options::Takes::nothing
                                 : option.takes == Takes::words ? options::Takes::any
                                                                : options::Takes::one;
    return {flag, std::string(option.flag), takes};
}

std::vector<options::Spelling> spellings() {
    std::vector<options::Spelling> all;
    for (const PoprunOption& option : kOptions) {
        all.push_back(spelling_of(option, std::string(option.flag)));
        all.back().preferred = option.flag != options::kHelpAllFlag;
    }
    for (const auto& [letters, flag] :
         {std::pair{"-v", "--verbose"}, {"-vv", "--vv"}, {"-h", "--help"}, {"-H", "--host"}}) {
        all.push_back(spelling_of(*option_named(flag), letters));
        all.back().preferred = false;
    }
    return all;
}

/// Handles an option without a row, or a typing error that occurs in documents. Throws Error(usage) for options of the
/// program.
std::optional<options::Spelling> unlisted_option(const std::string& word, bool ambiguous,
                                                 std::vector<std::string>& notices) {
    const std::string flag = word.substr(0, word.find('='));
    std::string meant = word;  // a documented command line has "--num=ilds" for "--num-ilds"
    if (flag != word) meant[flag.size()] = '-';
    if (const PoprunOption* option = option_named(meant)) {
        notices.push_back(word + " is taken for " + meant);
        return spelling_of(*option, word);
    }
    if (ambiguous) return std::nullopt;
    if (flag.starts_with("--vipu-")) return options::Spelling{flag, flag};
    if (flag == "--synthetic-data" || flag.starts_with("--instance-") || flag.starts_with("--tag-"))
        refuse_line(flag + " belongs after the program");
    return std::nullopt;
}

/// Documents contain escaped blanks before line breaks, so words may start with a blank. All words from the program's
/// name on belong to the program.
options::Line read_words(const std::vector<std::string>& words, std::vector<std::string>& notices) {
    options::LineHabits habits{.program = "poprun", .hyphen_values = true, .trims = true};
    habits.foreign = [](const std::string& word, bool follows) { return follows || !word.starts_with('-'); };
    habits.unknown = [&](const std::string& word, bool ambiguous) { return unlisted_option(word, ambiguous, notices); };
    return options::read_line(spellings(), words, habits);
}

std::vector<GivenOption> given_options(const options::Line& line) {
    std::vector<GivenOption> all;
    for (const options::GivenValues& given : line.options) {
        const PoprunOption* option = option_named(given.option);
        all.push_back({option == nullptr ? &kOtherVipu : option, given.values.front(), given.option});
    }
    return all;
}

bool names_hosts(const PoprunOption& option) {
    return option.flag == "--host" || option.flag == "--hostfile";
}

bool same_subject(const PoprunOption& a, const PoprunOption& b) {
    return &a == &b || (names_hosts(a) && names_hosts(b));
}

bool gives(const std::vector<GivenOption>& options, std::string_view flag) {
    return std::ranges::any_of(options, [&](const GivenOption& given) { return given.option->flag == flag; });
}

/// Inserts options from a file before those of the command line, except for options that the command line also gives.
std::vector<GivenOption> with_imported(const std::vector<GivenOption>& line, const FileSystem& files) {
    std::vector<GivenOption> result;
    for (const GivenOption& given : line) {
        if (given.option->flag != "--import-config") continue;
        for (const GivenOption& imported : read_settings(given.text, files)) {
            const bool overruled = std::ranges::any_of(
                line, [&](const GivenOption& own) { return same_subject(*own.option, *imported.option); });
            if (!overruled) result.push_back(imported);
        }
    }
    result.insert(result.end(), line.begin(), line.end());
    return result;
}

void apply(const GivenOption& given, PoprunRequest& request, const FileSystem& files) {
    const OptionValue value = read_value(given);
    if (given.option->flag == "--hostfile") {
        request.hosts = hosts_of_file(read_text(files, value.text));
        if (request.hosts.empty()) refuse_line("--hostfile " + value.text + ": the file names no host");
    }
    if (given.option->apply != nullptr) given.option->apply(request, value);
}

}  // namespace

PoprunRequest parse_poprun(const std::vector<std::string>& arguments, const FileSystem& files) {
    PoprunRequest request;
    options::Line line = read_words(arguments, request.notices);
    const std::vector<GivenOption> options = with_imported(given_options(line), files);
    if (gives(options, "--host") && gives(options, "--hostfile"))
        refuse_line("--host and --hostfile are both given; choose one");
    for (const GivenOption& given : options) {
        if (given.option->flag == "--import-config" || given.option->flag == "--hostfile")
            request.read_files.push_back({std::string(given.option->flag), given.text});
        apply(given, request, files);
        const bool named = std::ranges::find(request.without_effect, given.flag) != request.without_effect.end();
        if (is_for_ipus(*given.option) && !named) request.without_effect.push_back(given.flag);
    }
    request.exported_settings = settings_text(options);
    request.program = std::move(line.rest);
    if (request.program.empty() && !request.help && !request.version)
        refuse_line("expected a program after the options, as in: poprun --num-instances 2 --num-replicas 2 train.py");
    return request;
}

options::HelpPage poprun_page(const std::string& called) {
    options::HelpPage page{.called = called, .operands = "program [arguments]"};
    page.summary =
        "Starts several processes of a program with Open MPI's mpirun, as PopRun does. The program may be a "
        "script that cnntrain stands for, also after python or python3, or any other.";
    page.examples =
        "  cnntrain poprun --num-instances 2 --num-replicas 2 train.py --data-dir DIR\n"
        "  cnntrain poprun --host node[0-3] --num-instances 8 --num-replicas 8 train.py --data-dir DIR\n";
    std::string for_ipus;
    for (const PoprunOption& option : kOptions) {
        if (is_for_ipus(option)) {
            for_ipus += (for_ipus.empty() ? "" : ", ") + std::string(option.flag);
            continue;
        }
        options::HelpRow row{.flag = std::string(option.flag), .value = std::string(option.placeholder)};
        if (option.takes != Takes::nothing) row.arity = options::Arity::one;
        if (option.takes == Takes::boolean) row.choices = {"yes", "no"};
        row.path = row.value == "FILE" || row.value == "FOLDER";
        row.help = row.summary = option.help;
        row.main = option.is_main;
        page.rows.push_back(std::move(row));
    }
    page.all_only = "\n" + options::paragraph("Without effect on CPUs, and named in one notice: " + for_ipus +
                                              ", and every other --vipu-... option.");
    page.more =
        "\nOptions end at the program's name. Every instance gets the variables POPDIST_* and its rank.\n"
        "Exit code: that of the first instance that failed (128 + its number when a signal ended it), 2 for\n"
        "a line that cannot be right, 4 without Open MPI, 127 when there is no such program, 143 after\n"
        "SIGTERM, SIGINT or SIGHUP.\n";
    return page;
}

void export_settings(const PoprunRequest& request, FileSystem& files) {
    if (!request.export_path) return;
    check_outputs(
        files,
        {{{"poprun: --export-config", *request.export_path}, request.overwrite_export, "--overwrite-config yes"}},
        request.read_files);
    write_text(files, *request.export_path, request.exported_settings);
}

}  // namespace cnntrain::launch
