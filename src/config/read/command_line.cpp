#include "config/read/command_line.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/config/line.h"
#include "config/read/value.h"

namespace cnntrain::config {

namespace {

std::vector<Spelling> spellings(const std::vector<const Option*>& options) {
    std::vector<Spelling> all;
    for (const Option* option : options) {
        const std::string flag(option->flag);
        const bool original = option->group != Group::run;  // in the original programs
        const Takes takes = option->type == Type::boolean         ? Takes::nothing
                            : option->type == Type::boolean_value ? Takes::optional
                                                                  : Takes::several;
        all.push_back({flag, flag, takes, "true", original && !option->off_switch});
        if (is_boolean(*option) && !option->action)
            all.push_back({negated(flag), flag, Takes::nothing, "false", original && option->off_switch});
        for (const Alias& alias : option->aliases) {
            Spelling& old = all.emplace_back(Spelling{std::string(alias.flag), flag, takes, "true", false});
            if (alias.fixed_value.empty()) continue;
            old.takes = Takes::nothing;
            old.value = alias.fixed_value;
        }
    }
    return all;
}

const Option* option_of(const std::vector<const Option*>& options, std::string_view flag) {
    const auto found = std::ranges::find(options, flag, &Option::flag);
    return found == options.end() ? nullptr : *found;
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
[[noreturn]] void refuse_flag(Command command, const std::string& flag, const std::vector<Spelling>& known) {
    const std::string start = "unknown option " + flag;
    for (const Retired& retired : kRetired) {
        if (retired.flag == flag) {
            throw Error(ErrorKind::usage, start + ": removed long ago; " + std::string(retired.advice));
        }
    }
    std::vector<const Option*> of_program;
    std::vector<const Option*> of_others;
    for (const Option& option : option_table())
        ((option.commands & program_of(command)) != 0 ? of_program : of_others).push_back(&option);
    for (const Spelling& other : spellings(of_program)) {
        if (other.flag != flag) continue;
        std::string reason = start;
        const Option& option = *option_of(of_program, other.option);
        if ((option.commands & bit(command)) == 0) {
            reason += ": it is no option of ";
            reason += name(command);
        } else if (option.schedules != kAll) {
            reason += ": it belongs to another --lr-schedule than this run's";
        } else {
            reason += ": it belongs to another --model than this run's";
        }
        throw Error(ErrorKind::usage, reason);
    }
    std::vector<std::string> flags;
    flags.reserve(known.size());
    for (const Spelling& spelling : known)
        flags.push_back(spelling.flag);
    const std::string nearest = nearest_name(flag, flags);
    const std::vector<Spelling> others = spellings(of_others);
    const bool of_other = std::ranges::find(others, flag, &Spelling::flag) != others.end();
    const std::string reason = of_other ? start + ": it is no option of " + std::string(name(command)) : start;
    throw Error(ErrorKind::usage, reason + (nearest.empty() ? "; see --help" : "; did you mean " + nearest + "?"));
}

}  // namespace

FrontDoor scan_front_door(Command command, const std::vector<std::string>& arguments) {
    FrontDoor front;
    struct Door {
        std::string_view flag;
        std::optional<std::string>* target;
        std::uint32_t commands;
    };
    const Door doors[] = {{"--model", &front.model, kTVE},
                          {"--lr-schedule", &front.lr_schedule, kT},
                          {"--config", &front.config, kTVE | kP},
                          {"--config-path", &front.config_path, kTVE}};
    std::vector<Spelling> known;
    for (const Door& door : doors) {
        const std::string flag(door.flag);
        if ((door.commands & bit(command)) != 0) known.push_back({flag, flag, Takes::several});
    }
    LineHabits habits{.gathers = true};
    habits.unknown = [](const std::string& word, bool) {
        return Spelling{word.substr(0, word.find('=')), "--other", Takes::optional};
    };
    for (const GivenValues& given : read_line(known, arguments, habits).options) {
        const auto* door = std::ranges::find(doors, given.option, &Door::flag);
        if (door != std::end(doors)) *door->target = given.values.front();
    }
    front.help = std::ranges::any_of(arguments, [](const auto& word) { return word == "--help" || word == "-h"; });
    return front;
}

Layer parse_arguments(Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments) {
    const std::vector<Spelling> known = spellings(options);
    LineHabits habits{.gathers = true};
    habits.unknown = [&](const std::string& word, bool ambiguous) -> std::optional<Spelling> {
        if (!ambiguous) refuse_flag(command, word.substr(0, word.find('=')), known);
        return std::nullopt;
    };
    Layer layer;
    for (const GivenValues& given : read_line(known, arguments, habits).options) {
        const Option* option = option_of(options, given.option);
        layer[option] = convert(*option, given.values);
    }
    return layer;
}

}  // namespace cnntrain::config
