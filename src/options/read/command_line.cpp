#include "options/read/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/options/line.h"
#include "cnntrain/options/parse.h"
#include "options/read/value.h"

namespace cnntrain::options {
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

/// An old name and its option are two names of one value, which the line gives twice.
void refuse_two_names(const Option& option, const std::string& before, const std::string& now) {
    const auto is_name = [&](const std::string& flag) {
        const auto old = std::ranges::find(option.aliases, flag, &Alias::flag);
        return flag == option.flag || (old != option.aliases.end() && old->fixed_value.empty());
    };
    if (before == now || !is_name(before) || !is_name(now)) return;
    throw Error(ErrorKind::usage,
                before + " and " + now + " are two names of one value; give " + std::string(option.flag) + " only");
}

}  // namespace

std::vector<Spelling> spellings_of(const Option& option) {
    const std::string flag(option.flag);
    const bool original = option.group != kThisProgram;  // in the original programs
    const Takes takes = option.type == Type::boolean         ? Takes::nothing
                        : option.type == Type::boolean_value ? Takes::optional
                                                             : Takes::several;
    std::vector<Spelling> all = {{flag, flag, takes, "true", original && !option.off_switch}};
    if (is_boolean(option) && !is_action(option))
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

Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments) {
    const std::vector<Spelling> known = spellings(options);
    LineHabits habits{.gathers = true};
    habits.unknown = [&](const std::string& word, bool ambiguous) -> std::optional<Spelling> {
        if (!ambiguous) refuse_flag(all, command, word.substr(0, word.find('=')), known);
        return std::nullopt;
    };
    Layer layer;
    std::map<const Option*, std::string> spelled;  // the flag by which the line gives an option
    for (const GivenValues& given : read_line(known, arguments, habits).options) {
        const Option* option = *std::ranges::find(options, given.option, &Option::flag);
        refuse_two_names(*option, std::exchange(spelled[option], given.flag), given.flag);
        layer[option] = convert(*option, given.values);
    }
    return layer;
}

namespace {

using Words = std::vector<std::string>;

std::string trimmed(const std::string& word) {
    const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
    return {std::ranges::find_if_not(word, blank), word.end()};
}

/// The spellings that a name may mean: those that it abbreviates, the preferred ones before others.
struct Begun {
    std::vector<const Spelling*> all;
    const Spelling* meant = nullptr;  // the one of that full name, or one of `all` if they all mean the same
};

Begun spellings_begun_by(const std::vector<Spelling>& known, std::string_view name) {
    std::vector<const Spelling*> preferred;
    std::vector<const Spelling*> others;
    for (const Spelling& spelling : known) {
        if (spelling.flag == name) return {{}, &spelling};
        if (name.size() > 2 && spelling.flag.starts_with(name))
            (spelling.preferred ? preferred : others).push_back(&spelling);
    }
    Begun begun{preferred.empty() ? std::move(others) : std::move(preferred)};
    const auto same_meaning = [&](const Spelling* one) {
        return one->option == begun.all.front()->option && one->value == begun.all.front()->value;
    };
    if (!begun.all.empty() && std::ranges::all_of(begun.all, same_meaning)) begun.meant = begun.all.front();
    return begun;
}

class Expansion {
public:
    Expansion(const std::vector<Spelling>& known, const Words& words, const LineHabits& habits)
        : known_(known), words_(words), habits_(habits) {}

    Expanded run() {
        bool follows = false;
        while (at_ < words_.size()) {
            const bool trims = habits_.trims && !follows;
            const std::string word = trims ? trimmed(words_[at_++]) : words_[at_++];
            if (word.empty() && trims) continue;
            follows = habits_.foreign && habits_.foreign(word, follows);
            if (follows) {
                result_.rest.push_back(word);
            } else if (is_flag(word)) {
                read_flag(word);
            } else {
                read_place(word);
            }
        }
        return std::move(result_);
    }

private:
    [[noreturn]] void refuse(const std::string& message) const {
        throw Error(ErrorKind::usage, (habits_.program.empty() ? "" : habits_.program + ": ") + message);
    }

    /// Reads a word that is not the value of a flag: the next place for such a word takes it.
    void read_place(const std::string& word) {
        std::string taken;
        for (const Spelling& place : known_) {
            if (place.flag.starts_with('-')) continue;
            if (std::ranges::find(result_.words, place.option) == result_.words.end()) return add(place, {word});
            taken += (taken.empty() ? "" : " and one ") + place.flag;
        }
        if (!taken.empty()) refuse("one " + taken + " only, got also '" + word + "'");
        if (habits_.quotes) refuse_name(word, {});
        refuse("unexpected word '" + word + "': options start with --");
    }

    void read_flag(const std::string& word) {
        const std::size_t equals = word.find('=');
        const std::string typed = word.substr(0, equals);
        const Spelling spelling = find(word, typed);
        const std::string& shown = habits_.gathers ? spelling.flag : typed;
        const bool joined = equals != std::string::npos && spelling.flag != word;
        Words values;
        if (joined) values.push_back(word.substr(equals + 1));
        if (!joined || habits_.gathers) take_values(spelling, values);
        if (joined && values.size() > 1)
            refuse("unexpected word '" + values[1] + "' after " + shown + "=" + values.front());
        if (spelling.takes == Takes::nothing && !values.empty())
            refuse(shown + " takes no value" + (habits_.gathers ? ", got '" + values.front() + "'" : ""));
        if (spelling.takes > Takes::optional && values.empty())
            refuse(shown + (habits_.gathers ? ": expected a value" : " needs a value"));
        add(spelling, values);
    }

    void take_values(const Spelling& spelling, Words& values) {
        const bool all = habits_.gathers || spelling.takes == Takes::several;
        const std::size_t most = all ? words_.size() : spelling.takes == Takes::nothing ? 0 : 1;
        const auto ends = [&](const std::string& word) {
            return spelling.takes != Takes::any && (habits_.hyphen_values ? word.starts_with("--") : is_flag(word));
        };
        while (values.size() < most && at_ < words_.size() && !ends(words_[at_]))
            values.push_back(words_[at_++]);
    }

    Spelling find(const std::string& word, std::string name) const {
        if (habits_.underscores) std::ranges::replace(name, '_', '-');
        const Begun begun = spellings_begun_by(known_, name);
        if (begun.meant != nullptr) return *begun.meant;
        const auto meant = habits_.unknown ? habits_.unknown(word, !begun.all.empty()) : std::nullopt;
        if (meant) return *meant;
        refuse_name(name, begun.all);
    }

    [[noreturn]] void refuse_name(const std::string& name, const std::vector<const Spelling*>& begun) const {
        const std::string mark = habits_.quotes ? "'" : "";
        const std::string shown = (habits_.quotes ? "flag " : "option ") + mark + name + mark;
        if (!begun.empty()) {
            std::string list;
            for (const Spelling* spelling : begun)
                list += (habits_.quotes && !list.empty() ? ", " : " ") + spelling->flag;
            refuse("ambiguous " + shown + ": could be" + list);
        }
        Words names;
        for (const Spelling& spelling : known_) {
            if (spelling.preferred) names.push_back(spelling.flag);
        }
        refuse("unknown " + shown + suggestion(name, names, habits_.quotes ? "" : "; see --help", mark, mark));
    }

    void add(const Spelling& spelling, const Words& values) {
        result_.words.push_back(spelling.option);
        result_.flags.push_back(spelling.flag);
        const bool trims = habits_.trims && spelling.takes != Takes::any;
        for (const std::string& value : values.empty() ? Words{spelling.value} : values)
            result_.words.push_back(kValueMark + (trims ? trimmed(value) : value));
    }

    const std::vector<Spelling>& known_;
    const Words& words_;
    const LineHabits& habits_;
    std::size_t at_ = 0;
    Expanded result_;
};

}  // namespace

bool is_flag(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 &&
           word[1] != '.';
}

const Spelling* spelling_of(const std::vector<Spelling>& known, std::string_view name) {
    return spellings_begun_by(known, name).meant;
}

Expanded expand_words(const std::vector<Spelling>& known, const Words& words, const LineHabits& habits) {
    return Expansion(known, words, habits).run();
}

namespace {

template <typename T> std::optional<T> number_of(std::string_view word) {
    T value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return value;
}

}  // namespace

Line read_line(const std::vector<Spelling>& known, const std::vector<std::string>& words, const LineHabits& habits) {
    Expanded expanded = expand_words(known, words, habits);
    Line line{{}, std::move(expanded.rest)};
    CLI::App app;
    app.set_help_flag();  // --help is an ordinary option here
    try {
        for (std::string& flag : expanded.words) {
            if (flag.front() == kValueMark) continue;
            const auto store = [&line, &expanded, option = flag](const CLI::results_t& marked) {
                GivenValues& given =
                    line.options.emplace_back(GivenValues{option, expanded.flags[line.options.size()], {}});
                for (const std::string& value : marked)
                    given.values.push_back(value.substr(1));
                return true;
            };
            if (flag.front() != '-') flag.insert(0, "--");
            if (app.get_option_no_throw(flag) == nullptr)
                app.add_option(flag, store)->expected(1, -1)->allow_extra_args()->trigger_on_parse();
        }
        std::ranges::reverse(expanded.words);  // CLI11 reads the vector from its end
        app.parse(std::move(expanded.words));
    } catch (const CLI::Error& error) {
        throw Error(ErrorKind::usage, error.what());
    }
    return line;
}

std::int64_t whole_number(const std::string& name, std::string_view word, std::int64_t least, std::int64_t most) {
    const auto value = number_of<std::int64_t>(word);
    if (value && *value >= least && *value <= most) return *value;
    throw Error(ErrorKind::usage, name + " expects a whole number from " + std::to_string(least) + " to " +
                                      std::to_string(most) + ", got '" + std::string(word) + "'");
}

std::optional<double> decimal_number(std::string_view word) {
    return number_of<double>(word);
}

}  // namespace cnntrain::options
