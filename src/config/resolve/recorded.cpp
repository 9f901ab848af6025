#include "config/resolve/recorded.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {

bool is_of_evaluation(const Option& option, std::uint32_t commands) {
    if ((option.commands & commands) == 0 || option.action) return false;
    switch (option.recorded) {
        case Recorded::if_numeric:
            return option.numerics && (option.acts_in & commands) != 0;
        case Recorded::taken:
            return true;
        case Recorded::ignored:
            break;
    }
    return false;
}

Layer recorded_layer(const TaskOptions& task, Command command, const RecordedRun& run,
                     std::vector<std::string>& notices) {
    if (run.text.empty()) return {};
    try {
        return layer_from_json(task.options(), run.text,
                               [&](const Option& option) { return is_of_evaluation(option, bit(command)); });
    } catch (const Error& error) {
        notices.push_back(run.source + ": the run's options are not taken from it: " + error.what());
        return {};
    }
}

void leave_to(const TaskOptions& task, const Layer& given, Layer& recorded) {
    const auto has = [&](std::string_view key_text) {
        const auto found = given.find(task.options().find(key_text));
        return found != given.end() && !is_unset(found->second) && found->second != Value(false);
    };
    for (const Alternatives& pair : task.alternatives) {
        if (has(pair.one)) recorded.erase(task.options().find(pair.other));
        if (has(pair.other)) recorded.erase(task.options().find(pair.one));
    }
}

void notice_differences(const Layer& recorded, Resolution& run) {
    for (const auto& [option, before] : recorded) {
        if (option->recorded != Recorded::if_numeric || !run.values.has(key(*option))) continue;
        const ResolvedOption& now = run.values.at(key(*option));
        if (now.source != Source::command_line && now.source != Source::config) continue;
        if (now.value == before || !steers_backend(*option, run.values) || !idle_reason(*option, run).empty()) continue;
        run.notices.push_back(documented_flag(*option) + ": the run has " + to_string(before) + ", this line " +
                              to_string(now.value));
    }
}

}  // namespace cnntrain::config
