// Texts about options: help, effective values, unavailable capabilities.
#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/config/parse.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kHelpColumn = 34;

std::string_view placeholder(const Option& option) {
    switch (option.type) {
        case Type::boolean:
            return "";
        case Type::boolean_value:
            return " [true|false]";
        case Type::integer:
            return " N";
        case Type::number:
            return " X";
        case Type::integers:
            return " N ...";
        case Type::numbers:
            return " X ...";
        case Type::texts:
            return " TEXT ...";
        case Type::patterns:
            return " FILE ...";
        default:
            return " TEXT";
    }
}

std::string choices_text(const std::vector<std::string_view>& choices) {
    return joined(choices, ", ", [](std::string_view choice) { return choice.empty() ? "''" : choice; });
}

/// For example "help (choices; default 3 epochs; also --old-name)".
std::string description(const Option& option, std::uint32_t commands) {
    std::string text(option.help);
    std::vector<std::string> facts;
    if (!option.choices.empty()) facts.push_back(choices_text(option.choices));
    if (!is_unset(option.fallback) && !is_boolean(option)) {
        const std::string value = to_string(option.fallback);
        std::string fact = "default " + (value.empty() ? "none" : value);
        if (!option.unit.empty()) fact += " " + std::string(option.unit);
        facts.push_back(fact);
    } else if (!option.unit.empty()) {
        facts.emplace_back(option.unit);
    }
    if (!option.aliases.empty())
        facts.push_back("also " + joined(option.aliases, ", ", [](const Alias& alias) { return alias.flag; }));
    if (option.acts_on_backends != kAll) facts.push_back("steers " + backend_names(option.acts_on_backends) + " only");
    if (!option.idle.empty()) facts.push_back("changes nothing: " + std::string(option.idle));
    if ((option.acts_in & commands) == 0) facts.emplace_back("changes nothing here");
    if ((option.missing_in & commands) != 0) {
        const bool has_default = !is_boolean(option) && !is_unset(option.fallback);
        if (!option.missing.empty()) facts.emplace_back(has_default ? "others not available yet" : "not available yet");
        if (!option.missing_choices.empty())
            facts.push_back("not available yet: " + choices_text(option.missing_choices));
    }
    for (std::size_t i = 0; i < facts.size(); ++i)
        text += (i == 0 ? " (" : "; ") + facts[i];
    return facts.empty() ? text : text + ")";
}

/// For example "  --flag X      text", with the text wrapped and indented.
std::string help_entry(const std::string& head, const std::string& text) {
    std::string result = "  " + head;
    std::size_t column = result.size();
    if (column + 2 > kHelpColumn) {
        result += "\n";
        column = 0;
    }
    result += std::string(kHelpColumn - column, ' ');
    column = kHelpColumn;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        if (column + (end - begin) > kWidth && column > kHelpColumn) {
            result += "\n" + std::string(kHelpColumn, ' ');
            column = kHelpColumn;
        } else if (column > kHelpColumn) {
            result += " ";
            ++column;
        }
        result += text.substr(begin, end - begin);
        column += end - begin;
        begin = end + 1;
    }
    return result + "\n";
}

std::string source_text(const ParseResult& result, Source source) {
    switch (source) {
        case Source::default_value:
            return "default";
        case Source::model:
            return "model and data set";
        case Source::weights:
            return "weights";
        case Source::environment:
            return "environment";
        case Source::config:
            return "config " + to_string(result.at("config").value);
        case Source::arguments:
            return "arguments.json";
        case Source::command_line:
            return "command line";
        case Source::adjusted:
            return "adjusted";
    }
    return {};
}

}  // namespace

std::string help_text(const TaskOptions& task, Command command, std::string_view called) {
    const CommandInfo& facts = info(command);
    std::string text = "usage: " + std::string(called) + " [options]\n";
    text += std::string(facts.help) + "\n\n" + std::string(task.examples(command)) +
            "DIR is a data folder, RUN the folder of a run.\n" +
            "\nLong options may be shortened while they stay unambiguous; every boolean has a --no- form.\n"
            "--dry-run describes what a command line would do, --print-config prints the source of each value.\n";
    std::string_view group;
    for (const Option& option : task.options().rows()) {
        if ((option.commands & bit(command)) == 0) continue;
        if (group != option.group) text += "\n" + std::string(option.group) + ":\n";
        group = option.group;
        text +=
            help_entry(documented_flag(option) + std::string(placeholder(option)), description(option, bit(command)));
    }
    return text;
}

std::string print_config_text(const ParseResult& result) {
    constexpr std::size_t kKeyColumn = 40;
    constexpr std::size_t kValueColumn = 68;
    std::string text;
    std::string_view group;
    for (const ResolvedOption& entry : result.options) {
        if (entry.option->action) continue;
        if (group != entry.option->group)
            text += (group.empty() ? "" : "\n") + std::string(entry.option->group) + ":\n";
        group = entry.option->group;
        std::string line = "  " + key(*entry.option);
        line.resize(std::max(line.size() + 1, kKeyColumn), ' ');
        line += to_string(entry.value);
        line.resize(std::max(line.size() + 2, kValueColumn), ' ');
        text += line + source_text(result, entry.source) + "\n";
    }
    return text;
}

std::vector<std::string> unavailable_options(const ParseResult& result) {
    std::vector<std::string> sentences;
    for (const ResolvedOption& entry : result.options) {
        const Option& option = *entry.option;
        if ((option.missing_in & bit(result.command)) == 0 || is_unset(entry.value)) continue;
        const std::string text = to_string(entry.value);
        const auto& choices = option.missing_choices;
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
            sentences.push_back(documented_flag(option) + " " + text);
        } else if (!option.missing.empty() && given(entry.source) && entry.value != option.fallback) {
            const std::string value = is_boolean(option) ? "" : " " + text;
            sentences.push_back(documented_flag(option) + value + " (" + std::string(option.missing) + ")");
        }
    }
    return sentences;
}

void refuse_unavailable(const ParseResult& result) {
    const std::vector<std::string> sentences = unavailable_options(result);
    if (sentences.empty()) return;
    std::string message = "not available yet: ";
    for (std::size_t i = 0; i < sentences.size(); ++i)
        message += (i == 0 ? "" : ", ") + sentences[i];
    throw Error(ErrorKind::unsupported, message);
}

}  // namespace cnntrain::config
