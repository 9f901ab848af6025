#include "cnntrain/config/parse.h"

#include <algorithm>
#include <filesystem>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "config/read/command_line.h"
#include "config/read/config_file.h"
#include "config/read/file_names.h"
#include "config/read/json.h"
#include "config/read/pretraining_config.h"
#include "config/read/value.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {

namespace {

namespace fs = std::filesystem;

struct Layers {
    Layer environment;
    Layer config;
    Layer arguments;
    Layer command_line;
};

const Option& row(std::string_view key_text, Command command = Command::train) {
    const Alias* alias = nullptr;
    const Option* option = option_with_key(key_text, command, &alias);
    CNNTRAIN_CHECK(option != nullptr, "no row for " + std::string(key_text));
    return *option;
}

/// The value that decides which options exist: the command line's, else the configuration's, else the default.
template <typename E>
E choose(std::string_view key_text, const std::optional<std::string>& on_command_line, const Layer& config) {
    const Option& option = row(key_text);
    Value value = option.fallback;
    const auto configured = config.find(&option);
    if (configured != config.end()) value = configured->second;
    if (on_command_line) value = convert(option, {*on_command_line});
    return *named<E>(std::get<std::string>(value));
}

Layer environment_layer(const Environment& environment) {
    if (!environment.data_dir || environment.data_dir->empty()) return {};
    return {{&row("data_dir"), *environment.data_dir}};
}

void report_violations(const std::vector<std::string>& violations) {
    if (violations.empty()) return;
    std::string message = violations.front();
    for (std::size_t i = 1; i < violations.size(); ++i)
        message += "\n" + violations[i];
    throw Error(ErrorKind::usage, message);
}

ParseResult resolve(Command command, const std::vector<const Option*>& options, const Layers& layers,
                    const Launch& launch) {
    Resolution run{command, OptionValues(options, launch), {}, {}};
    run.values.apply(layers.environment, Source::environment);
    run.values.apply(layers.config, Source::config);
    run.values.apply(layers.arguments, Source::arguments);
    run.values.apply(layers.command_line, Source::command_line);
    if (command == Command::pretrain) {
        adjust_pretraining(run);
        check_pretraining(run);
    } else {
        settle_alternatives(run);
        infer_dataset(run);
        fill_model_defaults(run);
        adjust(run);
        check(run);
    }
    report_violations(run.violations);
    notice_idle_options(run);

    ParseResult result;
    result.command = command;
    result.settings = command == Command::pretrain ? pretraining_settings(run) : to_settings(run);
    result.options = run.values.all();
    result.notices = std::move(run.notices);
    result.launch = launch;
    return result;
}

std::int64_t integer_in(const Layer& layer, const Option& option) {
    const auto found = layer.find(&option);
    return std::get<std::int64_t>(found != layer.end() ? found->second : option.fallback);
}

/// A run that goes on in another number of processes accumulates as many micro-batches more or less in each of them.
void keep_global_batch(Command command, Layers& layers, std::int64_t recorded_processes, const Launch& launch) {
    const Option& accumulation_row = row("gradient_accumulation_count", command);
    const Option& replicas_row = row("replicas", command);
    const auto on_line = [&](const Option& option) { return layers.command_line.contains(&option); };
    if (on_line(accumulation_row) || on_line(replicas_row)) return;
    const std::int64_t accumulation = integer_in(layers.arguments, accumulation_row);
    const std::int64_t recorded_replicas = integer_in(layers.arguments, replicas_row);
    std::int64_t replicas = launch.replicas.value_or(recorded_replicas);
    if (launch.processes == recorded_processes && replicas == recorded_replicas) return;
    const std::int64_t passes =
        checked_product(checked_product(accumulation, recorded_replicas, "the recorded micro-batches"),
                        recorded_processes, "the recorded micro-batches");
    if (!launch.replicas && passes % (launch.processes * replicas) != 0) replicas = 1;
    if (passes % (launch.processes * replicas) != 0) {
        std::string counts;
        for (std::int64_t count = 1; count <= std::min<std::int64_t>(passes, 4096); ++count) {
            if (passes % (count * replicas) == 0) counts += (counts.empty() ? "" : ", ") + std::to_string(count);
        }
        throw Error(ErrorKind::usage, "the run's weight updates are of " + std::to_string(passes) + " micro-batches (" +
                                          std::to_string(accumulation) + " accumulated by each of " +
                                          std::to_string(recorded_replicas) + " replicas in " +
                                          std::to_string(recorded_processes) + " processes), which " +
                                          std::to_string(launch.processes) +
                                          " processes cannot share evenly; go on with one of " + counts + " processes");
    }
    layers.arguments[&accumulation_row] = passes / (launch.processes * replicas);
    layers.arguments[&replicas_row] = replicas;
}

ParseResult help_request(Command command) {
    ParseResult result;
    result.command = command;
    result.wants_help = true;
    return result;
}

bool asked(const Layer& line, std::string_view key_text) {
    return line.contains(&row(key_text));
}

/// Without a word there is nothing that could be trained: the original program prints its options then.
ParseResult parse_pretraining_line(const std::vector<std::string>& arguments, const Environment& environment) {
    constexpr Command kCommand = Command::pretrain;
    const FrontDoor front = scan_front_door(kCommand, arguments);
    if (front.help || arguments.empty()) return help_request(kCommand);
    Layers layers;
    std::vector<std::string> notices;
    std::string config_name;
    if (front.config) {
        PretrainingConfig config = read_pretraining_config(*front.config, environment.config_folders);
        layers.config = std::move(config.layer);
        config_name = std::move(config.name);
        if (!config.notice.empty()) notices.push_back(std::move(config.notice));
    }
    const auto options = active_options(kCommand, nn::Family::resnet, optim::LrSchedule::stepped);
    layers.command_line = parse_arguments(kCommand, options, arguments);
    if (asked(layers.command_line, "help")) return help_request(kCommand);
    if (front.config) layers.command_line[&row("config", kCommand)] = std::move(config_name);
    for (const auto& [option, value] : layers.command_line)
        layers.config.erase(option);  // a variable in a name that does not count need not be set
    for (Layer* layer : {&layers.config, &layers.command_line})
        expand_file_names(*layer, environment, notices);
    ParseResult result = resolve(kCommand, options, layers, environment.launch);
    result.notices.insert(result.notices.begin(), notices.begin(), notices.end());
    result.wants_print_config = asked(layers.command_line, "print_config");
    result.wants_dry_run = asked(layers.command_line, "dry_run");
    return result;
}

}  // namespace

Environment process_environment() {
    Environment environment;
    environment.variables = process_variables();
    const auto data_dir = environment.variables.find("DATA_DIR");
    if (data_dir != environment.variables.end()) environment.data_dir = data_dir->second;
    constexpr const char* kFolder = "configs";
    std::vector<fs::path> folders = {kFolder};
    std::error_code ignored;
    const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
    for (fs::path at = executable.parent_path(); at.has_relative_path(); at = at.parent_path()) {
        folders.push_back(at / kFolder);
        folders.push_back(at / "share/cnntrain" / kFolder);
    }
    folders.emplace_back(CNNTRAIN_CONFIGS_DIR);
    for (const fs::path& folder : folders) {
        if (fs::is_directory(folder, ignored)) environment.config_folders.push_back(folder);
    }
    return environment;
}

const ResolvedOption& ParseResult::at(std::string_view wanted) const {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const ResolvedOption& entry) { return key(*entry.option) == wanted; });
    CNNTRAIN_CHECK(found != options.end(), "no option with key " + std::string(wanted) + " here");
    return *found;
}

ParseResult parse_command_line(Command command, const std::vector<std::string>& arguments,
                               const Environment& environment) {
    if (command == Command::pretrain) return parse_pretraining_line(arguments, environment);
    const FrontDoor front = scan_front_door(command, arguments);
    if (front.help) return help_request(command);
    Layers layers;
    layers.environment = environment_layer(environment);
    if (front.config) {
        const auto places = front.config_path ? std::vector{*front.config_path} : environment.config_folders;
        layers.config = read_config_layer(*front.config, places);
    }
    const auto family = choose<nn::Family>("model", front.model, layers.config);
    const auto schedule = choose<optim::LrSchedule>("lr_schedule", front.lr_schedule, layers.config);
    const std::vector<const Option*> options = active_options(command, family, schedule);
    layers.command_line = parse_arguments(command, options, arguments);
    if (asked(layers.command_line, "help")) return help_request(command);
    ParseResult result = resolve(command, options, layers, environment.launch);
    result.wants_print_config = asked(layers.command_line, "print_config");
    result.wants_dry_run = asked(layers.command_line, "dry_run");
    return result;
}

std::vector<std::string> config_names(const std::vector<std::string>& folders) {
    return names_in(folders);
}

std::map<std::string, Value> read_config(const std::string& config, const std::vector<std::string>& folders) {
    std::map<std::string, Value> entries;
    for (const auto& [option, value] : read_config_layer(config, folders))
        entries[key(*option)] = value;
    return entries;
}

ParseResult resume_from_arguments_json(std::string_view text, const ParseResult& restore_line) {
    const Command command = recorded_command(text);
    const bool pretrains = command == Command::pretrain;
    Layers layers;
    layers.arguments = layer_from_json(text, command);
    for (const ResolvedOption& entry : restore_line.options) {
        if (entry.source == Source::command_line) layers.command_line[entry.option] = entry.value;
    }
    if (pretrains) {
        // The micro-batches are recorded, too, and say more: a batch's size is rounded up to whole ones.
        layers.arguments.erase(&row("global_batch_size", command));
        layers.command_line[&row("restore_dir", command)] = restore_line.at("restore_path").value;
    }
    keep_global_batch(command, layers, recorded_processes(text), restore_line.launch);
    const auto family = pretrains ? nn::Family::resnet : choose<nn::Family>("model", std::nullopt, layers.arguments);
    const auto schedule = pretrains ? optim::LrSchedule::stepped
                                    : choose<optim::LrSchedule>("lr_schedule", std::nullopt, layers.arguments);
    const auto options = active_options(command, family, schedule);
    ParseResult result = resolve(command, options, layers, restore_line.launch);
    for (ResolvedOption& entry : result.options) {
        const bool recorded = key(*entry.option) == "seed" && entry.source == Source::arguments;
        if (recorded && seed_was_drawn(text)) entry.source = Source::adjusted;
    }
    result.wants_print_config = restore_line.wants_print_config;
    result.wants_dry_run = restore_line.wants_dry_run;
    return result;
}

}  // namespace cnntrain::config
