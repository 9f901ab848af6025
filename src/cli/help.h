// Topics of `cnntrain help`: subjects that concern more than one command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::cli {

struct HelpTopic {
    std::string_view name;     // a single word
    std::string_view summary;  // one line for the topic list
    std::string text;          // lines of at most 100 columns
};

/// All topics, in the order of the list.
const std::vector<HelpTopic>& help_topics();

/// Null if there is no topic with exactly this name.
const HelpTopic* help_topic(std::string_view name);

/// The topic that words name, such as "exit codes": also by the beginning of its name, if no other begins so. Null if
/// there is none.
const HelpTopic* topic_of(const std::vector<std::string>& words);

/// Text of the program without a command: the commands, and where to read on.
std::string overview();
/// Text of `cnntrain help`: the commands, and every topic with its summary.
std::string help_overview();

/// Topics and options in which the words occur, for `cnntrain help WORDS`; "" if there are none.
std::string found_in_help(const std::vector<std::string>& words);

/// Throws Error(usage) that names the nearest topic or command.
[[noreturn]] void refuse_topic(const std::string& word);

}  // namespace cnntrain::cli
