// The values of one command's options during resolution, each with its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/option.h"

namespace cnntrain::options {

struct ResolvedOption {
    const Option* option;
    Value value;
    Source source;
};

/// Values that the launcher (mpirun, srun, poprun) set for this run.
struct Launch {
    std::int64_t processes = 1;                 // number of processes that share each weight update, or a validation
    std::int64_t index = 0;                     // index of this process
    std::optional<std::int64_t> replicas = {};  // replicas per process, set by poprun only
};

/// Option values from one source.
using Layer = std::map<const Option*, Value>;

/// The settings of a command while its line is resolved, and who has set each of its options.
///
/// The member of an option without a value is empty: 0, "", an empty list. finished() gives it the value of new
/// settings.
class OptionValues {
public:
    /// Starts with all options at their defaults. `own`: new settings of the task.
    OptionValues(const std::vector<const Option*>& options, TaskSettings own, const Launch& launch = {});

    const Settings& settings() const { return settings_; }
    const Launch& launch() const { return launch_; }

    void apply(const Layer& layer, Source source);
    void set(std::string_view key, const Value& value, Source source);
    void reset(std::string_view key);  // back to the default

    bool has(std::string_view key) const;  // true if the command accepts the option
    const Option& option(std::string_view key) const;
    Source source(std::string_view key) const;
    ResolvedOption at(std::string_view key) const;
    /// True if the user set the value on the line, in a configuration or in the environment.
    bool given(std::string_view key) const;
    /// True if the option has a value.
    bool is_set(std::string_view key) const;

    /// All options in table order.
    std::vector<ResolvedOption> all() const;
    Settings finished() const;

private:
    struct Entry {
        const Option* option;
        Source source = Source::default_value;
        Value unbound = {};  // of an option without a member
    };

    Entry& entry(std::string_view key);
    const Entry& entry(std::string_view key) const;
    void write(Entry& entry, const Value& value);
    ResolvedOption resolved(const Entry& entry) const;

    Launch launch_;
    Settings settings_;
    std::vector<Entry> entries_;
    std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace cnntrain::options
