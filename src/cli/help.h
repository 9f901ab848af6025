// Topics of `cnntrain help`: what users need to know beyond the options of one command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::cli {

struct HelpTopic {
    std::string_view name;     // one word
    std::string_view summary;  // one line, for the list
    std::string text;          // lines of at most 100 columns
};

/// In the order in which they are listed.
const std::vector<HelpTopic>& help_topics();

/// Null when there is none of this name.
const HelpTopic* help_topic(std::string_view name);

/// Names and summaries, one topic a line.
std::string list_of_topics();

/// Throws Error(usage) with the nearest topic or command.
[[noreturn]] void refuse_topic(const std::string& word);

}  // namespace cnntrain::cli
