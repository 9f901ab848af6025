#include "cnntrain/config/line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "cnntrain/base/error.h"
#include "config/read/expand.h"

namespace cnntrain::config {
namespace {

template <typename T> std::optional<T> number_of(std::string_view word) {
    T value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return value;
}

}  // namespace

Line read_line(const std::vector<Spelling>& known, const std::vector<std::string>& words, const LineHabits& habits) {
    Expanded expanded = expand_words(known, words, habits);
    Line line{{}, std::move(expanded.rest)};
    CLI::App app;
    app.set_help_flag();  // --help is an ordinary option here
    try {
        for (std::string& flag : expanded.words) {
            if (flag.front() == kValueMark) continue;
            const auto store = [&line, option = flag](const CLI::results_t& marked) {
                GivenValues& given = line.options.emplace_back(GivenValues{option, {}});
                for (const std::string& value : marked)
                    given.values.push_back(value.substr(1));
                return true;
            };
            if (flag.front() != '-') flag.insert(0, "--");
            if (app.get_option_no_throw(flag) == nullptr)
                app.add_option(flag, store)->expected(1, -1)->allow_extra_args()->trigger_on_parse();
        }
        std::ranges::reverse(expanded.words);  // CLI11 reads the vector from its end
        app.parse(std::move(expanded.words));
    } catch (const CLI::Error& error) {
        throw Error(ErrorKind::usage, error.what());
    }
    return line;
}

std::int64_t whole_number(const std::string& name, std::string_view word, std::int64_t least, std::int64_t most) {
    const auto value = number_of<std::int64_t>(word);
    if (value && *value >= least && *value <= most) return *value;
    throw Error(ErrorKind::usage, name + " expects a whole number from " + std::to_string(least) + " to " +
                                      std::to_string(most) + ", got '" + std::string(word) + "'");
}

std::optional<double> decimal_number(std::string_view word) {
    return number_of<double>(word);
}

}  // namespace cnntrain::config
