#include "cli/man_page.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <sstream>

#include "cli/help.h"
#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/line.h"

namespace cnntrain::cli {
namespace {

using options::Arity;
using options::HelpRow;

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
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);)
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
