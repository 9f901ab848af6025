// Command lines of commands without model options: `--flag value`, `--flag=value` and switches. Underscores in flag
// names are read as hyphens, because the original scripts use underscores.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/commands.h"

namespace cnntrain::cli {

/// Throws Error(usage).
[[noreturn]] void refuse_line(const std::string& message);

struct Flag {
    std::string_view name;      // "--output-dir"; a name without hyphens ("PATH") stands for a positional word
    std::string_view fallback;  // value if the flag is not given
    std::string_view help;
    std::string_view alias = {};  // another accepted name, not shown in help
    bool is_switch = false;       // the flag takes no value
    bool is_rare = false;         // only --help-all shows it
};

/// A flag without a value.
constexpr Flag toggle(std::string_view name, std::string_view help) {
    return {name, "", help, {}, true};
}

/// The flag, shown by --help-all only.
constexpr Flag rare(Flag flag) {
    flag.is_rare = true;
    return flag;
}

/// The flags of a command, and the lines of its help after the flags: an empty one, explanations, examples.
struct CommandFlags {
    std::vector<Flag> flags;
    std::string more = {};
};

options::HelpPage help_page(const CommandFlags& table, const std::string& called);

/// Removes a leading command of a line and returns it; without one, it is train. Error(usage), which `expected` begins,
/// for others than the allowed ones.
options::Command leading_command(std::vector<std::string>& line, const std::vector<options::Command>& allowed,
                                 const std::string& expected);

/// The row of commands that write checkpoints; read by Flags::wants_f32().
inline constexpr Flag kCheckpointDtypeFlag = {
    "--checkpoint-dtype", "stored",
    "stored: each variable in its own type; f32: 16-bit variables as float32, for programs without bfloat16"};

class Flags {
public:
    /// True if `word`, read where a flag may stand, belongs to another command. `follows`: so did the previous word.
    using Foreign = std::function<bool(const std::string& word, bool follows)>;

    /// Parsing stops at --help, -h or --help-all. Throws Error(usage) for unknown flags, naming the nearest one, and
    /// for missing values.
    Flags(CommandFlags table, std::string command, const std::vector<std::string>& arguments,
          const Foreign& foreign = {});

    /// The part of the help that is asked for, if any.
    const std::optional<options::HelpWish>& help_wish() const { return help_wish_; }
    /// If help was asked for, prints it and returns true.
    bool print_help_if_wanted() const;
    const std::string& command() const { return command_; }         // as help shows it
    const std::vector<std::string>& rest() const { return rest_; }  // the words of the other command

    bool given(std::string_view name) const;  // true if on the command line, or if it has a fallback
    /// Error(usage) if the flag is not given and has no fallback.
    const std::string& text(std::string_view name) const;
    /// Error(usage) unless the value is a whole number in [least, most].
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most = kMost) const;
    /// Error(usage) unless the value is a number in [least, most].
    double number(std::string_view name, double least, double most) const;
    /// The value of --threads; 0 means one thread per processor.
    int threads() const;
    /// True for --checkpoint-dtype f32. Error(usage) unless the value is stored or f32.
    bool wants_f32() const;
    /// A number of output files, at least 1.
    int files(std::string_view name) const { return static_cast<int>(integer(name, 1, 1'000'000)); }

private:
    static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

    CommandFlags table_;
    std::string command_;
    std::map<std::string, std::string, std::less<>> values_;
    std::vector<std::string> rest_;
    std::optional<options::HelpWish> help_wish_;
};

}  // namespace cnntrain::cli
