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

/// Null if there is no topic with this name.
const HelpTopic* help_topic(std::string_view name);

/// Names and summaries, one topic per line.
std::string list_of_topics();

/// Throws Error(usage) that names the nearest topic or command.
[[noreturn]] void refuse_topic(const std::string& word);

}  // namespace cnntrain::cli
