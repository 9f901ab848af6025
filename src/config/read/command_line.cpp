#include "config/read/command_line.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/config/habits.h"
#include "cnntrain/config/parse.h"
#include "config/read/value.h"

namespace cnntrain::config {
namespace {

std::vector<Spelling> spellings(const std::vector<const Option*>& options) {
    std::vector<Spelling> all;
    for (const Option* option : options)
        std::ranges::move(spellings_of(*option), std::back_inserter(all));
    return all;
}

/// A removed flag of old releases.
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

/// Throws Error(usage): `flag` is unknown here; suggests what may have been meant.
[[noreturn]] void refuse_flag(const OptionSet& all, Command command, const std::string& flag,
                              const std::vector<Spelling>& known) {
    const std::string start = "unknown option " + flag;
    const auto* const retired = std::ranges::find(kRetired, flag, &Retired::flag);
    if (retired != std::end(kRetired))
        throw Error(ErrorKind::usage, start + ": removed long ago; " + std::string(retired->advice));
    for (const Option& option : all.rows()) {
        const std::vector<Spelling> own = spellings_of(option);
        if (std::ranges::find(own, flag, &Spelling::flag) == own.end()) continue;
        if ((option.commands & bit(command)) == 0)
            throw Error(ErrorKind::usage, start + ": it is not an option of " + std::string(name(command)));
        const Option& selector = all.at(option.exists_with.front().key);
        throw Error(ErrorKind::usage,
                    start + ": it belongs to another " + std::string(selector.flag) + " than this run's");
    }
    std::vector<std::string> flags;
    std::ranges::transform(known, std::back_inserter(flags), &Spelling::flag);
    if (flag.size() <= 2) flags.clear();  // every other letter is near it
    throw Error(ErrorKind::usage, start + suggestion(flag, flags, "; see --help", "", ""));
}

/// Skips words that are not known yet.
LineHabits lenient() {
    LineHabits habits{.gathers = true};
    habits.unknown = [](const std::string& word, bool) { return Spelling{word, "--other", Takes::optional}; };
    return habits;
}

}  // namespace

std::vector<Spelling> spellings_of(const Option& option) {
    const std::string flag(option.flag);
    const bool original = option.group != kThisProgram;  // in the original programs
    const Takes takes = option.type == Type::boolean         ? Takes::nothing
                        : option.type == Type::boolean_value ? Takes::optional
                                                             : Takes::several;
    std::vector<Spelling> all = {{flag, flag, takes, "true", original && !option.off_switch}};
    if (is_boolean(option) && !option.action)
        all.push_back({negated(flag), flag, Takes::nothing, "false", original && option.off_switch});
    for (const Alias& alias : option.aliases) {
        Spelling& old = all.emplace_back(Spelling{std::string(alias.flag), flag, takes, "true", false});
        if (alias.fixed_value.empty()) continue;
        old.takes = Takes::nothing;
        old.value = alias.fixed_value;
    }
    return all;
}

std::vector<Spelling> spellings_of(const OptionSet& options, Command command) {
    std::vector<const Option*> accepted;
    for (const Option& option : options.rows()) {
        if ((option.commands & bit(command)) != 0) accepted.push_back(&option);
    }
    return spellings(accepted);
}

FrontDoor scan_front_door(const OptionSet& all, Command command, const std::vector<std::string>& arguments) {
    std::vector<std::string_view> keys = {"config", "config_path"};
    keys.insert(keys.end(), all.selectors().begin(), all.selectors().end());
    std::vector<Spelling> known;
    for (const std::string_view wanted : keys) {
        const Option* const option = all.find(wanted);
        if (option == nullptr || (option->commands & bit(command)) == 0) continue;
        known.push_back({std::string(option->flag), std::string(option->flag), Takes::several});
    }
    FrontDoor front;
    for (const GivenValues& given : read_line(known, arguments, lenient()).options) {
        if (given.option == "--config") {
            front.config = given.values.front();
        } else if (given.option == "--config-path") {
            front.config_path = given.values.front();
        } else if (given.option != "--other") {
            const auto selector = std::ranges::find_if(
                all.selectors(), [&](std::string_view item) { return all.at(item).flag == given.option; });
            front.selectors[*selector] = given.values.front();
        }
    }
    front.help = help_wish(arguments);
    return front;
}

std::optional<std::string> value_on_line(const TaskOptions& task, Command command,
                                         const std::vector<std::string>& arguments, std::string_view flag) {
    std::vector<Spelling> known = spellings_of(task.options(), command);
    for (Spelling& spelling : known) {
        if (spelling.option != flag) spelling.takes = Takes::optional;
    }
    const OwnWords line = in_own_words(task, command, arguments, /*lenient=*/true);
    std::optional<std::string> value;
    for (const GivenValues& given : read_line(known, line.words, lenient()).options) {
        if (given.option == flag) value = given.values.front();
    }
    return value;
}

Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments) {
    const std::vector<Spelling> known = spellings(options);
    LineHabits habits{.gathers = true};
    habits.unknown = [&](const std::string& word, bool ambiguous) -> std::optional<Spelling> {
        if (!ambiguous) refuse_flag(all, command, word.substr(0, word.find('=')), known);
        return std::nullopt;
    };
    Layer layer;
    for (const GivenValues& given : read_line(known, arguments, habits).options) {
        const Option* option = *std::ranges::find(options, given.option, &Option::flag);
        layer[option] = convert(*option, given.values);
    }
    return layer;
}

}  // namespace cnntrain::config
