// The commands of cnntrain and the names of the original scripts that select them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::options {

enum class Command : std::uint8_t {
    train,
    validation,
    restore,
    inference,
    pretrain,
    average,
    analyse,
    dataset,
    benchmark,
    poprun,
    convert,
    report,
    weights,
    profile,
    plan,
    demo,
    quantise,
};

struct CommandInfo {
    Command command;
    std::string_view name;
    std::vector<std::string_view> scripts;  // names of original scripts that select this command
    std::string_view help;
};

/// All commands, in the order of the help text.
const std::vector<CommandInfo>& commands();

const CommandInfo& info(Command command);
std::string_view name(Command command);

/// The command with this name or script name; a path that ends in a script name (`some/folder/train.py`) is accepted
/// too. Throws Error(usage) with the nearest name if no command matches.
Command command_named(std::string_view word);

/// Scripts of another project that this program can run in place of, although no command is named after them: training
/// and evaluation.
inline constexpr std::string_view kRecipeScripts[] = {"resnet_main.py", "resnet_eval.py"};

/// True if `word` is the name of a script that this program can run in place of, or a path that ends in such a name.
bool is_script(std::string_view word);

/// The reason why this program does not replace an original script (given by name or path); "" for any other word.
std::string_view why_not_here(std::string_view script);

// The help of a command, row by row. Help texts, completion and manual pages are made from it.
//
//   HelpPage page = help_page(task, Command::train, "cnntrain train");
//   std::cout << help_text(page, *help_wish({"--help", "model"}));

/// Title of the group of options that only steer IPUs, in every command.
inline constexpr std::string_view kIpuGroup = "IPU";

inline constexpr std::string_view kHelpFlag = "--help";
inline constexpr std::string_view kHelpAllFlag = "--help-all";

/// Number of words that an option takes in help.
enum class Arity : unsigned char {
    none,
    optional,  // "[true|false]"
    one,
    several,  // all words up to the next option
};

/// An option as help shows it.
struct HelpRow {
    std::string flag;  // "--no-validation"; a name without hyphens ("PATH") stands for a positional word
    Arity arity = Arity::none;
    std::string value = {};  // "N", "FILE"; empty if there is none
    std::vector<std::string> choices = {};
    bool path = false;         // the value names a file or a folder
    std::string summary = {};  // what it is for, in a sentence
    std::string help = {};     // all that there is to say
    std::string group = {};
    bool main = true;  // listed by --help alone
};

struct HelpPage {
    std::string called;              // "cnntrain train", "train.py"
    std::string operands = {};       // usage after the options: "program [arguments]"
    std::string summary = {};        // what the command does, a line
    std::string examples = {};       // lines
    std::vector<HelpRow> rows = {};  // rows of a group are neighbours
    std::string more = {};           // further lines, below the options
    std::string all_only = {};       // lines that only --help-all shows
};

/// The part of a page that a line asks for.
struct HelpWish {
    bool all = false;       // every option
    std::string part = {};  // a group, or an option; empty: the main options
};

/// True for --help, -h, --help=PART and --help-all.
bool asks_help(std::string_view word);
/// The help that a line asks for; empty if it asks for none. A word after --help that is no option names a part; "all"
/// stands for --help-all.
std::optional<HelpWish> help_wish(const std::vector<std::string>& words);

/// The groups of a page as --help takes them ("learning-rate-schedule"), in order; none if its options have no groups.
std::vector<std::string> help_groups(const HelpPage& page);

/// Moves options that belong to one group together; those of kIpuGroup come last.
void gather_groups(std::vector<HelpRow>& rows);

/// The text in lines of at most 100 columns.
std::string paragraph(const std::string& text);

/// Lines of at most 100 columns, except where a single word is longer. Throws Error(usage) for a part that the page
/// does not have, naming the nearest one.
std::string help_text(const HelpPage& page, const HelpWish& wish);

/// A name that is given in the place of a path of weights, and the network of the line; "" where it names none.
struct WeightsWish {
    std::string name;  // kDefaultWeights: those that are the network's by default
    std::string model = {};
    std::string size = {};
};
inline constexpr std::string_view kDefaultWeights = "(default)";

/// The path of weights with this name; "" if the name stands for itself.
using FindWeights = std::function<std::string(const WeightsWish& wish)>;

}  // namespace cnntrain::options
