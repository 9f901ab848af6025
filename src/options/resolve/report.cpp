// Texts about options: help, effective values, unavailable capabilities.
#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/parse.h"
#include "options/read/read.h"

namespace cnntrain::options {
namespace {

/// The value's placeholder. Patterns are several names of files.
std::string_view placeholder(const Option& option) {
    if (option.type == Type::text && is_path(option)) return "PATH";
    constexpr std::string_view kPlaceholders[] = {"",     "",  "true|false", "N",    "X",    "TEXT",
                                                  "NAME", "N", "X",          "TEXT", "FILE", "TEXT"};
    return entry_of(kPlaceholders, option.type);
}

Arity arity(const Option& option) {
    if (option.type == Type::boolean) return Arity::none;
    if (option.type == Type::boolean_value) return Arity::optional;
    return is_list(option) || option.type == Type::patterns ? Arity::several : Arity::one;
}

std::string choices_text(const std::vector<std::string_view>& choices) {
    return joined(choices, ", ", [](std::string_view choice) { return choice.empty() ? "''" : choice; });
}

/// The choices that the commands do not refuse.
std::vector<std::string_view> available_choices(const Option& option, std::uint32_t commands) {
    std::vector<std::string_view> choices = option.choices;
    if ((option.missing.in & commands) == 0) return choices;
    std::erase_if(choices, [&](std::string_view choice) {
        return std::ranges::find(option.missing.choices, choice) != option.missing.choices.end();
    });
    return choices;
}

/// The choices and the default of an option.
std::vector<std::string> value_facts(const Option& option, const std::vector<std::string_view>& choices) {
    std::vector<std::string> facts;
    if (!choices.empty()) facts.push_back(choices_text(choices));
    if (!is_unset(option.fallback) && !is_boolean(option)) {
        const std::string value = to_string(option.fallback);
        std::string fact = "default " + (value.empty() ? "none" : value);
        if (!option.unit.empty()) fact += " " + std::string(option.unit);
        facts.push_back(fact);
    } else if (!option.unit.empty()) {
        facts.emplace_back(option.unit);
    }
    return facts;
}

std::string with_facts(const std::string& text, const std::vector<std::string>& facts) {
    return facts.empty() ? text : text + " (" + joined(facts, "; ") + ")";
}

/// Describes an option: "help (choices; default 3 epochs; also --old-name)".
std::string description(const Option& option, std::uint32_t commands) {
    std::vector<std::string> facts = value_facts(option, available_choices(option, commands));
    if (!option.aliases.empty())
        facts.push_back("also " + joined(option.aliases, ", ", [](const Alias& alias) { return alias.flag; }));
    if (option.acts.on_backends != kAll) facts.push_back("steers " + backend_names(option.acts.on_backends) + " only");
    if (!option.acts.never.empty()) facts.push_back("changes nothing: " + std::string(option.acts.never));
    if ((option.acts.in & commands) == 0) facts.emplace_back("changes nothing here");
    if ((option.missing.in & commands) != 0) {
        const bool has_default = !is_boolean(option) && !is_unset(option.fallback);
        if (!option.missing.capability.empty())
            facts.emplace_back(has_default ? "others not available yet" : "not available yet");
    }
    return with_facts(std::string(option.help), facts);
}

/// The text before the first `end` outside parentheses.
std::string before(const std::string& text, std::string_view end) {
    int depth = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (depth == 0 && text.compare(at, end.size(), end) == 0) return text.substr(0, at);
        depth += static_cast<int>(text[at] == '(') - static_cast<int>(text[at] == ')');
    }
    return text;
}

/// The first sentence, or as many of its first clauses as fit into a line, with the choices and the default.
std::string summary(const Option& option, const std::vector<std::string_view>& choices) {
    constexpr std::size_t kLine = 68;
    std::vector<std::string> facts;
    if (!choices.empty()) facts.push_back(choices_text(choices));
    const bool has_default = !is_unset(option.fallback) && !is_boolean(option) && choices.empty();
    const std::string value = to_string(option.fallback);
    if (has_default && !value.empty() && value != "0") facts.push_back("default " + value);
    std::string text(option.help.substr(0, option.help.find(". ")));
    while (text.ends_with('.'))
        text.pop_back();
    for (const char* end : {"; ", " (", ": ", ", "}) {
        if (with_facts(text, facts).size() > kLine) text = before(text, end);
    }
    return with_facts(text, facts);
}

HelpRow help_row(const Option& option, Command command) {
    HelpRow row{.flag = documented_flag(option), .arity = arity(option), .value = std::string(placeholder(option))};
    const std::vector<std::string_view> choices = available_choices(option, bit(command));
    for (const std::string_view choice : choices) {
        if (!choice.empty()) row.choices.emplace_back(choice);
    }
    row.path = is_path(option) || option.type == Type::patterns;
    row.summary = summary(option, choices);
    row.help = description(option, bit(command));
    row.group = option.acts.on_backends == kIpu ? kIpuGroup : option.group;
    row.main = (option.main_in & bit(command)) != 0 && option.acts.never.empty();
    return row;
}

std::string source_text(const ParseResult& result, Source source) {
    constexpr std::string_view kSources[] = {"default", "model and data set", "weights",      "environment",
                                             "config ", "arguments.json",     "command line", "adjusted"};
    return std::string(entry_of(kSources, source)) +
           (source == Source::config ? to_string(result.at("config").value) : "");
}

}  // namespace

HelpPage help_page(const TaskOptions& task, Command command, std::string_view called) {
    HelpPage page{.called = std::string(called)};
    page.summary = info(command).help;
    page.examples = std::string(task.examples(command)) + "DIR is a data folder, RUN the folder of a run.\n";
    for (const Option& option : task.options().rows()) {
        if ((option.commands & bit(command)) != 0) page.rows.push_back(help_row(option, command));
    }
    gather_groups(page.rows);
    page.all_only = "\nLong options may be shortened while they stay unambiguous; every boolean has a --no- form.\n";
    return page;
}

std::string print_config_text(const ParseResult& result) {
    constexpr std::size_t kKeyColumn = 40;
    constexpr std::size_t kValueColumn = 68;
    std::string text;
    std::string_view group;
    for (const ResolvedOption& entry : result.options) {
        if (is_action(*entry.option)) continue;
        if (group != entry.option->group)
            text += (group.empty() ? "" : "\n") + std::string(entry.option->group) + ":\n";
        group = entry.option->group;
        const std::string line = padded("  " + key(*entry.option), kKeyColumn) + to_string(entry.value);
        text += padded(line, kValueColumn, 2) + source_text(result, entry.source) + "\n";
    }
    return text;
}

std::vector<std::string> unavailable_options(const ParseResult& result) {
    std::vector<std::string> sentences;
    for (const ResolvedOption& entry : result.options) {
        const Option& option = *entry.option;
        if ((option.missing.in & bit(result.command)) == 0 || is_unset(entry.value)) continue;
        const std::string text = to_string(entry.value);
        const auto& choices = option.missing.choices;
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
            sentences.push_back(documented_flag(option) + " " + text);
        } else if (!option.missing.capability.empty() && given(entry.source) && entry.value != option.fallback) {
            const std::string value = is_boolean(option) ? "" : " " + text;
            sentences.push_back(documented_flag(option) + value + " (" + std::string(option.missing.capability) + ")");
        }
    }
    return sentences;
}

void refuse_unavailable(const ParseResult& result) {
    const std::vector<std::string> sentences = unavailable_options(result);
    if (!sentences.empty()) throw Error(ErrorKind::unsupported, "not available yet: " + joined(sentences));
}

}  // namespace cnntrain::options
