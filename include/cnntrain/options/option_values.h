// The values of one command's options during resolution, each with its source.
#pragma once

#include <cstdint>
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

class OptionValues {
public:
    /// Starts with all options at their defaults.
    explicit OptionValues(const std::vector<const Option*>& options, const Launch& launch = {});

    const Launch& launch() const { return launch_; }

    void apply(const Layer& layer, Source source);
    void set(std::string_view key, Value value, Source source);
    void reset(std::string_view key);  // back to the default

    bool has(std::string_view key) const;  // true if the command accepts the option
    const ResolvedOption& at(std::string_view key) const;
    /// True if the user set the value on the command line, in a configuration or in the environment.
    bool given(std::string_view key) const;

    // The option's value; false, 0 or empty if it is unset or the command does not accept the option.
    bool flag(std::string_view key) const;
    std::int64_t integer(std::string_view key) const;
    double number(std::string_view key) const;
    std::string text(std::string_view key) const;
    std::vector<std::string> texts(std::string_view key) const;
    std::vector<double> numbers(std::string_view key) const;
    bool is_set(std::string_view key) const;

    const std::vector<ResolvedOption>& all() const { return values_; }

private:
    ResolvedOption& slot(std::string_view key);
    template <typename T> T value_or_empty(std::string_view key) const;

    Launch launch_;
    std::vector<ResolvedOption> values_;
    std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace cnntrain::options
