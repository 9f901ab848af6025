// The values of one command's options while they are being worked out, each with who set it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/option.h"

namespace cnntrain::config {

struct ResolvedOption {
    const Option* option;
    Value value;
    Source source;
};

/// What a launcher has said about the processes of a run.
struct Launch {
    std::int64_t processes = 1;                 // that share each weight update, or a validation
    std::int64_t index = 0;                     // of this one
    std::optional<std::int64_t> replicas = {};  // of each process; poprun says so
};

/// Values from one source, by option.
using Layer = std::map<const Option*, Value>;

class OptionValues {
public:
    /// Every option at its default.
    explicit OptionValues(const std::vector<const Option*>& options, const Launch& launch = {});

    const Launch& launch() const { return launch_; }

    void apply(const Layer& layer, Source source);
    void set(std::string_view key, Value value, Source source);
    void reset(std::string_view key);  // to the default

    bool has(std::string_view key) const;  // does the command take it?
    const ResolvedOption& at(std::string_view key) const;
    /// Set by the user: on the command line, in a configuration or by the environment.
    bool given(std::string_view key) const;

    // The value of an option that the command may not take: then, and when unset, false, 0 or empty.
    bool flag(std::string_view key) const;
    std::int64_t integer(std::string_view key) const;
    double number(std::string_view key) const;
    std::string text(std::string_view key) const;
    std::vector<std::string> texts(std::string_view key) const;
    bool is_set(std::string_view key) const;

    const std::vector<ResolvedOption>& all() const { return values_; }

private:
    ResolvedOption& slot(std::string_view key);
    template <typename T> T value_or_empty(std::string_view key) const;

    Launch launch_;
    std::vector<ResolvedOption> values_;
    std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace cnntrain::config
