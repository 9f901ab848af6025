// One row of a table of options. Parser, configuration reader, help, arguments.json and provenance read these rows and
// nothing else. A task's table is made of the rows that all tasks share (shared_options.h) and of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/settings.h"
#include "cnntrain/config/binding.h"
#include "cnntrain/config/commands.h"
#include "cnntrain/config/value.h"

namespace cnntrain::config {

enum class Type : std::uint8_t {
    boolean,        // --x, --no-x
    boolean_value,  // --x, --no-x, --x true, --x false
    integer,
    number,
    text,
    choice,    // one of `choices`, in any case
    integers,  // lists take every word up to the next option
    numbers,   // ... also separated by commas
    texts,
    patterns,   // names of files with wildcards: every word up to the next option; one text, with commas between
    structure,  // nested lists or an object, as JSON text
};

/// Sets are bit masks: of commands, backends and kinds of data.
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

/// What another option must be: one of these values, or anything but its default.
struct Need {
    std::string_view key;
    std::vector<std::string_view> values = {};
};

struct Alias {
    std::string_view flag;
    std::string_view fixed_value = {};  // when set, the alias takes no value and means this one
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
// Beyond these nothing sensible can be asked for. That several of them fit together is for base/checked.h to see.
inline constexpr double kMostIterations = 1e12;
inline constexpr double kMostEpochs = 1e9;
inline constexpr double kMostReplicas = 1e6;
inline constexpr double kMostChannels = 4096;
inline constexpr double kMostThreads = 4096;  // of any machine; this one's are in shared_checks.cpp
inline constexpr double kMostBytes = 1e15;
inline constexpr Range kExponents{-126, 127};  // powers of 2 that a 32-bit float holds
inline constexpr Range kDropped{0, 0.999999};  // something must be left

struct Option {
    std::string_view flag = {};
    Type type = Type::boolean;
    Value fallback = {};  // the default; std::monostate: none, or the model's
    std::string_view help = {};
    std::string_view unit = {};
    std::vector<Alias> aliases = {};
    std::vector<std::string_view> choices = {};
    Range range = {};  // of numbers, or of each in a list; besides, a number that is not whole fits into 32 bits
    std::uint32_t commands = kTVE;       // that take it
    std::vector<Need> exists_with = {};  // it is no option at all unless all these hold
    // Where it changes something (acting.cpp); where it does not, its user is told so.
    std::uint32_t acts_in = kAll;           // commands
    std::uint32_t acts_on_backends = kAll;  // all, or kIpu: it steers the IPU's compiler or memory
    std::uint32_t acts_on = kAll;           // kinds of data, which the task tells apart (TaskOptions::data_reason),
    std::uint32_t acts_on_in = kAll;        // in these commands; any in the others
    std::string_view acts_on_reason = {};   // why not on others; empty: the task says it
    std::vector<Need> needs = {};           // one of these, if there are any
    bool needs_processes = false;           // more than one
    std::string_view idle = {};             // why it never does
    bool numerics = false;                  // changes the numbers that a run computes
    bool off_switch = false;                // a boolean whose documented flag is the --no- form
    bool action = false;                    // for this one call (printing, trusting); no part of a run's arguments
    bool names_data = false;                // says where the data are, in configurations for all kinds of data alike
    bool path = false;                      // a file or a folder: arguments.json has its name from the root on
    bool expands = false;                   // variables of the environment in it are replaced ($NAME)
    std::string_view missing = {};          // the capability this version does not have, or
    std::vector<std::string_view> missing_choices = {};  // the choices that it does not have
    std::uint32_t missing_in = kT;                       // commands on which these have an effect
    Binding bind = {};                                   // where it stands in Settings, if one member holds it
    // Filled in by OptionSet:
    std::string_view group = {};        // its title in help
    std::string_view shared_flag = {};  // what shared_options.h calls it; its own flag where it is no shared row
};

/// Changes to a shared row. Members that are not set keep the row's values.
struct Refinement {
    std::optional<std::string_view> flag = {};
    std::optional<Type> type = {};
    std::optional<Value> fallback = {};
    std::optional<std::string_view> help = {};
    std::optional<std::string_view> unit = {};
    std::optional<std::vector<Alias>> aliases = {};
    std::optional<std::vector<std::string_view>> choices = {};
    std::optional<Range> range = {};
    std::optional<std::uint32_t> acts_on = {};
    std::optional<std::uint32_t> acts_on_in = {};
    std::optional<std::string_view> acts_on_reason = {};
    std::optional<std::vector<Need>> needs = {};
    std::optional<std::string_view> idle = {};
    std::optional<bool> numerics = {};
    std::optional<bool> expands = {};
    std::optional<std::vector<std::string_view>> missing_choices = {};
    std::optional<Binding> bind = {};
};
Option refine(Option row, const Refinement& change);

struct OptionGroup {
    std::string_view title;
    std::vector<Option> options;
};

/// The group of options that the original programs do not have: abbreviated flags mean these last.
inline constexpr std::string_view kThisProgram = "This program";

/// Every option of a task, in the order of help.
class OptionSet {
public:
    explicit OptionSet(std::vector<OptionGroup> groups);
    OptionSet(const OptionSet&) = delete;  // others keep addresses of its rows
    OptionSet& operator=(const OptionSet&) = delete;
    ~OptionSet() = default;

    const std::vector<Option>& rows() const { return rows_; }
    /// By its key or an old name's, which `alias` then receives; nullptr when there is none.
    const Option* with_key(std::string_view key, const Alias** alias) const;
    /// By its key; nullptr when there is none.
    const Option* find(std::string_view key) const;
    /// Error(internal) when there is none.
    const Option& at(std::string_view key) const;
    /// The row that says here what this shared one says; nullptr when there is none.
    const Option* with_shared(std::string_view flag) const;
    /// Error(internal) when there is none.
    const Option& of_shared(std::string_view flag) const;
    /// Keys of the options that decide which others exist.
    const std::vector<std::string_view>& selectors() const { return selectors_; }

private:
    std::vector<Option> rows_;
    std::vector<std::string_view> selectors_;
};

/// Does the option's value meet the need?
bool allows(const Need& need, const Option& option, const Value& value);

/// Key in configuration files and arguments.json.
std::string key(const Option& option);
/// "--validation" and "--no-validation"; "--no-dataset-cache" and "--dataset-cache".
std::string negated(std::string_view flag);
/// The flag as documented: the --no- form of an off switch.
std::string documented_flag(const Option& option);

bool is_boolean(const Option& option);
bool is_list(const Option& option);

/// One after the other.
std::vector<Option> joined(std::vector<std::vector<Option>> parts);
/// `rows` with `more` behind the one with this flag; Error(internal) when there is none.
std::vector<Option> with_behind(std::vector<Option> rows, std::string_view flag, std::vector<Option> more);

}  // namespace cnntrain::config
