#include "cnntrain/launch/scripts.h"

#include "cnntrain/base/path.h"
#include "cnntrain/config/commands.h"

namespace cnntrain::launch {

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
    if (is_interpreter(words.front()) && words.size() > 1 && config::is_script(words[1])) {
        words.front() = self;
        return words;
    }
    if (config::is_script(words.front())) words.insert(words.begin(), self);
    return words;
}

}  // namespace cnntrain::launch
