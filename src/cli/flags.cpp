#include "cli/flags.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/config/line.h"

namespace cnntrain::cli {

namespace {

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorKind::usage, message);
}

std::vector<config::Spelling> spellings(const std::vector<Flag>& known) {
    using config::Takes;
    std::vector<config::Spelling> all = {{"--help", "--help", Takes::nothing}};
    for (const Flag& flag : known) {
        const std::string name(flag.name);
        const Takes takes = flag.is_switch ? Takes::nothing : Takes::any;
        all.push_back({name, name, takes});
        if (!flag.alias.empty()) all.push_back({std::string(flag.alias), name, takes, "true", false});
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
    }
    for (config::GivenValues& given : line.options)
        values_.insert_or_assign(std::move(given.option), std::move(given.values.front()));
    wants_help_ = wants_help_ || given("--help");
}

std::string Flags::help() const {
    constexpr std::size_t kColumn = 28;
    std::string usage = "usage: " + command_;
    std::string rows;
    for (const Flag& flag : known_) {
        if (!flag.name.starts_with('-')) usage += " " + std::string(flag.name);
        std::string line = "  " + std::string(flag.name);
        line.resize(std::max(line.size() + 2, kColumn), ' ');
        line += flag.help;
        if (!flag.fallback.empty()) line += " (default " + std::string(flag.fallback) + ")";
        rows += line + "\n";
    }
    return usage + " [options]\n\n" + rows;
}

bool Flags::print_help_if_wanted(std::string_view more) const {
    if (wants_help_) std::cout << help() << more;
    return wants_help_;
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

bool Flags::wants_f32() const {
    const std::string& type = text(kCheckpointDtypeFlag.name);
    if (type == "f32" || type == kCheckpointDtypeFlag.fallback) return type == "f32";
    refuse(command_ + ": " + std::string(kCheckpointDtypeFlag.name) + " must be " +
           std::string(kCheckpointDtypeFlag.fallback) + " or f32, not '" + type + "'");
}

int Flags::threads() const {
    const std::int64_t wanted = integer("--threads", 0, most_threads());
    return wanted == 0 ? available_processors() : static_cast<int>(wanted);
}

}  // namespace cnntrain::cli
