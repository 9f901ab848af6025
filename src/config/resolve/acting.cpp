// Decides where options have an effect: in which commands, on which backends and data, with which other options. Users
// get a notice about each option that has none.
#include <algorithm>
#include <map>
#include <optional>

#include "cnntrain/base/text.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {
namespace {

/// Empty for tasks without the option.
std::optional<backend::BackendKind> backend_of(const OptionValues& values) {
    if (!values.has("backend")) return std::nullopt;
    return named<backend::BackendKind>(values.text("backend"));
}

std::string commands_reason(std::uint32_t commands) {
    std::vector<std::string> names;
    for (const auto& [command, name] : {std::pair{Command::train, "training"},
                                        {Command::validation, "validation"},
                                        {Command::inference, "inference"}}) {
        if ((commands & bit(command)) != 0) names.emplace_back(name);
    }
    return "it is for " + listed(names);
}

bool is_met(const Need& need, const OptionValues& values) {
    if (!values.has(need.key)) return true;
    const ResolvedOption& other = values.at(need.key);
    return allows(need, *other.option, other.value);
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

std::string idle_reason(const Option& option, const Resolution& run) {
    const OptionValues& values = run.values;
    if (!option.idle.empty()) return std::string(option.idle);
    const bool on_ipu = backend_of(values) == backend::BackendKind::ipu;
    if (on_ipu && !option.idle_on_ipu.empty()) return std::string(option.idle_on_ipu);
    if ((option.acts_in & bit(run.command)) == 0) return commands_reason(option.acts_in);
    const bool asks_data = (option.acts_on_in & bit(run.command)) != 0 && run.task.data_reason != nullptr;
    if (std::string reason = asks_data ? run.task.data_reason(option, values) : ""; !reason.empty()) return reason;
    const auto met = [&](const Need& need) { return is_met(need, values); };
    if (option.replicas_suffice_on_ipu && on_ipu) {
        if (values.integer("replicas") == 1) return "it needs several --replicas";
    } else if (option.needs_processes && values.launch().processes == 1) {
        return "it needs several processes (mpirun, srun or cnntrain poprun)";
    }
    if (!option.needs.empty() && std::ranges::none_of(option.needs, met)) return needs_reason(option.needs, values);
    return "";
}

namespace {

/// No notice is due for an option from arguments.json, because the original run gave it already. A configuration serves
/// all commands and may name a data folder that this run does not read, so neither of these is reported.
bool needs_no_word(const Option& option, Command command, Source source) {
    if (source == Source::command_line) return false;
    if (source == Source::arguments) return true;
    return (option.acts_in & bit(command)) == 0 || option.names_data;
}

/// Flags grouped by reason; each group is one notice.
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

std::string backend_names(std::uint32_t backends) {
    if (backends == kIpu) return "IPUs";
    std::vector<std::string> words;
    const auto& all = names<backend::BackendKind>();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if ((backends & (1U << i)) != 0) words.emplace_back(all[i]);
    }
    return "--backend " + listed(words, "or");
}

bool steers_backend(const Option& option, const OptionValues& values) {
    const auto backend = backend_of(values);
    return !backend || (option.acts_on_backends & bit(*backend)) != 0;
}

void notice_idle_options(Resolution& run) {
    IdleFlags idle;
    std::map<std::uint32_t, std::string> for_others;  // flags by the set of backends that they steer
    for (const ResolvedOption& entry : run.values.all()) {
        const Option& option = *entry.option;
        if (!given(entry.source) || entry.value == option.fallback) continue;
        if (!steers_backend(option, run.values)) {
            std::string& flags = for_others[option.acts_on_backends];
            flags += (flags.empty() ? "" : " ") + documented_flag(option);
            continue;
        }
        const std::string reason = idle_reason(option, run);
        if (reason.empty() || needs_no_word(option, run.command, entry.source)) continue;
        note(idle, reason, documented_flag(option));
    }
    for (const auto& [reason, flags] : idle) {
        run.notices.push_back(flags.size() == 1 ? flags.front() + " changes nothing: " + reason
                                                : listed(flags) + " change nothing: " + plural(reason));
    }
    for (const auto& [backends, flags] : for_others) {
        run.notices.push_back("kept in arguments.json but without effect, because they only steer " +
                              backend_names(backends) + ": " + flags);
    }
}

}  // namespace cnntrain::config
