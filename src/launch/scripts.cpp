#include "cnntrain/launch/scripts.h"

#include <algorithm>

#include "cnntrain/base/text.h"
#include "cnntrain/config/commands.h"
#include "cnntrain/config/help_page.h"

namespace cnntrain::launch {
namespace {

/// True for a script that this program stands for. Throws Error(unsupported) for one that it lacks.
bool is_own_script(std::string_view word) {
    if (!config::why_not_here(word).empty()) config::command_named(word);
    return config::is_script(word);
}

}  // namespace

bool is_interpreter(std::string_view word) {
    const std::string_view file = last_part(word);
    return file == "python3" || file == "python";
}

std::vector<std::string> with_own_commands(std::vector<std::string> words, const std::string& self) {
    if (words.empty()) return words;
    if (words.front() == "cnntrain") {
        words.front() = self;
        return words;
    }
    if (is_interpreter(words.front()) && words.size() > 1 && is_own_script(words[1])) {
        words.front() = self;
        return words;
    }
    if (is_own_script(words.front())) words.insert(words.begin(), self);
    return words;
}

bool only_describes(const std::vector<std::string>& words, const std::string& self) {
    const bool own = !words.empty() && (words.front() == self || last_part(words.front()) == "cnntrain");
    return own && std::ranges::any_of(words, [](const std::string& word) {
               return word == "--dry-run" || word == "--dry_run" || word == "--print-config" || config::asks_help(word);
           });
}

}  // namespace cnntrain::launch
