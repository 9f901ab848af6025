// The options of a poprun line as a table, and the values that a line or a file gives them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/launch/poprun.h"

namespace cnntrain::launch {

enum class Takes {
    nothing,  // a switch
    boolean,  // yes or no, in several spellings; never left out
    number,   // at least the option's `least`
    text,
    words,  // for mpirun: may begin with a hyphen, and be given again to add more
};

/// What an option is given, read as the option takes it.
struct OptionValue {
    std::string text;
    int number = 0;
    bool on = false;
};

struct PoprunOption {
    std::string_view flag;
    Takes takes = Takes::nothing;
    int least = 0;
    std::string_view placeholder = {};
    std::string_view help = {};  // empty: one of those that only steer IPUs
    void (*apply)(PoprunRequest& request, const OptionValue& value) = nullptr;
    bool in_files = true;  // may stand in a file of settings
};

std::span<const PoprunOption> poprun_options();

/// One option with its value, from a line or a file.
struct GivenOption {
    const PoprunOption* option = nullptr;
    std::string text;
    std::string flag;  // its name
};

/// Stands for every option of the V-IPU server that has no row.
extern const PoprunOption kOtherVipu;

/// Null when there is none.
const PoprunOption* option_named(std::string_view flag);

/// Does it only steer IPUs and their server?
inline bool is_for_ipus(const PoprunOption& option) {
    return option.help.empty();
}

/// Error(usage) when the text is none that the option takes.
OptionValue read_value(const GivenOption& given);

/// The settings of a file: a mapping of flags without their hyphens to values. Error(usage), Error(data).
std::vector<GivenOption> read_settings(const std::string& path, const FileSystem& files);
/// The inverse.
std::string settings_text(const std::vector<GivenOption>& given);

[[noreturn]] void refuse_line(const std::string& message);

}  // namespace cnntrain::launch
