#include "cli/help.h"

#include <algorithm>
#include <iterator>

#include "cli/command_table.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/config/commands.h"
#include "cnntrain/config/help_page.h"

namespace cnntrain::cli {
namespace {

std::string usage() {
    return "usage: cnntrain <command> [options]\nTrains and measures convolutional networks and BERT on CPUs.\n";
}

/// A name with its description in a column.
std::string row(std::string_view name, std::string_view text) {
    constexpr std::size_t kColumn = 17;
    std::string line = "  " + std::string(name);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    return line + std::string(text) + "\n";
}

std::string list_of_commands() {
    std::string text = "Commands:\n";
    for (const config::CommandInfo& info : config::commands()) {
        std::string line(info.help);
        if (!info.scripts.empty()) line += " (also " + joined({info.scripts.begin(), info.scripts.end()}) + ")";
        if (!is_available(info.command)) line += " - not available yet";
        text += row(info.name, line);
    }
    text += row("help", "topics, manual pages, completion of lines in shells");
    for (const ForeignProgram& program : foreign_programs())
        text += row(program.script, program.help);
    return text;
}

}  // namespace

const HelpTopic* help_topic(std::string_view name) {
    const auto& topics = help_topics();
    const auto found = std::ranges::find(topics, name, &HelpTopic::name);
    return found == topics.end() ? nullptr : &*found;
}

const HelpTopic* topic_of(const std::vector<std::string>& words) {
    const std::string name = joined(words, "-");
    if (const HelpTopic* exact = help_topic(name)) return exact;
    const HelpTopic* found = nullptr;
    for (const HelpTopic& topic : help_topics()) {
        if (!topic.name.starts_with(name)) continue;
        if (found != nullptr) return nullptr;
        found = &topic;
    }
    return found;
}

std::string overview() {
    std::vector<std::string> topics;
    std::ranges::transform(help_topics(), std::back_inserter(topics),
                           [](const HelpTopic& topic) { return std::string(topic.name); });
    return usage() + "\n" + list_of_commands() +
           "\n"
           "  cnntrain demo\n"
           "  cnntrain train --data-dir PHOTOS --model-size 18 --logs-path RUN\n"
           "  cnntrain validation --restore-path RUN\n"
           "  cnntrain inference --restore-path RUN --data-dir 'OTHERS/*.jpg'\n"
           "\n"
           "cnntrain <command> --help lists a command's main options, --help-all all of them.\n" +
           config::paragraph("cnntrain help TOPIC explains: " + joined(topics) + ".") +
           "cnntrain --version --verbose describes this machine and its fastest arithmetic.\n";
}

std::string help_overview() {
    std::string text = usage() + "\n" + list_of_commands() + "\nTopics:\n";
    for (const HelpTopic& topic : help_topics())
        text += row(topic.name, topic.summary);
    return text +
           "\n"
           "cnntrain help TOPIC prints a topic, cnntrain help COMMAND the main options of a command.\n"
           "cnntrain help --man PAGE prints a manual page, cnntrain help --man the names of all.\n"
           "cnntrain help --completion bash|fish|zsh prints a script that completes lines in this shell.\n";
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
