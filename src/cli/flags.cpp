#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::cli {

namespace {

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorKind::usage, message);
}

/// By its name, its alias, or the beginning of its name where that fits no other.
const Flag& known_flag(const std::string& command, const std::vector<Flag>& known, std::string name) {
    std::vector<std::string> names = {"--help"};
    std::vector<const Flag*> begun;
    std::replace(name.begin(), name.end(), '_', '-');
    for (const Flag& flag : known) {
        if (flag.name == name || (!flag.alias.empty() && flag.alias == name)) return flag;
        names.emplace_back(flag.name);
        if (name.starts_with("--") && name.size() > 2 && flag.name.starts_with(name)) begun.push_back(&flag);
    }
    if (begun.size() == 1) return *begun.front();
    if (begun.size() > 1) {
        std::string all;
        for (const Flag* flag : begun)
            all += (all.empty() ? "" : ", ") + std::string(flag->name);
        refuse(command + ": ambiguous flag '" + name + "': could be " + all);
    }
    const std::string nearest = nearest_name(name, names);
    refuse(command + ": unknown flag '" + name + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

/// The row of the word without a flag; null if there is none.
const Flag* positional(const std::vector<Flag>& known) {
    const auto found = std::ranges::find_if(known, [](const Flag& flag) { return !flag.name.starts_with('-'); });
    return found == known.end() ? nullptr : &*found;
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
        const Flag* place = word.starts_with('-') ? nullptr : positional(known);
        if (place != nullptr) {
            const bool first = values_.emplace(place->name, word).second;
            if (!first) refuse(command_ + ": one " + std::string(place->name) + " only, got also '" + word + "'");
            continue;
        }
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const Flag& flag = known_flag(command_, known, name);
        if (flag.is_switch) {
            if (equals != std::string::npos) refuse(command_ + ": " + name + " takes no value");
            values_.insert_or_assign(std::string(flag.name), "");
            continue;
        }
        if (equals == std::string::npos && i + 1 == arguments.size()) refuse(command_ + ": " + name + " needs a value");
        values_.insert_or_assign(std::string(flag.name),
                                 equals == std::string::npos ? arguments[++i] : word.substr(equals + 1));
    }
}

std::string Flags::help() const {
    constexpr std::size_t kColumn = 28;
    const Flag* place = positional(known_);
    std::string text =
        "usage: " + command_ + (place == nullptr ? "" : " " + std::string(place->name)) + " [options]\n\n";
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

std::int64_t Flags::integer(std::string_view name, std::int64_t least, std::int64_t most) const {
    const std::string& word = text(name);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < least || value > most) {
        refuse(command_ + ": " + std::string(name) + " expects a whole number from " + std::to_string(least) + " to " +
               std::to_string(most) + ", got '" + word + "'");
    }
    return value;
}

double Flags::number(std::string_view name, double least, double most) const {
    const std::string& word = text(name);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || !(value >= least && value <= most)) {
        std::ostringstream range;
        range << least << " to " << most;
        refuse(command_ + ": " + std::string(name) + " expects a number from " + range.str() + ", got '" + word + "'");
    }
    return value;
}

}  // namespace cnntrain::cli
