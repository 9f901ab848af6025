// A small command line: `--flag value`, `--flag=value` and switches, for commands whose options are not a model's. An
// underscore in a flag's name is read as a hyphen, as scripts spell them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::cli {

struct Flag {
    std::string_view name;  // "--output-dir"; without the hyphens ("PATH") it is the word that has no flag before it
    std::string_view fallback;  // used when it is not given
    std::string_view help;
    std::string_view alias = {};  // another name; not listed
    bool is_switch = false;       // takes no value
};

class Flags {
public:
    /// Error(usage) for unknown flags, with the nearest name, and for values that are missing.
    Flags(std::string command, const std::vector<Flag>& known, const std::vector<std::string>& arguments);

    bool wants_help() const { return wants_help_; }
    std::string help() const;

    bool given(std::string_view name) const;  // on the line, or with a fallback
    /// Error(usage) when it is neither given nor has a fallback.
    const std::string& text(std::string_view name) const;
    /// Error(usage) when it is not a whole number in [least, most].
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most = kMost) const;
    /// Error(usage) when it is not a number in [least, most].
    double number(std::string_view name, double least, double most) const;

private:
    static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

    std::string command_;
    std::vector<Flag> known_;
    std::map<std::string, std::string, std::less<>> values_;
    bool wants_help_ = false;
};

}  // namespace cnntrain::cli
