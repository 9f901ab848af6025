// What the table and the resolved values look like to a reader: help, effective values, refusals.
#include <algorithm>

#include "cnntrain/base/error.h"
#include "config/read/option_values.h"
#include "config/read/value.h"
#include "config/table/option.h"

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

std::string joined(const std::vector<std::string_view>& words, std::string_view separator) {
    std::string text;
    for (std::string_view word : words) {
        if (!text.empty()) text += separator;
        text += word.empty() ? "''" : word;
    }
    return text;
}

/// "help (choices; default 3 epochs; also --old-name)".
std::string description(const Option& option, std::uint32_t commands) {
    std::string text(option.help);
    std::vector<std::string> facts;
    if (!option.choices.empty()) facts.push_back(joined(option.choices, ", "));
    if (!is_unset(option.fallback) && !is_boolean(option)) {
        const std::string value = to_string(option.fallback);
        std::string fact = "default " + (value.empty() ? "none" : value);
        if (!option.unit.empty()) fact += " " + std::string(option.unit);
        facts.push_back(fact);
    } else if (!option.unit.empty()) {
        facts.emplace_back(option.unit);
    }
    std::vector<std::string_view> aliases;
    for (const Alias& alias : option.aliases)
        aliases.push_back(alias.flag);
    if (!aliases.empty()) facts.push_back("also " + joined(aliases, ", "));
    if (option.ipu_only) facts.emplace_back("steers IPUs only");
    if (!option.idle.empty()) facts.push_back("changes nothing: " + std::string(option.idle));
    if ((option.acts_in & commands) == 0) facts.emplace_back("changes nothing here");
    if ((option.missing_in & commands) != 0) {
        const bool has_default = !is_boolean(option) && !is_unset(option.fallback);
        if (!option.missing.empty()) facts.emplace_back(has_default ? "others not available yet" : "not available yet");
        if (!option.missing_choices.empty())
            facts.push_back("not available yet: " + joined(option.missing_choices, ", "));
    }
    for (std::size_t i = 0; i < facts.size(); ++i)
        text += (i == 0 ? " (" : "; ") + facts[i];
    return facts.empty() ? text : text + ")";
}

/// "  --flag X      text", the text wrapped and indented.
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

/// Lines to begin with.
std::string examples(Command command) {
    switch (command) {
        case Command::train:
            return "  cnntrain train --data-dir DIR --epochs 10\n"
                   "  cnntrain train --dataset imagenet --generated-data --model-size 50 --iterations 20 --log-freq 5\n"
                   "  cnntrain train --config resnet8_test --data-dir DIR --dry-run\n";
        case Command::validation:
            return "  cnntrain validation --data-dir DIR --restore-path RUN          all checkpoints of a run\n"
                   "  cnntrain validation --data-dir DIR --restore-path RUN/ckpt-500\n";
        case Command::pretrain:
            return "  cnntrain pretrain --config configs/pretrain_base_128_phase1.json --train-file 'DIR/*.tfrecord'\n"
                   "  cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4\n"
                   "  cnntrain pretrain --config pretrain_base_384_phase2 --train-file 'DIR/*.tfrecord' "
                   "--init-checkpoint RUN/ckpt-7031\n"
                   "  cnntrain pretrain --config pretrain_base_128_phase1 --evaluate --restore-dir RUN --valid-file "
                   "'DIR/*.tfrecord'\n";
        case Command::restore:
            return "  cnntrain restore --restore-path RUN\n";
        case Command::inference:
            return "  cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 100   "
                   "measures\n"
                   "  cnntrain inference --data-dir DIR --restore-path RUN/ckpt-500   classifies a validation split\n"
                   "  cnntrain inference --dataset imagenet --data-dir PHOTOS --restore-path RUN/ckpt-500   ... JPEG "
                   "files\n"
                   "Model options are those of the run. Those of training have no effect here.\n";
        default:
            return "";
    }
}

std::string source_text(const ParseResult& result, Source source) {
    switch (source) {
        case Source::default_value:
            return "default";
        case Source::model:
            return "model and data set";
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

std::string help_text(Command command, std::string_view called) {
    const CommandInfo& facts = info(command);
    std::string text = "usage: " + std::string(called) + " [options]\n";
    text += std::string(facts.help) + "\n\n" + examples(command) + "DIR is a data folder, RUN the folder of a run.\n" +
            "\nLong options may be shortened while they stay unambiguous; every boolean has a --no- form. "
            "--dry-run tells what a line\nwould do, --print-config who set which value.\n";
    const Group* group = nullptr;
    for (const Option& option : option_table()) {
        if ((option.commands & bit(command)) == 0) continue;
        if (group == nullptr || *group != option.group) text += "\n" + std::string(title(option.group)) + ":\n";
        group = &option.group;
        text +=
            help_entry(documented_flag(option) + std::string(placeholder(option)), description(option, bit(command)));
    }
    return text;
}

std::string print_config_text(const ParseResult& result) {
    constexpr std::size_t kKeyColumn = 40;
    constexpr std::size_t kValueColumn = 68;
    std::string text;
    const Group* group = nullptr;
    for (const ResolvedOption& entry : result.options) {
        if (entry.option->action) continue;
        if (group == nullptr || *group != entry.option->group) {
            text += (group == nullptr ? "" : "\n") + std::string(title(entry.option->group)) + ":\n";
        }
        group = &entry.option->group;
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
