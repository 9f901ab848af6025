#include "cli/flags.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/line.h"

namespace cnntrain::cli {
namespace {

std::vector<options::Spelling> spellings(const std::vector<Flag>& known) {
    using options::Takes;
    std::vector<options::Spelling> all = {
        {std::string(options::kHelpFlag), std::string(options::kHelpFlag), Takes::nothing}};
    for (const Flag& flag : known) {
        const std::string name(flag.name);
        const Takes takes = flag.is_switch ? Takes::nothing : Takes::any;
        all.push_back({name, name, takes});
        if (!flag.alias.empty()) all.push_back({std::string(flag.alias), name, takes, "true", false});
    }
    return all;
}

/// The placeholder of a flag's value, by its fallback.
std::string placeholder(const Flag& flag) {
    const bool whole = !flag.fallback.empty() && flag.fallback.find_first_not_of("-0123456789") == flag.fallback.npos;
    if (whole) return "N";
    return as_number<double>(flag.fallback) ? "X" : "VALUE";
}

options::HelpRow help_row(const Flag& flag) {
    options::HelpRow row{.flag = std::string(flag.name), .main = !flag.is_rare};
    const bool positional = !flag.name.starts_with('-');
    if (!flag.is_switch && !positional) {
        row.arity = options::Arity::one;
        row.value = placeholder(flag);
    }
    row.path = positional || row.value == "VALUE";
    row.help = flag.help;
    if (!flag.fallback.empty()) row.help += " (default " + std::string(flag.fallback) + ")";
    row.summary = row.help;
    return row;
}

}  // namespace

void refuse_line(const std::string& message) {
    throw Error(ErrorKind::usage, message);
}

options::HelpPage help_page(const CommandFlags& table, const std::string& called) {
    options::HelpPage page{.called = called, .more = table.more};
    std::ranges::transform(table.flags, std::back_inserter(page.rows), help_row);
    return page;
}

options::Command leading_command(std::vector<std::string>& line, const std::vector<options::Command>& allowed,
                                 const std::string& expected) {
    if (line.empty() || line.front().starts_with('-')) return options::Command::train;
    const options::Command command = options::command_named(line.front());
    if (std::ranges::find(allowed, command) == allowed.end())
        refuse_line(expected + ", not of '" + std::string(options::name(command)) + "'");
    line.erase(line.begin());
    return command;
}

Flags::Flags(CommandFlags table, std::string command, const std::vector<std::string>& arguments, const Foreign& foreign)
    : table_(std::move(table)), command_(std::move(command)) {
    options::LineHabits habits{.program = command_, .quotes = true, .underscores = true};
    bool helps = false;
    habits.foreign = [&](const std::string& word, bool follows) {
        helps = helps || options::asks_help(word);
        return helps || (foreign && foreign(word, follows));
    };
    options::Line line = options::read_line(spellings(table_.flags), arguments, habits);
    rest_ = std::move(line.rest);
    for (const Flag& flag : table_.flags) {
        if (!flag.fallback.empty()) values_.emplace(flag.name, flag.fallback);
    }
    for (options::GivenValues& given : line.options)
        values_.insert_or_assign(std::move(given.option), std::move(given.values.front()));
    if (helps) help_wish_ = options::help_wish(arguments);
    if (!helps && given(options::kHelpFlag)) help_wish_.emplace();  // --hel
}

bool Flags::print_help_if_wanted() const {
    if (help_wish_) std::cout << options::help_text(help_page(table_, command_), *help_wish_);
    return help_wish_.has_value();
}

bool Flags::given(std::string_view name) const {
    return values_.contains(name);
}

const std::string& Flags::text(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) refuse_line(command_ + ": " + std::string(name) + " is needed");
    return found->second;
}

std::int64_t Flags::integer(std::string_view name, std::int64_t least, std::int64_t most) const {
    return options::whole_number(command_ + ": " + std::string(name), text(name), least, most);
}

double Flags::number(std::string_view name, double least, double most) const {
    const std::string& word = text(name);
    const std::optional<double> value = as_number<double>(word);
    if (!value || !(*value >= least && *value <= most)) {
        std::ostringstream range;
        range << least << " to " << most;
        refuse_line(command_ + ": " + std::string(name) + " expects a number from " + range.str() + ", got '" + word +
                    "'");
    }
    return *value;
}

bool Flags::wants_f32() const {
    const std::string& type = text(kCheckpointDtypeFlag.name);
    if (type == "f32" || type == kCheckpointDtypeFlag.fallback) return type == "f32";
    refuse_line(command_ + ": " + std::string(kCheckpointDtypeFlag.name) + " must be " +
                std::string(kCheckpointDtypeFlag.fallback) + " or f32, not '" + type + "'");
}

int Flags::threads() const {
    const std::int64_t wanted = integer("--threads", 0, most_threads());
    return wanted == 0 ? available_processors() : static_cast<int>(wanted);
}

}  // namespace cnntrain::cli
