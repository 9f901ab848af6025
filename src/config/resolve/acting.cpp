// Where options act: which commands and images they change, and what else must be asked for. Whoever gives an option that
// changes nothing is told so.
#include <algorithm>

#include "cnntrain/base/listed.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {

namespace {

std::string commands_reason(std::uint32_t commands) {
    std::vector<std::string> names;
    for (const auto& [command, name] : {std::pair{Command::train, "training"},
                                        {Command::validation, "validation"},
                                        {Command::inference, "inference"}}) {
        if ((commands & bit(command)) != 0) names.emplace_back(name);
    }
    return "it is for " + listed(names);
}

Images images_of(const data::DatasetInfo& info, bool made) {
    if (!info.normalised_by_channel) return made ? Images::cifar_made : Images::cifar_files;
    if (made) return Images::imagenet_made;
    return info.in_records ? Images::imagenet_files : Images::class_folders;
}

std::string images_reason(const Option& option, bool made) {
    if (!option.acts_on_reason.empty()) return std::string(option.acts_on_reason);
    if (made && (option.acts_on & ~kFiles) == 0) return "no images are read from files";
    return (option.acts_on & kPhotos) == 0         ? "it is for CIFAR only"
           : (option.acts_on & kPhotos) == kPhotos ? "it is for ImageNet and photos in folders only"
                                                   : "it is for ImageNet only";
}

bool is_met(const Need& need, const OptionValues& values) {
    if (!values.has(need.key)) return true;
    const ResolvedOption& other = values.at(need.key);
    if (need.values.empty()) return other.value != other.option->fallback;
    return std::ranges::find(need.values, to_string(other.value)) != need.values.end();
}

std::string needs_reason(const std::vector<Need>& needs, const OptionValues& values) {
    std::vector<std::string> others;
    for (const Need& need : needs) {
        const std::vector<std::string> choices(need.values.begin(), need.values.end());
        const std::string choice = choices.empty() ? "" : " " + listed(choices, "or");
        others.push_back(documented_flag(*values.at(need.key).option) + choice);
    }
    return "it needs " + listed(others, "or");
}

}  // namespace

std::string idle_reason(const Option& option, Command command, const OptionValues& values) {
    if (!option.idle.empty()) return std::string(option.idle);
    if ((option.acts_in & bit(command)) == 0) return commands_reason(option.acts_in);
    const auto dataset = dataset_of(values);
    if (dataset && (option.acts_on_in & bit(command)) != 0) {
        const bool made = values.flag("generated_data") || values.flag("synthetic_data");
        const Images images = images_of(data::dataset_info(*dataset), made);
        if ((option.acts_on & bit(images)) == 0) return images_reason(option, made);
    }
    const auto met = [&](const Need& need) { return is_met(need, values); };
    if (option.needs_processes && values.launch().processes == 1)
        return "it needs several processes (mpirun, srun or cnntrain poprun)";
    if (!option.needs.empty() && std::ranges::none_of(option.needs, met)) return needs_reason(option.needs, values);
    return "";
}

namespace {

/// A configuration is one for all commands, and its data folder is where real images are: only what contradicts the whole
/// line is worth a word. A run that goes on has said everything when it began.
bool needs_no_word(const Option& option, Command command, Source source) {
    if (source == Source::command_line) return false;
    if (source == Source::arguments) return true;
    return (option.acts_in & bit(command)) == 0 || option.acts_on == kFiles;
}

/// Flags with the same reason share a notice.
using IdleFlags = std::vector<std::pair<std::string, std::vector<std::string>>>;

void note(IdleFlags& idle, const std::string& reason, std::string flag) {
    auto found = std::ranges::find(idle, reason, [](const auto& entry) { return entry.first; });
    if (found == idle.end()) found = idle.insert(idle.end(), {reason, {}});
    found->second.push_back(std::move(flag));
}

std::string plural(std::string reason) {
    if (reason.starts_with("it is ")) return "they are " + reason.substr(6);
    if (reason.starts_with("it needs ")) return "they need " + reason.substr(9);
    return reason;
}

}  // namespace

void notice_idle_options(Resolution& run) {
    IdleFlags idle;
    std::string for_ipus;
    for (const ResolvedOption& entry : run.values.all()) {
        const Option& option = *entry.option;
        if (!given(entry.source) || entry.value == option.fallback) continue;
        if (option.ipu_only) {
            for_ipus += (for_ipus.empty() ? "" : " ") + documented_flag(option);
            continue;
        }
        const std::string reason = idle_reason(option, run.command, run.values);
        if (reason.empty() || needs_no_word(option, run.command, entry.source)) continue;
        note(idle, reason, documented_flag(option));
    }
    for (const auto& [reason, flags] : idle) {
        run.notices.push_back(flags.size() == 1 ? flags.front() + " changes nothing: " + reason
                                                : listed(flags) + " change nothing: " + plural(reason));
    }
    if (for_ipus.empty()) return;
    run.notices.push_back("kept in arguments.json but without effect, because they only steer IPUs: " + for_ipus);
}

}  // namespace cnntrain::config
