#include "cli/installed_texts.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <utility>

#include "cli/help.h"
#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/options/line.h"

namespace cnntrain::cli {
namespace {

using launch::single_quoted;
using options::Arity;
using options::HelpRow;

using Pages = std::vector<CommandPage>;
using Words = std::vector<std::string>;

constexpr std::string_view kDataset = "dataset ";

/// A word with its description.
struct Described {
    std::string word;
    std::string text;
};

/// The words after "cnntrain".
std::vector<Described> first_words(const Pages& pages) {
    std::vector<Described> words;
    for (const CommandPage& page : pages) {
        const bool kind = page.command.starts_with(kDataset);
        const bool another_kind = kind && words.back().word == "dataset";
        if (!another_kind) {
            words.push_back(kind ? Described{"dataset", "write and inspect data sets"}
                                 : Described{page.command, page.summary});
        }
    }
    words.push_back({"help", "topics and the options of commands"});
    return words;
}

std::vector<Described> kinds(const Pages& pages) {
    std::vector<Described> words;
    for (const CommandPage& page : pages) {
        if (page.command.starts_with(kDataset)) words.push_back({page.command.substr(kDataset.size()), page.summary});
    }
    return words;
}

Words only_words(const std::vector<Described>& described) {
    Words words;
    std::ranges::transform(described, std::back_inserter(words), &Described::word);
    return words;
}

Words help_words(const Pages& pages, const Words& topics) {
    Words words = only_words(first_words(pages));
    words.pop_back();  // help
    words.insert(words.end(), topics.begin(), topics.end());
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
}

bool is_flag(const HelpRow& row) {
    return row.flag.starts_with('-');
}

bool takes_files(const CommandPage& page) {
    return !page.page.operands.empty() || !std::ranges::all_of(page.page.rows, is_flag);
}

std::string first_sentence(const HelpRow& row) {
    const std::size_t end = row.help.find(". ");
    return row.help.substr(0, end);
}

// bash ---------------------------------------------------------------------------------------------------------------

/// "case" rows that set `kind` for options of one command.
std::string bash_kinds(const std::vector<HelpRow>& rows) {
    std::vector<std::pair<std::string, Words>> lists = {{"path", {}}, {"paths", {}}, {"value", {}}, {"values", {}}};
    std::string text;
    for (const HelpRow& row : rows) {
        if (!is_flag(row) || row.arity == Arity::none) continue;
        const bool several = row.arity == Arity::several;
        Words choices = row.choices;
        if (row.arity == Arity::optional) choices = {"true", "false"};
        if (!choices.empty()) {
            text += "                " + row.flag + ") kind=" + (several ? "choices" : "choice") +
                    " words=" + single_quoted(joined(choices, " ")) + " ;;\n";
            continue;
        }
        lists[(row.path ? 0U : 2U) + (several ? 1U : 0U)].second.push_back(row.flag);
    }
    for (const auto& [kind, flags] : lists) {
        if (!flags.empty()) text += "                " + joined(flags, " | ") + ") kind=" + kind + " ;;\n";
    }
    return text;
}

std::string bash_command(const CommandPage& page) {
    Words flags;
    for (const HelpRow& row : page.page.rows) {
        if (is_flag(row)) flags.push_back(row.flag);
    }
    std::string text =
        "        " + single_quoted(page.command) + ")\n            options=" + single_quoted(joined(flags, " ")) + "\n";
    if (takes_files(page)) text += "            operands=path\n";
    const std::string kinds_of_flags = bash_kinds(page.page.rows);
    if (!kinds_of_flags.empty()) text += "            case $flag in\n" + kinds_of_flags + "            esac\n";
    return text + "            ;;\n";
}

/// "case" rows from names of original scripts to commands; `indent`: of the rows.
std::string script_rows(const Pages& pages, const std::string& indent) {
    std::string text;
    for (const CommandPage& page : pages) {
        if (!page.scripts.empty())
            text += indent + joined(page.scripts, " | ") + ") command=" + single_quoted(page.command) + " ;;\n";
    }
    return text;
}

constexpr std::string_view kBashStart =
    R"sh(# Completion of cnntrain in bash, written by: cnntrain help --completion bash

_cnntrain() {
    local command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} first=2
    local options='' operands='' flag='' kind='' words='' distance=0 i
    COMPREPLY=()
    if [[ ${COMP_WORDS[0]##*/} == poprun ]]; then
        command=poprun first=1
    elif ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W @FIRST@ -- "$current"))
        return
    fi
    command=${command##*/}
    if [[ $command == dataset ]]; then
        if ((COMP_CWORD == 2)); then
            COMPREPLY=($(compgen -W @KINDS@ -- "$current"))
            return
        fi
        command="dataset ${COMP_WORDS[2]}" first=3
    elif [[ $command == help ]]; then
        ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W @HELP@ -- "$current"))
        return
    fi
    case $command in
)sh";

constexpr std::string_view kBashEnd = R"sh(    esac
    # "=" stands between an option and its value as a word of its own.
    if [[ $current == = ]]; then
        current=''
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        ((--distance))
    fi
    ((distance > 1)) && [[ $kind != *s ]] && kind=''
    if [[ -z $kind && $current != -* ]]; then
        kind=$operands
    fi
    case $kind in
        choice | choices) [[ $current != -* ]] && COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
        path | paths)
            if [[ $current != -* ]]; then
                compopt -o filenames 2> /dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
            fi
            ;;
        value | values) ;;
        *) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    fi
}
complete -F _cnntrain cnntrain poprun
)sh";

constexpr std::string_view kBashFlag = R"sh(    esac
    # The option whose value may be the word at the cursor: the last one before it.
    for ((i = COMP_CWORD - 1; i >= first; --i)); do
        if [[ ${COMP_WORDS[i]} == -* ]]; then
            flag=${COMP_WORDS[i]} distance=$((COMP_CWORD - i))
            break
        fi
    done
    case $command in
)sh";

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
    const std::size_t at = text.find(mark);
    CNNTRAIN_CHECK(at != std::string::npos, "a template without " + mark);
    return text.replace(at, mark.size(), by);
}

std::string bash_script(const Pages& pages, const Words& topics) {
    std::string text(kBashStart);
    text = replaced(text, "@FIRST@", single_quoted(joined(only_words(first_words(pages)), " ")));
    text = replaced(text, "@KINDS@", single_quoted(joined(only_words(kinds(pages)), " ")));
    text = replaced(text, "@HELP@", single_quoted(joined(help_words(pages, topics), " ")));
    text += script_rows(pages, "        ") + std::string(kBashFlag);
    for (const CommandPage& page : pages)
        text += bash_command(page);
    return text + std::string(kBashEnd);
}

// fish ---------------------------------------------------------------------------------------------------------------

/// Quotes a text for fish, which interprets only \\ and \' between single quotes.
std::string fish_quoted(std::string_view text) {
    std::string result = "'";
    for (const char letter : text) {
        if (letter == '\'' || letter == '\\') result += '\\';
        result += letter;
    }
    return result + "'";
}

std::string fish_option(const std::string& condition, const HelpRow& row) {
    std::string text = "complete " + condition;
    if (row.flag.starts_with("--")) {
        text += " -l " + row.flag.substr(2);
    } else {
        text += (row.flag.size() == 2 ? " -s " : " -o ") + row.flag.substr(1);
    }
    if (row.arity == Arity::optional) {
        text += " -f -a 'true false'";
    } else if (row.arity != Arity::none && !row.choices.empty()) {
        text += " -x -a " + fish_quoted(joined(row.choices, " "));
    } else if (row.arity != Arity::none) {
        text += row.path ? " -r -F" : " -x";
    }
    return text + " -d " + fish_quoted(first_sentence(row)) + "\n";
}

constexpr std::string_view kFishStart =
    R"sh(# Completion of cnntrain in fish, written by: cnntrain help --completion fish

# True if the line is of this command; without arguments, if it has none yet.
function __cnntrain_is
    set -l words (commandline -opc)
    set -l command (string replace -r '.*/' '' -- "$words[2]")
    switch "$command"
@SCRIPTS@        case dataset
            test (count $words) -gt 2; and set command "dataset $words[3]"
    end
    test "$command" = "$argv[1]"
end

complete -c cnntrain -f
)sh";

std::string fish_rows(const std::string& condition, const CommandPage& page) {
    std::string text;
    if (takes_files(page)) text += "complete " + condition + " -F\n";
    for (const HelpRow& row : page.page.rows) {
        if (is_flag(row)) text += fish_option(condition, row);
    }
    return text;
}

std::string fish_script(const Pages& pages, const Words& topics) {
    std::string scripts;
    for (const CommandPage& page : pages) {
        if (page.scripts.empty()) continue;
        scripts += "        case " + joined(page.scripts, " ") + "\n            set command " +
                   single_quoted(page.command) + "\n";
    }
    std::string text = replaced(std::string(kFishStart), "@SCRIPTS@", scripts);
    const auto add = [&](const std::string& condition, const std::vector<Described>& words) {
        for (const Described& word : words) {
            text += "complete -c cnntrain -n " + single_quoted(condition) + " -a " + fish_quoted(word.word) + " -d " +
                    fish_quoted(word.text) + "\n";
        }
    };
    add("__cnntrain_is", first_words(pages));
    add("__cnntrain_is dataset", kinds(pages));
    text +=
        "complete -c cnntrain -n '__cnntrain_is help' -a " + fish_quoted(joined(help_words(pages, topics), " ")) + "\n";
    for (const CommandPage& page : pages) {
        text +=
            fish_rows("-c cnntrain -n " + single_quoted("__cnntrain_is " + (page.command.find(' ') == std::string::npos
                                                                                ? page.command
                                                                                : "\"" + page.command + "\"")),
                      page);
        if (page.command == "poprun") text += fish_rows("-c poprun", page);
    }
    return text;
}

// zsh ----------------------------------------------------------------------------------------------------------------

std::string shell_escaped(std::string_view text, std::string_view letters) {
    std::string result;
    for (const char letter : text) {
        if (letter == '\\' || letters.find(letter) != std::string_view::npos) result += '\\';
        result += letter;
    }
    return result;
}

std::string zsh_option(const HelpRow& row) {
    const bool takes = row.arity == Arity::one || row.arity == Arity::several;
    std::string spec = "*" + row.flag + (takes && row.flag.starts_with("--") ? "=" : "") + "[" +
                       shell_escaped(first_sentence(row), "[]") + "]";
    if (row.arity == Arity::optional) return single_quoted(spec + "::value:(true false)");
    if (!takes) return single_quoted(spec);
    spec += ":" + shell_escaped(row.value, ":") + ":";
    if (!row.choices.empty()) return single_quoted(spec + "(" + joined(row.choices, " ") + ")");
    return single_quoted(spec + (row.path ? "_files" : " "));
}

/// An array of _describe: 'word:text'.
std::string zsh_array(const std::vector<Described>& words) {
    std::string text;
    for (const Described& word : words)
        text += " " + single_quoted(shell_escaped(word.word, ":") + ":" + word.text);
    return text;
}

constexpr std::string_view kZshStart = R"sh(#compdef cnntrain poprun
# Completion of cnntrain in zsh, written by: cnntrain help --completion zsh

_cnntrain() {
    local command=$words[2] skipped=1
    local -a specs names
    if [[ ${words[1]:t} == poprun ]]; then
        command=poprun skipped=0
    elif ((CURRENT == 2)); then
        names=(@FIRST@)
        _describe -t commands command names
        return
    fi
    command=${command:t}
    if [[ $command == dataset ]]; then
        if ((CURRENT == 3)); then
            names=(@KINDS@)
            _describe -t kinds kind names
            return
        fi
        command="dataset $words[3]" skipped=2
    elif [[ $command == help ]]; then
        names=(@HELP@)
        ((CURRENT == 3)) && compadd -a names
        return
    fi
    case $command in
)sh";

constexpr std::string_view kZshEnd = R"sh(    esac
    ((skipped)) && shift $skipped words && ((CURRENT -= skipped))
    _arguments $specs
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _cnntrain "$@"
else
    compdef _cnntrain cnntrain poprun
fi
)sh";

std::string zsh_script(const Pages& pages, const Words& topics) {
    std::string text(kZshStart);
    text = replaced(text, "@FIRST@", zsh_array(first_words(pages)));
    text = replaced(text, "@KINDS@", zsh_array(kinds(pages)));
    text = replaced(text, "@HELP@", joined(help_words(pages, topics), " "));
    text += script_rows(pages, "        ") + "    esac\n    case $command in\n";
    for (const CommandPage& page : pages) {
        text += "        " + single_quoted(page.command) + ")\n            specs=(\n";
        for (const HelpRow& row : page.page.rows) {
            if (is_flag(row)) text += "                " + zsh_option(row) + "\n";
        }
        if (takes_files(page)) text += "                '*:file:_files'\n";
        text += "            )\n            ;;\n";
    }
    return text + std::string(kZshEnd);
}

}  // namespace

std::string completion_script(std::string_view shell, const std::vector<CommandPage>& pages,
                              const std::vector<std::string>& topics) {
    if (shell == "bash") return bash_script(pages, topics);
    if (shell == "fish") return fish_script(pages, topics);
    if (shell == "zsh") return zsh_script(pages, topics);
    throw Error(ErrorKind::usage, "completion is written for " + listed({"bash", "fish", "zsh"}, "and") +
                                      ", not for '" + std::string(shell) + "'");
}

namespace {

constexpr std::string_view kProgramText = "cnntrain";
constexpr std::string_view kTopics = "cnntrain-topics";

/// A line in the language of man(7): hyphens that can be copied, no request by accident.
std::string roff_escaped(std::string_view line) {
    std::string result = line.starts_with('.') || line.starts_with('\'') ? "\\&" : "";
    for (const char letter : line) {
        if (letter == '\\') {
            result += "\\e";
        } else if (letter == '-') {
            result += "\\-";
        } else {
            result += letter;
        }
    }
    return result;
}

/// Lines as they are.
std::string as_is(const std::string& text) {
    std::string result;
    for (const std::string_view line : lines_of(text))
        result += roff_escaped(line) + "\n";
    while (result.starts_with('\n'))
        result.erase(0, 1);
    return result.empty() ? "" : ".sp\n.nf\n" + result + ".fi\n";
}

std::string upper(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char letter) { return std::toupper(letter); });
    return result;
}

std::string page_name(const CommandPage& page) {
    std::string name = page.command;
    std::ranges::replace(name, ' ', '-');
    return page.page.called == page.command ? name : std::string(kProgramText) + "-" + name;
}

std::string opening(const ManPages& pages, std::string_view name, char section, std::string_view summary) {
    return ".TH " + roff_escaped(upper(name)) + " " + section + " \"" + pages.date + "\" \"" +
           roff_escaped(pages.version) + "\"\n.SH NAME\n" + roff_escaped(name) + " \\- " + roff_escaped(summary) + "\n";
}

std::string option(const HelpRow& row) {
    std::string text = ".TP\n\\fB" + roff_escaped(row.flag) + "\\fR";
    if (row.arity == Arity::optional) {
        text += " [\\fI" + roff_escaped(row.value) + "\\fR]";
    } else if (row.arity != Arity::none) {
        text += " \\fI" + roff_escaped(row.value) + "\\fR" + (row.arity == Arity::several ? " ..." : "");
    }
    return text + "\n" + roff_escaped(row.help) + "\n";
}

std::string command_page(const ManPages& pages, const CommandPage& page) {
    const options::HelpPage& help = page.page;
    std::string text = opening(pages, page_name(page), '1', page.summary);
    text += ".SH SYNOPSIS\n\\fB" + roff_escaped(help.called) + "\\fR";
    for (const HelpRow& row : help.rows) {
        if (!row.flag.starts_with('-')) text += " \\fI" + roff_escaped(row.flag) + "\\fR";
    }
    text += " [\\fIoptions\\fR]";
    if (!help.operands.empty()) text += " \\fI" + roff_escaped(help.operands) + "\\fR";
    text += "\n.SH DESCRIPTION\n" + roff_escaped(upper(page.summary.substr(0, 1)) + page.summary.substr(1)) + ".\n";
    for (const std::string& script : page.scripts)
        text += "It stands for the script " + roff_escaped(script) + ", too.\n";
    text += as_is(help.examples) + as_is(help.more) + ".SH OPTIONS\n";
    if (help_groups(help).empty() && help.rows.empty()) text += "None.\n";
    std::string_view group;
    for (const HelpRow& row : help.rows) {
        if (row.group != group) text += ".SS " + roff_escaped(row.group) + "\n";
        group = row.group;
        text += option(row);
    }
    return text + as_is(help.all_only) + ".SH EXIT STATUS\n.nf\n" + roff_escaped("cnntrain help exit-codes") +
           "\n.fi\nlists all codes; 0 means that all is done.\n.SH SEE ALSO\n\\fBcnntrain\\fR(1), "
           "\\fBcnntrain\\-topics\\fR(7)\n";
}

std::string main_page(const ManPages& pages) {
    std::string text = opening(pages, kProgramText, '1', "train and measure image networks and BERT on CPUs");
    text +=
        ".SH SYNOPSIS\n\\fBcnntrain\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n.br\n\\fBcnntrain help\\fR "
        "[\\fItopic\\fR|\\fIcommand\\fR]\n.SH DESCRIPTION\n";
    text += roff_escaped(
                "cnntrain trains and measures convolutional networks and BERT. Each command has a page of its own.") +
            "\n.SH COMMANDS\n";
    for (const CommandPage& page : pages.commands)
        text += ".TP\n\\fB" + roff_escaped(page_name(page)) + "\\fR(1)\n" + roff_escaped(page.summary) + "\n";
    text += ".SH OPTIONS\n";
    for (const auto& [flag, help] :
         {std::pair{"--help", "Print the commands; after a command, its main options."},
          std::pair{"--help-all", "Behind a command: print all its options."},
          std::pair{"--version", "Print the version. With --verbose, also what the machine computes with."}})
        text += option({.flag = flag, .help = help});
    text += ".SH EXIT STATUS\nAll codes:\n" + as_is(help_topic("exit-codes")->text);
    return text + ".SH SEE ALSO\n\\fBcnntrain\\-topics\\fR(7)\n";
}

std::string topics_page(const ManPages& pages) {
    std::string text = opening(pages, kTopics, '7', "what concerns several commands of cnntrain");
    text += ".SH DESCRIPTION\nThe texts of\n.BR \"cnntrain help\" .\n";
    for (const HelpTopic& topic : help_topics()) {
        text += ".SH " + roff_escaped(upper(topic.name)) + "\n" + roff_escaped(upper(topic.summary.substr(0, 1))) +
                roff_escaped(topic.summary.substr(1)) + ".\n" + as_is(topic.text);
    }
    return text + ".SH SEE ALSO\n\\fBcnntrain\\fR(1)\n";
}

}  // namespace

std::vector<std::string> man_names(const ManPages& pages) {
    std::vector<std::string> names = {std::string(kProgramText) + ".1"};
    for (const CommandPage& page : pages.commands)
        names.push_back(page_name(page) + ".1");
    names.push_back(std::string(kTopics) + ".7");
    return names;
}

std::string man_page(const ManPages& pages, std::string_view wanted) {
    const auto is = [&](std::string_view name) {
        const std::string of_command(name.starts_with("cnntrain-") ? name.substr(std::string_view("cnntrain-").size())
                                                                   : name);
        return wanted == name || wanted == of_command || wanted == std::string(name) + ".1" ||
               wanted == std::string(name) + ".7";
    };
    if (is(kProgramText)) return main_page(pages);
    if (is(kTopics)) return topics_page(pages);
    const auto found =
        std::ranges::find_if(pages.commands, [&](const CommandPage& page) { return is(page_name(page)); });
    if (found != pages.commands.end()) return command_page(pages, *found);
    const std::vector<std::string> names = man_names(pages);
    const std::string nearest = nearest_name(std::string(wanted), names);
    throw Error(ErrorKind::usage, "there is no manual page '" + std::string(wanted) + "'" +
                                      (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                                      " cnntrain help --man lists the pages");
}

std::string man_date() {
    const Variables variables = process_variables();
    const auto epoch = variables.find("SOURCE_DATE_EPOCH");
    std::time_t when = std::time(nullptr);
    if (epoch != variables.end()) {
        constexpr std::int64_t kYear9999 = 253402300799;
        when = static_cast<std::time_t>(options::whole_number("SOURCE_DATE_EPOCH", epoch->second, 0, kYear9999));
    }
    return clock_text("%Y-%m-%d", when, Zone::utc);
}

}  // namespace cnntrain::cli
