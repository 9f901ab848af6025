#include "cli/help.h"

#include <algorithm>
#include <iterator>

#include "cli/program.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/line.h"

namespace cnntrain::cli {
namespace {

std::string usage() {
    return "usage: cnntrain <command> [options]\nTrains and measures convolutional networks and BERT on CPUs.\n";
}

/// A name with its description in a column.
std::string command_row(std::string_view name, std::string_view text) {
    constexpr std::size_t kColumn = 17;
    return padded("  " + std::string(name), kColumn) + std::string(text) + "\n";
}

std::string list_of_commands() {
    std::string text = "Commands:\n";
    for (const options::CommandInfo& info : options::commands()) {
        std::string line(info.help);
        if (!info.scripts.empty()) line += " (also " + joined({info.scripts.begin(), info.scripts.end()}) + ")";
        text += command_row(info.name, line);
    }
    text += command_row("help", "topics, manual pages, completion of lines in shells");
    for (const ForeignProgram& program : foreign_programs())
        text += command_row(program.script, program.help);
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
           "  cnntrain inference RUN OTHERS/*.jpg\n"
           "\n"
           "cnntrain <command> --help lists a command's main options, --help-all all of them.\n" +
           options::paragraph("cnntrain help TOPIC explains: " + joined(topics) + ".") +
           "cnntrain --version --verbose describes this machine and its fastest arithmetic.\n";
}

std::string help_overview() {
    std::string text = usage() + "\n" + list_of_commands() + "\nTopics:\n";
    for (const HelpTopic& topic : help_topics())
        text += command_row(topic.name, topic.summary);
    return text +
           "\n"
           "cnntrain help TOPIC prints a topic, cnntrain help COMMAND the main options of a command.\n"
           "cnntrain help --man PAGE prints a manual page, cnntrain help --man the names of all.\n"
           "cnntrain help --completion bash|fish|zsh prints a script that completes lines in this shell.\n";
}

namespace {

/// Small letters, and words that are separated by blanks.
std::string searchable(std::string_view text) {
    std::string result = in_lower_case(text);
    std::ranges::replace_if(
        result, [](char c) { return c == '-' || c == '_'; }, ' ');
    return result;
}

/// Options of the commands, once each, with the commands that have them.
struct FoundOption {
    const options::HelpRow* row;
    std::vector<std::string> commands;
    bool by_name;
};

std::vector<FoundOption> options_with(const std::string& wanted, const std::vector<CommandPage>& pages) {
    std::vector<FoundOption> found;
    for (const CommandPage& page : pages) {
        for (const options::HelpRow& row : page.page.rows) {
            const bool by_name = searchable(row.flag).find(wanted) != std::string::npos;
            if (!by_name && searchable(row.help).find(wanted) == std::string::npos) continue;
            const auto same = std::ranges::find_if(found, [&](const FoundOption& option) {
                return option.row->flag == row.flag && option.row->summary == row.summary;
            });
            if (same != found.end()) {
                same->commands.push_back(page.command);
            } else {
                found.push_back({&row, {page.command}, by_name});
            }
        }
    }
    std::stable_partition(found.begin(), found.end(), [](const FoundOption& option) { return option.by_name; });
    return found;
}

}  // namespace

std::string found_in_help(const std::vector<std::string>& words) {
    constexpr std::size_t kMostOptions = 30;
    const std::string wanted = searchable(joined(words, " "));
    std::string text;
    for (const HelpTopic& topic : help_topics()) {
        const std::string all = std::string(topic.name) + " " + std::string(topic.summary) + "\n" + topic.text;
        if (searchable(all).find(wanted) != std::string::npos) text += command_row(topic.name, topic.summary);
    }
    if (!text.empty()) text = "Topics, for cnntrain help TOPIC:\n" + text;
    const std::vector<CommandPage> pages = command_pages();
    const std::vector<FoundOption> options = options_with(wanted, pages);
    if (!options.empty()) text += "Options:\n";
    for (std::size_t i = 0; i < std::min(options.size(), kMostOptions); ++i) {
        const FoundOption& option = options[i];
        text += command_row(option.row->flag, option.row->summary + " [" + joined(option.commands) + "]");
    }
    if (options.size() > kMostOptions)
        text += "  ... and " + std::to_string(options.size() - kMostOptions) + " more; name more words\n";
    for (const std::string& meaning : options::meanings_of_habit(words.front()))
        text += "Other programs' --" + words.front() + ": " + meaning + "\n";
    return text;
}

void refuse_topic(const std::string& word) {
    std::vector<std::string> known;
    for (const HelpTopic& topic : help_topics())
        known.emplace_back(topic.name);
    const std::string topics = each_behind(" ", known);
    for (const options::CommandInfo& command : options::commands())
        known.emplace_back(command.name);
    throw Error(ErrorKind::usage, "no help on '" + word + "'" + suggestion(word, known, ".", "'cnntrain help ", "'") +
                                      " Topics:" + topics);
}

}  // namespace cnntrain::cli
