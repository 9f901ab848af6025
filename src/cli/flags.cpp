#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::cli {

namespace {

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorKind::usage, message);
}

void check_known(const std::string& command, const std::vector<Flag>& known, const std::string& name) {
    std::vector<std::string> names = {"--help"};
    for (const Flag& flag : known) {
        if (flag.name == name) return;
        names.emplace_back(flag.name);
    }
    const std::string nearest = nearest_name(name, names);
    refuse(command + ": unknown flag '" + name + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

}  // namespace

Flags::Flags(std::string command, const std::vector<Flag>& known, const std::vector<std::string>& arguments)
    : command_(std::move(command)), known_(known) {
    for (const Flag& flag : known) {
        if (!flag.fallback.empty()) values_.emplace(flag.name, flag.fallback);
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "--help" || word == "-h") {
            wants_help_ = true;
            return;
        }
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        check_known(command_, known, name);
        if (equals == std::string::npos && i + 1 == arguments.size()) refuse(command_ + ": " + name + " needs a value");
        values_[name] = equals == std::string::npos ? arguments[++i] : word.substr(equals + 1);
    }
}

std::string Flags::help() const {
    constexpr std::size_t kColumn = 28;
    std::string text = "usage: " + command_ + " [options]\n\n";
    for (const Flag& flag : known_) {
        std::string line = "  " + std::string(flag.name);
        line.resize(std::max(line.size() + 2, kColumn), ' ');
        line += flag.help;
        if (!flag.fallback.empty()) line += " (default " + std::string(flag.fallback) + ")";
        text += line + "\n";
    }
    return text;
}

bool Flags::given(std::string_view name) const {
    return values_.contains(name);
}

const std::string& Flags::text(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) refuse(command_ + ": " + std::string(name) + " is needed");
    return found->second;
}

std::int64_t Flags::integer(std::string_view name, std::int64_t least) const {
    const std::string& word = text(name);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < least) {
        refuse(command_ + ": " + std::string(name) + " expects a whole number of at least " + std::to_string(least) +
               ", got '" + word + "'");
    }
    return value;
}

}  // namespace cnntrain::cli
