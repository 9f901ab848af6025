#include "cli/flags.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/config/line.h"

namespace cnntrain::cli {

namespace {

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorKind::usage, message);
}

/// The row of the word without a flag; null if there is none.
const Flag* positional(const std::vector<Flag>& known) {
    const auto found = std::ranges::find_if(known, [](const Flag& flag) { return !flag.name.starts_with('-'); });
    return found == known.end() ? nullptr : &*found;
}

std::string option_of(const Flag& flag) {
    return (flag.name.starts_with('-') ? "" : "--") + std::string(flag.name);
}

std::vector<config::Spelling> spellings(const std::vector<Flag>& known) {
    using config::Takes;
    std::vector<config::Spelling> all = {{"--help", "--help", Takes::nothing}};
    for (const Flag& flag : known) {
        const Takes takes = flag.is_switch ? Takes::nothing : Takes::any;
        all.push_back({std::string(flag.name), option_of(flag), takes});
        if (!flag.alias.empty()) all.push_back({std::string(flag.alias), option_of(flag), takes, "true", false});
    }
    return all;
}

}  // namespace

Flags::Flags(std::string command, std::vector<Flag> known, const std::vector<std::string>& arguments,
             const Foreign& foreign)
    : command_(std::move(command)), known_(std::move(known)) {
    config::LineHabits habits{.program = command_, .quotes = true, .underscores = true};
    habits.foreign = [&](const std::string& word, bool follows) {
        wants_help_ = wants_help_ || word == "--help" || word == "-h";
        return wants_help_ || (foreign && foreign(word, follows));
    };
    config::Line line = config::read_line(spellings(known_), arguments, habits);
    rest_ = std::move(line.rest);
    for (const Flag& flag : known_) {
        if (!flag.fallback.empty()) values_.emplace(flag.name, flag.fallback);
        for (const config::GivenValues& given : line.options) {
            if (given.option == option_of(flag)) values_.insert_or_assign(std::string(flag.name), given.values.front());
        }
    }
    wants_help_ = wants_help_ || std::ranges::count(line.options, "--help", &config::GivenValues::option) > 0;
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
    return config::whole_number(command_ + ": " + std::string(name), text(name), least, most);
}

double Flags::number(std::string_view name, double least, double most) const {
    const std::string& word = text(name);
    const std::optional<double> value = config::decimal_number(word);
    if (!value || !(*value >= least && *value <= most)) {
        std::ostringstream range;
        range << least << " to " << most;
        refuse(command_ + ": " + std::string(name) + " expects a number from " + range.str() + ", got '" + word + "'");
    }
    return *value;
}

}  // namespace cnntrain::cli
