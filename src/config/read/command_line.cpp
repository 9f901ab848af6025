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
    const auto* const retired = std::ranges::find(kRetired, flag, &Retired::flag);
    if (retired != std::end(kRetired))
        throw Error(ErrorKind::usage, "unknown option " + flag + ": removed long ago; " + std::string(retired->advice));
    std::string reason;
    bool of_program = false;
    for (const Option& option : option_table()) {
        const std::vector<Spelling> own = spellings({&option});
        if (of_program || std::ranges::find(own, flag, &Spelling::flag) == own.end()) continue;
        of_program = (option.commands & program_of(command)) != 0;
        const bool of_command = (option.commands & bit(command)) != 0;
        const std::string decider = option.schedules != kAll ? "--lr-schedule" : "--model";
        reason = of_command ? ": it belongs to another " + decider + " than this run's"
                            : ": it is no option of " + std::string(name(command));
    }
    if (!of_program) {
        std::vector<std::string> flags;
        std::ranges::transform(known, std::back_inserter(flags), &Spelling::flag);
        const std::string nearest = nearest_name(flag, flags);
        reason += nearest.empty() ? "; see --help" : "; did you mean " + nearest + "?";
    }
    throw Error(ErrorKind::usage, "unknown option " + flag + reason);
}

}  // namespace

FrontDoor scan_front_door(Command command, const std::vector<std::string>& arguments) {
    FrontDoor front;
    struct Door {
        std::string flag;
        std::optional<std::string>* target;
        std::uint32_t commands;
    };
    const Door doors[] = {{"--model", &front.model, kTVE},
                          {"--lr-schedule", &front.lr_schedule, kT},
                          {"--config", &front.config, kTVE | kP},
                          {"--config-path", &front.config_path, kTVE}};
    std::vector<Spelling> known;
    for (const Door& door : doors) {
        if ((door.commands & bit(command)) != 0) known.push_back({door.flag, door.flag, Takes::several});
    }
    LineHabits habits{.gathers = true};
    habits.unknown = [](const std::string& word, bool) { return Spelling{word, "--other", Takes::optional}; };
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
        const Option* option = *std::ranges::find(options, given.option, &Option::flag);
        layer[option] = convert(*option, given.values);
    }
    return layer;
}

}  // namespace cnntrain::config
