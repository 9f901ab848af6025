#include "config/read/command_line.h"

#include <algorithm>
#include <cctype>

#include "cnntrain/base/error.h"
#include "config/read/value.h"

namespace cnntrain::config {

namespace {

/// One way to write an option.
struct Spelling {
    std::string flag;
    const Option* option;
    bool negated;
    std::string_view fixed_value;
    bool documented;  // in the original programs: its prefixes go before those of other spellings
};

bool is_number(std::string_view word) {
    return word.size() > 1 && (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
}

bool is_flag(std::string_view word) {
    return word.size() > 1 && word[0] == '-' && !is_number(word);
}

std::vector<Spelling> spellings(const std::vector<const Option*>& options) {
    std::vector<Spelling> all;
    for (const Option* option : options) {
        const bool original = option->group != kThisProgram;
        all.push_back({std::string(option->flag), option, false, {}, original && !option->off_switch});
        if (is_boolean(*option) && !option->action) {
            all.push_back({negated(option->flag), option, true, {}, original && option->off_switch});
        }
        for (const Alias& alias : option->aliases) {
            all.push_back({std::string(alias.flag), option, false, alias.fixed_value, false});
        }
    }
    return all;
}

/// Flags of old releases that nothing stands for any more.
struct Retired {
    std::string_view flag;
    std::string_view advice;
};

constexpr Retired kRetired[] = {
    {"--poly-lr-initial-lr", "use --abs-learning-rate"},
    {"--poly-lr-end-lr", "use --abs-end-learning-rate"},
    {"--poly-lr-decay-steps", "the schedule ends with the run"},
    {"--valid-batch-size", "validation uses --micro-batch-size"},
    {"--gc-profile", "use --profile"},
    {"--use-bypass", "SqueezeNet was removed from the original programs"},
};

/// Why `flag` is no option here, and what may have been meant.
[[noreturn]] void refuse_flag(const OptionSet& all, Command command, const std::string& flag,
                              const std::vector<Spelling>& known) {
    const std::string start = "unknown option " + flag;
    for (const Retired& retired : kRetired) {
        if (retired.flag == flag) {
            throw Error(ErrorKind::usage, start + ": removed long ago; " + std::string(retired.advice));
        }
    }
    std::vector<const Option*> of_task;
    for (const Option& option : all.rows())
        of_task.push_back(&option);
    for (const Spelling& other : spellings(of_task)) {
        if (other.flag != flag) continue;
        std::string reason = start;
        if ((other.option->commands & bit(command)) == 0) {
            reason += ": it is no option of ";
            reason += name(command);
        } else {
            const Option& selector = all.at(other.option->exists_with.front().key);
            reason += ": it belongs to another " + std::string(selector.flag) + " than this run's";
        }
        throw Error(ErrorKind::usage, reason);
    }
    std::vector<std::string> flags;
    flags.reserve(known.size());
    for (const Spelling& spelling : known)
        flags.push_back(spelling.flag);
    const std::string nearest = nearest_name(flag, flags);
    throw Error(ErrorKind::usage, start + (nearest.empty() ? "; see --help" : "; did you mean " + nearest + "?"));
}

const Spelling& find_spelling(const OptionSet& all, Command command, const std::string& flag,
                              const std::vector<Spelling>& known) {
    std::vector<const Spelling*> documented;
    std::vector<const Spelling*> others;
    for (const Spelling& spelling : known) {
        if (spelling.flag == flag) return spelling;
        if (flag.size() > 2 && spelling.flag.starts_with(flag)) {
            (spelling.documented ? documented : others).push_back(&spelling);
        }
    }
    const auto& matches = documented.empty() ? others : documented;
    if (matches.empty()) refuse_flag(all, command, flag, known);
    const bool one_meaning = std::all_of(matches.begin(), matches.end(), [&](const Spelling* match) {
        return match->option == matches.front()->option && match->negated == matches.front()->negated &&
               match->fixed_value == matches.front()->fixed_value;
    });
    if (one_meaning) return *matches.front();
    std::string message = "ambiguous option " + flag + ": could be";
    for (const Spelling* match : matches)
        message += " " + match->flag;
    throw Error(ErrorKind::usage, message);
}

/// A flag and the words that follow it, up to the next flag.
struct Occurrence {
    std::string flag;
    std::vector<std::string> words;
    bool joined = false;  // --flag=word
};

std::vector<Occurrence> split_words(const std::vector<std::string>& arguments) {
    std::vector<Occurrence> all;
    for (const std::string& word : arguments) {
        if (!is_flag(word)) {
            if (all.empty()) throw Error(ErrorKind::usage, "unexpected word '" + word + "': options start with --");
            all.back().words.push_back(word);
            continue;
        }
        const std::size_t equals = word.find('=');
        all.push_back({word.substr(0, equals), {}});
        if (equals != std::string::npos) {
            all.back().words.push_back(word.substr(equals + 1));
            all.back().joined = true;
        }
    }
    return all;
}

Value value_of(const Spelling& spelling, const Occurrence& occurrence) {
    const auto& words = occurrence.words;
    const bool takes_no_value =
        spelling.option->type == Type::boolean || spelling.negated || !spelling.fixed_value.empty();
    if (takes_no_value) {
        if (!words.empty()) {
            throw Error(ErrorKind::usage, spelling.flag + " takes no value, got '" + words.front() + "'");
        }
        if (!spelling.fixed_value.empty()) return std::string(spelling.fixed_value);
        return !spelling.negated;
    }
    if (spelling.option->type == Type::boolean_value && words.empty()) return true;
    if (words.empty()) throw Error(ErrorKind::usage, spelling.flag + ": expected a value");
    if (occurrence.joined && words.size() > 1) {
        throw Error(ErrorKind::usage, "unexpected word '" + words[1] + "' after " + spelling.flag + "=" + words[0]);
    }
    return convert(*spelling.option, words);
}

}  // namespace

FrontDoor scan_front_door(const OptionSet& all, Command command, const std::vector<std::string>& arguments) {
    std::vector<std::string_view> keys = {"config", "config_path"};
    keys.insert(keys.end(), all.selectors().begin(), all.selectors().end());
    std::vector<const Option*> doors;
    for (const std::string_view wanted : keys) {
        const Option* const option = all.find(wanted);
        if (option != nullptr && (option->commands & bit(command)) != 0) doors.push_back(option);
    }
    FrontDoor front;
    for (const Occurrence& occurrence : split_words(arguments)) {
        if (occurrence.flag == "--help" || occurrence.flag == "-h") front.help = true;
        const Option* match = nullptr;
        int prefixes = 0;
        for (const Option* const door : doors) {
            if (!door->flag.starts_with(occurrence.flag)) continue;
            if (match == nullptr || match->flag != occurrence.flag) match = door;
            ++prefixes;
        }
        const bool clear = match != nullptr && (match->flag == occurrence.flag || prefixes == 1);
        if (!clear || occurrence.words.empty()) continue;
        const std::string& word = occurrence.words.front();
        if (match->flag == "--config") {
            front.config = word;
        } else if (match->flag == "--config-path") {
            front.config_path = word;
        } else {
            const auto selector =
                std::ranges::find_if(all.selectors(), [&](std::string_view item) { return item == key(*match); });
            front.selectors[*selector] = word;
        }
    }
    return front;
}

Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments) {
    const std::vector<Spelling> known = spellings(options);
    Layer layer;
    for (const Occurrence& occurrence : split_words(arguments)) {
        const Spelling& spelling = find_spelling(all, command, occurrence.flag, known);
        layer[spelling.option] = value_of(spelling, occurrence);
    }
    return layer;
}

}  // namespace cnntrain::config
