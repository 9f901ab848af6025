#include "cli/help.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/config/commands.h"

namespace cnntrain::cli {

const HelpTopic* help_topic(std::string_view name) {
    const auto& topics = help_topics();
    const auto found = std::ranges::find(topics, name, &HelpTopic::name);
    return found == topics.end() ? nullptr : &*found;
}

std::string list_of_topics() {
    constexpr std::size_t kColumn = 18;
    std::string text;
    for (const HelpTopic& topic : help_topics()) {
        std::string line = "  " + std::string(topic.name);
        line.resize(std::max(line.size() + 1, kColumn), ' ');
        text += line + std::string(topic.summary) + "\n";
    }
    return text;
}

void refuse_topic(const std::string& word) {
    std::vector<std::string> known;
    std::string topics;
    for (const HelpTopic& topic : help_topics()) {
        known.emplace_back(topic.name);
        topics += " " + std::string(topic.name);
    }
    for (const config::CommandInfo& command : config::commands())
        known.emplace_back(command.name);
    throw Error(ErrorKind::usage, "no help on '" + word + "'" + suggestion(word, known, ".", "'cnntrain help ", "'") +
                                      " Topics:" + topics);
}

}  // namespace cnntrain::cli
