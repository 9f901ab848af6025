// The table of poprun's options, and the values given on a command line or in a file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/launch/poprun.h"

namespace cnntrain::launch {

// Names of hosts and networks.

/// "a,node[0-2,4]" gives a, node0, node1, node2, node4; numbers keep leading zeros. Throws Error(usage).
std::vector<std::string> expand_hosts(std::string_view list);

/// The first word of each line; "#" starts a comment.
std::vector<std::string> hosts_of_file(std::string_view text);

/// Why this text cannot be a host: a placeholder, a variable that was not replaced, a malformed address. "" if it can
/// be.
std::string why_no_host(const std::string& name);

/// The same check for the networks of options like btl_tcp_if_include: "eth0,10.1.0.0/16".
std::string why_no_networks(const std::string& list);
/// Accepts placeholders and variables: a launch on one host chooses no network, and documented lines have them.
std::string why_malformed_networks(const std::string& list);

enum class Takes {
    nothing,  // a switch
    boolean,  // yes or no, in several spellings; the value is required
    number,   // not less than the option's `least`
    text,
    words,  // for mpirun: may start with a hyphen; repeated options append more words
};

/// An option's value, parsed according to the option's type.
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
    std::string_view help = {};  // empty: the option only steers IPUs
    void (*apply)(PoprunRequest& request, const OptionValue& value) = nullptr;
    bool in_files = true;  // allowed in settings files
    bool is_main = true;   // listed by --help; the others by --help-all
};

std::span<const PoprunOption> poprun_options();

/// An option and its value, from a command line or a file.
struct GivenOption {
    const PoprunOption* option = nullptr;
    std::string text;
    std::string flag;  // its name
};

/// Represents all options of the V-IPU server that have no row.
extern const PoprunOption kOtherVipu;

/// Null if there is none.
const PoprunOption* option_named(std::string_view flag);

/// True if the option only steers IPUs and their server.
inline bool is_for_ipus(const PoprunOption& option) {
    return option.help.empty();
}

/// Throws Error(usage) if the option does not accept the text.
OptionValue read_value(const GivenOption& given);

/// Reads a settings file: a mapping from flags without hyphens to values. Throws Error(usage) and Error(data).
std::vector<GivenOption> read_settings(const std::string& path, const FileSystem& files);
/// The inverse of read_settings().
std::string settings_text(const std::vector<GivenOption>& given);

[[noreturn]] void refuse_line(const std::string& message);

}  // namespace cnntrain::launch
