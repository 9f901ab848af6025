// One row of an option table. The parser, the configuration reader, the help text, arguments.json and value sources are
// all derived from these rows. A task's table consists of rows that all tasks share (task_options.h) and its own
// rows.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cnntrain/backend/settings.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/settings.h"

namespace cnntrain::options {

// Option values and their sources.

/// The type of an option's value.
enum class Type : std::uint8_t {
    of_member,      // that of the member of Settings that holds the value
    boolean,        // --x, --no-x
    boolean_value,  // --x, --no-x, --x true, --x false
    integer,
    number,
    text,
    choice,    // one of `choices`, case-insensitive
    integers,  // a list takes all words up to the next option
    numbers,   // a list whose words may also be separated by commas
    texts,
    patterns,   // file names with wildcards: all words up to the next option, stored as one text separated by commas
    structure,  // nested lists or an object, as JSON text
};

/// No value. It takes the place of std::monostate because of libstdc++ 12, which does not ask a variant of numbers,
/// strings and vectors alone whether it holds something: where memory for a copy is missing, it would destroy the copy
/// that was never made.
struct Unset {
    Unset() = default;
    Unset(const Unset& /*other*/) noexcept {}
    Unset& operator=(const Unset& /*other*/) noexcept { return *this; }
    ~Unset() = default;
    bool operator==(const Unset&) const = default;
};

/// The value of an option. Unset: not given, and no default.
using Value = std::variant<Unset, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<double>, std::vector<std::string>>;

/// The value as written on a command line: "0.1", "true", "a b"; "none" for Unset.
std::string to_string(const Value& value);
bool is_unset(const Value& value);

/// The source of a value, in increasing precedence.
enum class Source : std::uint8_t {
    default_value,
    model,
    weights,  // a file of weights that the line names
    environment,
    config,
    arguments,
    command_line,
    adjusted,
};

/// True if the user set the value.
bool given(Source source);

// Connects an option row to the member of Settings that holds the option's value.

struct Binding {
    Value (*read)(const Settings& settings) = nullptr;
    /// An unset value empties the member.
    void (*write)(Settings& settings, const Value& value) = nullptr;
    Type type = Type::boolean;                             // of the member
    Value (*initial)() = nullptr;                          // the member's value in new settings
    std::vector<std::string_view> (*choices)() = nullptr;  // of a member that is an enumeration
    bool left_open = false;                                // `initial` is not the option's default: it has none
};

/// The row has no default: the model or another option sets the value, or nothing does. Until then the member is empty.
constexpr Binding left_open(Binding binding) {
    binding.left_open = true;
    return binding;
}

template <typename T> void assign(T& member, const Value& value) {
    if (std::holds_alternative<Unset>(value)) {
        member = T{};
    } else if constexpr (std::is_enum_v<T>) {
        member = *named<T>(std::get<std::string>(value));
    } else {
        member = std::get<T>(value);
    }
}

template <typename T> void assign(std::optional<T>& member, const Value& value) {
    member.reset();
    if (!std::holds_alternative<Unset>(value)) assign(member.emplace(), value);
}

template <typename T> Value value_of(const T& member) {
    if constexpr (std::is_enum_v<T>) {
        return std::string(spelling(member));
    } else {
        return member;
    }
}
template <typename T> Value value_of(const std::optional<T>& member) {
    return member ? value_of(*member) : Value();
}

// Structures: JSON text on the line. Error(usage) for JSON of another form.
void assign(std::vector<std::vector<std::string>>& member, const Value& value);  // a list of lists of words
void assign(std::map<std::int64_t, double>& member, const Value& value);  // an object: steps >= 0 to numbers >= 0
Value value_of(const std::vector<std::vector<std::string>>& member);
Value value_of(const std::map<std::int64_t, double>& member);

template <typename Enum> std::vector<std::string_view> choices_of() {
    constexpr auto kNames = spellings(Enum{});
    return {kNames.begin(), kNames.end()};
}

template <typename T> struct WithoutOptional { using Type = T; };
template <typename T> struct WithoutOptional<std::optional<T>> { using Type = T; };

template <typename T> constexpr Type type_of() {
    if constexpr (std::is_enum_v<T>) return Type::choice;
    if constexpr (std::is_same_v<T, bool>) return Type::boolean;
    if constexpr (std::is_same_v<T, std::int64_t>) return Type::integer;
    if constexpr (std::is_same_v<T, double>) return Type::number;
    if constexpr (std::is_same_v<T, std::string>) return Type::text;
    if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return Type::integers;
    if constexpr (std::is_same_v<T, std::vector<double>>) return Type::numbers;
    if constexpr (std::is_same_v<T, std::vector<std::string>>) return Type::texts;
    return Type::structure;
}

template <typename T> struct ClassOfMember;
template <typename Class, typename Member> struct ClassOfMember<Member Class::*> { using Type = Class; };

/// The struct in which a member path starts: Settings itself, or the task's own settings.
template <typename Root, typename SettingsOrConst> auto& root_of(SettingsOrConst& settings) {
    if constexpr (std::is_same_v<Root, Settings>) {
        return settings;
    } else {
        return settings.task.template as<Root>();
    }
}

/// to<&Settings::comm, &comm::CommSettings::wire>() is settings.comm.wire. If the first member belongs to a task's
/// settings struct, the binding reads and writes settings.task.
template <auto kFirst, auto... kPath> constexpr Binding to() {
    using Root = typename ClassOfMember<decltype(kFirst)>::Type;
    using Member = std::remove_cvref_t<decltype(((std::declval<Root&>().*kFirst).*....*kPath))>;
    using Content = typename WithoutOptional<Member>::Type;
    Binding binding{
        [](const Settings& settings) { return value_of(((root_of<Root>(settings).*kFirst).*....*kPath)); },
        [](Settings& settings, const Value& value) { assign(((root_of<Root>(settings).*kFirst).*....*kPath), value); },
        type_of<Content>(), [] { return value_of(((Root().*kFirst).*....*kPath)); }};
    if constexpr (std::is_enum_v<Content>) binding.choices = choices_of<Content>;
    return binding;
}

/// The negated value: for a flag whose member has the opposite meaning.
template <auto kFirst, auto... kPath> constexpr Binding to_opposite() {
    using Root = typename ClassOfMember<decltype(kFirst)>::Type;
    return {[](const Settings& settings) { return Value(!((root_of<Root>(settings).*kFirst).*....*kPath)); },
            [](Settings& settings, const Value& value) {
                ((root_of<Root>(settings).*kFirst).*....*kPath) = !std::get<bool>(value);
            },
            Type::boolean, [] { return Value(!((Root().*kFirst).*....*kPath)); }};
}

/// Bit masks represent sets of commands, of backends and of kinds of data.
template <typename E> constexpr std::uint32_t bit(E value) {
    return 1U << static_cast<std::uint32_t>(value);
}
inline constexpr std::uint32_t kAll = ~0U;
inline constexpr std::uint32_t kT = bit(Command::train);
inline constexpr std::uint32_t kV = bit(Command::validation);
inline constexpr std::uint32_t kE = bit(Command::inference);
inline constexpr std::uint32_t kR = bit(Command::restore);
inline constexpr std::uint32_t kTVE = kT | kV | kE;
inline constexpr std::uint32_t kIpu = bit(backend::BackendKind::ipu);
inline constexpr std::uint32_t kCpu = bit(backend::BackendKind::cpu);

/// A condition on another option: its value is in `values`, or, if `values` is empty, differs from its default.
struct Need {
    std::string_view key;
    std::vector<std::string_view> values = {};
};

/// The record of the value in a run's arguments.json, and its use in an evaluation of the run's checkpoints
/// (validation, inference). A value on the evaluation's own line always wins.
enum class Recorded : std::uint8_t {
    if_numeric,  // taken if it changes the numbers of the evaluation, which reports another value on the line
    taken,       // taken; the line may well have another one
    ignored,     // recorded; each call has its own
    never,       // not recorded: the option is for this call only (printing, trusting a file)
};

/// Kinds of files that a text names.
enum class Names : std::uint8_t {
    nothing,
    path,           // a file or folder; arguments.json stores its absolute path
    expanded_path,  // the same; environment variables ($NAME) are replaced
    data,           // the data folder; no notice if a configuration sets it
};

/// The processes with which an option has an effect.
enum class Processes : std::uint8_t { any, several, several_or_replicas };  // replicas count with --backend ipu only

/// Conditions under which an option has an effect (checks.cpp). Otherwise the user gets a notice.
struct Acts {
    std::uint32_t in = kAll;           // commands in which it has an effect
    std::uint32_t on_backends = kAll;  // backends that it steers; such as kIpu: its compiler or memory
    std::uint32_t on = kAll;           // kinds of data, as defined by the task (TaskOptions::data_reason);
    std::uint32_t on_in = kAll;        // commands in which `on` counts; in others the option acts on all data
    std::string_view on_reason = {};   // why it has no effect on other data; empty: the task gives the reason
    std::vector<Need> needs = {};      // at least one of these must hold, if any are listed
    Processes processes = Processes::any;
    std::string_view never = {};         // why the option never has an effect; empty if it can have one
    std::string_view never_on_ipu = {};  // the same for --backend ipu
};

/// A part of an option that this version lacks.
struct Missing {
    std::string_view capability = {};  // of the whole option, or
    std::vector<std::string_view> choices = {};
    std::uint32_t in = kT;  // commands in which it would matter
};

struct Alias {
    std::string_view flag;
    std::string_view fixed_value = {};  // if set, the alias takes no value and stands for this one
};

struct Range {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};
constexpr Range at_least(double low) {
    return {.low = low};
}
constexpr Range between(double low, double high) {
    return {low, high};
}
// Upper limits of sensible single values. base/checked.h guards against overflow of their products.
inline constexpr double kMostIterations = 1e12;
inline constexpr double kMostEpochs = 1e9;
inline constexpr double kMostReplicas = 1e6;
inline constexpr double kMostChannels = 4096;
inline constexpr double kMostThreads = 4096;  // on any machine; checks.cpp holds the limit of this machine
inline constexpr double kMostBytes = 1e15;
inline constexpr Range kExponents{-126, 127};  // powers of two that float32 can represent
inline constexpr Range kDropped{0, 0.999999};  // below 1, so that something remains

struct Option {
    std::string_view flag = {};
    // Type, default and choices are those of the bound member, unless they are given here.
    Type type = Type::of_member;  // without a member: boolean
    Value fallback = {};          // the default; Unset: the member's
    std::string_view help = {};
    std::string_view unit = {};
    std::vector<Alias> aliases = {};
    std::vector<std::string_view> choices = {};
    Range range = {};  // of a number, or of each number in a list; a non-integer must also fit into float32
    std::uint32_t commands = kTVE;       // commands that accept the option
    std::uint32_t main_in = 0;           // those whose short help (--help alone) lists it
    std::vector<Need> exists_with = {};  // the option exists only if all of these hold
    Acts acts = {};
    bool numerics = false;  // changes numerical results
    Recorded recorded = Recorded::if_numeric;
    bool off_switch = false;  // a boolean documented by its --no- form
    Names names = Names::nothing;
    Missing missing = {};
    Binding bind = {};  // the member of Settings; none: only the record has the value
    // Filled in by OptionSet:
    std::string_view group = {};        // title of its help group
    std::string_view shared_flag = {};  // flag of the original row in task_options.h; otherwise its own flag
};

/// A shared row with a task's own default, help or binding.
template <typename Change> Option changed(Option row, const Change& change) {
    change(row);
    return row;
}

struct OptionGroup {
    std::string_view title;
    std::vector<Option> options;
};

/// Title of the group of options that the original programs lack. An abbreviated flag matches other groups first.
inline constexpr std::string_view kThisProgram = "This program";
/// Title of the group of shared_head_options().
inline constexpr std::string_view kHeadGroup = "Last layer from features";

/// All options of a task, in the order of the help text.
class OptionSet {
public:
    explicit OptionSet(std::vector<OptionGroup> groups);
    OptionSet(const OptionSet&) = delete;  // other objects hold addresses of the rows
    OptionSet& operator=(const OptionSet&) = delete;
    ~OptionSet() = default;

    const std::vector<Option>& rows() const { return rows_; }
    /// The option with this key or old name; for an old name, `*alias` is set. nullptr if there is none.
    const Option* with_key(std::string_view key, const Alias** alias) const;
    /// The option with this key, or nullptr.
    const Option* find(std::string_view key) const;
    /// The option with this key. Error(internal) if there is none.
    const Option& at(std::string_view key) const;
    /// The row derived from the shared row with this flag, or nullptr.
    const Option* with_shared(std::string_view flag) const;
    /// The row derived from the shared row with this flag. Error(internal) if there is none.
    const Option& of_shared(std::string_view flag) const;
    /// Keys of the options whose values decide which other options exist.
    const std::vector<std::string_view>& selectors() const { return selectors_; }

private:
    std::vector<Option> rows_;
    std::vector<std::string_view> selectors_;
};

/// True if `value`, a value of `option`, satisfies `need`.
bool allows(const Need& need, const Option& option, const Value& value);

/// The option's key in configuration files and in arguments.json.
std::string key(const Option& option);
/// The opposite form of a boolean flag: "--validation" and "--no-validation" map to each other.
std::string negated(std::string_view flag);
/// The flag shown in help and messages: the --no- form of an off switch.
std::string documented_flag(const Option& option);

bool is_boolean(const Option& option);
inline bool is_action(const Option& option) {
    return option.recorded == Recorded::never;
}
inline bool is_path(const Option& option) {
    return option.names != Names::nothing;
}
bool is_list(const Option& option);

/// The rows of all parts, in order.
std::vector<Option> concatenated(std::vector<std::vector<Option>> parts);
/// `rows`, all of which change numerical results.
std::vector<Option> numeric(std::vector<Option> rows);
/// `rows` in which the one with this flag is changed().
template <typename Change>
std::vector<Option> with_change(std::vector<Option> rows, std::string_view flag, const Change& change) {
    for (Option& row : rows)
        if (row.flag == flag) change(row);
    return rows;
}
/// `rows` with `more` inserted after the row with this flag. Error(internal) if there is none.
std::vector<Option> with_behind(std::vector<Option> rows, std::string_view flag, std::vector<Option> more);

}  // namespace cnntrain::options
