// The command lines of commands whose options are not a model's: `--flag value`, `--flag=value` and switches. An
// underscore in a flag's name is read as a hyphen, as scripts spell them.
#pragma once

#include <cstdint>
#include <functional>
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
    /// Does another command read this word, in the place of a flag? `follows`: the word before it was such a word.
    using Foreign = std::function<bool(const std::string& word, bool follows)>;

    /// Nothing is read behind --help or -h. Error(usage) for unknown flags, with the nearest name, and for values that
    /// are missing.
    Flags(std::string command, std::vector<Flag> known, const std::vector<std::string>& arguments,
          const Foreign& foreign = {});

    bool wants_help() const { return wants_help_; }
    /// Was help asked for? Then it is printed, with `more` behind it.
    bool print_help_if_wanted(std::string_view more = "") const;
    const std::vector<std::string>& rest() const { return rest_; }  // the foreign words
    std::string help() const;

    bool given(std::string_view name) const;  // on the line, or with a fallback
    /// Error(usage) when it is neither given nor has a fallback.
    const std::string& text(std::string_view name) const;
    /// Error(usage) when it is not a whole number in [least, most].
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most = kMost) const;
    /// Error(usage) when it is not a number in [least, most].
    double number(std::string_view name, double least, double most) const;
    /// --threads; for 0 as many as there are processors.
    int threads() const;
    /// A number of files to write, from 1 on.
    int files(std::string_view name) const { return static_cast<int>(integer(name, 1, 1'000'000)); }

private:
    static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

    std::string command_;
    std::vector<Flag> known_;
    std::map<std::string, std::string, std::less<>> values_;
    std::vector<std::string> rest_;
    bool wants_help_ = false;
};

}  // namespace cnntrain::cli
