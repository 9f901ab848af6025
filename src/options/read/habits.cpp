#include "cnntrain/options/line.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "options/read/read.h"
#include "options/table/habits.h"

namespace cnntrain::options {
namespace {

using Words = std::vector<std::string>;

/// A flag and its values; words in front of the first flag have no flag.
struct Item {
    std::string flag;
    Words values;
    bool joined = false;  // --flag=value

    std::string text() const {
        if (joined) return flag + "=" + joined_words();
        return flag + (values.empty() || flag.empty() ? "" : " ") + joined_words();
    }
    /// A pattern of files that the shell has expanded may be many words.
    std::string joined_words() const {
        constexpr std::size_t kMost = 4;
        if (values.size() <= kMost) return cnntrain::joined(values, " ");
        return cnntrain::joined(Words(values.begin(), values.begin() + kMost), " ") + " ... (" +
               std::to_string(values.size()) + " words)";
    }
};

std::vector<Item> items_of(const Words& words) {
    std::vector<Item> items;
    for (const std::string& word : words) {
        if (is_flag(word)) {
            const std::size_t equals = word.find('=');
            items.push_back({word.substr(0, equals), {}, equals != std::string::npos});
            if (items.back().joined) items.back().values.push_back(word.substr(equals + 1));
        } else {
            if (items.empty()) items.emplace_back();
            items.back().values.push_back(word);
        }
    }
    return items;
}

Words words_of(const std::vector<Item>& items) {
    Words words;
    for (const Item& item : items) {
        auto value = item.values.begin();
        if (item.joined) {
            words.push_back(item.flag + "=" + *value++);
        } else if (!item.flag.empty()) {
            words.push_back(item.flag);
        }
        words.insert(words.end(), value, item.values.end());
    }
    return words;
}

bool fits_wildcard(char wildcard, std::string_view text) {
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    if (wildcard == '*') return !text.empty();
    if (wildcard == '#') return !text.empty() && std::ranges::all_of(text, digit);
    return as_number<double>(text).has_value();
}

bool is_wildcard(char c) {
    return c == '*' || c == '#' || c == 'X';
}

/// True if the whole text fits the pattern; `*capture` is the text of the first wildcard, the shortest that fits.
bool fits(std::string_view pattern, std::string_view text, std::optional<std::string_view>* capture) {
    if (pattern.empty()) return text.empty();
    if (!is_wildcard(pattern.front())) {
        return equal_but_case(pattern.substr(0, 1), text.substr(0, 1)) &&
               fits(pattern.substr(1), text.substr(1), capture);
    }
    for (std::size_t length = 1; length <= text.size(); ++length) {
        std::optional<std::string_view> inner;
        const std::string_view part = text.substr(0, length);
        if (!fits_wildcard(pattern.front(), part) || !fits(pattern.substr(1), text.substr(length), &inner)) continue;
        *capture = part;
        return true;
    }
    return false;
}

std::string replaced(std::string text, std::string_view mark, const std::string& by) {
    const std::size_t at = text.find(mark);
    return at == std::string::npos ? text : text.replace(at, mark.size(), by);
}

/// A habit that fits an item, and the text of the first wildcard.
struct Match {
    const Habit* habit = nullptr;
    std::string capture = {};
};

/// Options whose value may be the name of published weights.
constexpr std::string_view kWeightsOptions[] = {"--init-path", "--restore-path"};

class Reader {
public:
    Reader(const TaskOptions& task, Command command)
        : command_(command), known_(spellings_of(task.options(), command)) {
        for (const Option& option : task.options().rows()) {
            if ((option.commands & bit(command)) != 0) options_.push_back(&option);
        }
    }

    OwnWords read(const Words& words) {
        line_ = command_ == Command::inference ? with_operands_apart(items_of(words)) : items_of(words);
        std::vector<Item> own;
        for (const Item& item : line_) {
            std::vector<Item> read = fully_read(item);
            if (words_of(read) != words_of({item})) note(item, read);
            std::ranges::move(read, std::back_inserter(own));
        }
        return {words_of(own), notice_, doubles(own), values_of(own)};
    }

    /// replace_names_of_weights()
    void replace_names(OwnWords& line, Layer& config, const FindWeights& find) const {
        const auto of_network = [&](std::string_view flag) {
            if (const auto value = line.value(flag)) return *value;
            const auto found = std::ranges::find_if(config, [&](const auto& one) { return one.first->flag == flag; });
            return found == config.end() ? std::string() : to_string(found->second);
        };
        const auto path_of = [&](const std::string& name) {
            return find({name, of_network("--model"), of_network("--model-size")});
        };
        std::vector<Item> own = items_of(line.words);
        for (Item& item : own) {
            const Spelling* const meant = item.flag.empty() ? nullptr : spelling_of(known_, item.flag);
            const bool names_weights = meant != nullptr && item.values.size() == 1 &&
                                       std::ranges::find(kWeightsOptions, meant->option) != std::end(kWeightsOptions);
            const std::string path = names_weights ? path_of(item.values.front()) : "";
            if (!path.empty()) item.values.front() = path;
        }
        line.words = words_of(own);
        line.values = values_of(own);
        for (auto& [option, value] : config) {
            if (std::ranges::find(kWeightsOptions, option->flag) == std::end(kWeightsOptions)) continue;
            const std::string path = line.value(option->flag) ? "" : path_of(to_string(value));
            if (!path.empty()) value = path;
        }
    }

private:
    /// Words after an option that takes fewer are files, as words in front of the first option are.
    std::vector<Item> with_operands_apart(std::vector<Item> items) const {
        std::vector<Item> apart;
        for (Item& item : items) {
            const Spelling* const spelling = item.flag.empty() ? nullptr : spelling_of(known_, item.flag);
            const Option* const option = spelling == nullptr ? nullptr : option_of(*spelling);
            const bool takes_all = item.joined || option == nullptr || option->names == Names::data ||
                                   is_list(*option) || option->type == Type::patterns ||
                                   spelling->takes == Takes::optional;
            const std::size_t taken = takes_all ? item.values.size() : spelling->takes == Takes::nothing ? 0 : 1;
            Item rest;
            if (taken < item.values.size()) {
                rest.values.assign(item.values.begin() + static_cast<std::ptrdiff_t>(taken), item.values.end());
                item.values.resize(taken);
            }
            apart.push_back(std::move(item));
            if (!rest.values.empty()) apart.push_back(std::move(rest));
        }
        return apart;
    }

    const Option* option_of(const Spelling& spelling) const {
        return *std::ranges::find(options_, spelling.option, &Option::flag);
    }

    /// True if the item means something here as it is.
    bool works(const Item& item) const {
        const Spelling* const spelling = spelling_of(known_, item.flag);
        if (spelling == nullptr) return false;
        const Option& option = *option_of(*spelling);
        if (item.values.empty()) return spelling->takes == Takes::nothing || spelling->takes == Takes::optional;
        if (spelling->takes == Takes::nothing) return false;
        try {
            static_cast<void>(convert(option, item.values));
            return true;
        } catch (const Error&) {
            return false;
        }
    }

    bool all_exist(const std::vector<Item>& items) const {
        return std::ranges::all_of(items, [&](const Item& item) {
            return std::ranges::any_of(known_, [&](const Spelling& one) { return one.flag == item.flag; });
        });
    }

    static std::vector<Item> reading(const Match& match, const Item& item) {
        Words words;
        for (const std::string_view part : split(match.habit->reads, ' ')) {
            const std::string word(part);
            const std::string value = item.values.empty() ? "" : item.values.front();
            if (word == "{values}" || word == "{others}") {
                words.insert(words.end(), item.values.begin() + (word == "{others}" ? 1 : 0), item.values.end());
            } else {
                words.push_back(replaced(replaced(word, "{}", match.capture), "{value}", value));
            }
        }
        return items_of(words);
    }

    Match habit_of(const Item& item) const {
        for (const Habit& habit : habits()) {
            if (!has_word(habit.flag, item.flag) || (habit.commands & bit(command_)) == 0) continue;
            Match match{&habit};
            if (habit.value == kSeveral) {
                if (item.values.size() < 2) continue;
            } else if (habit.value != kAny) {
                if (habit.value.empty() != item.values.empty() || item.values.size() > 1) continue;
                std::optional<std::string_view> capture;
                if (!item.values.empty() && !fits(habit.value, item.values.front(), &capture)) continue;
                if (capture) match.capture = *capture;
            }
            const std::vector<Item> read = reading(match, item);
            if (!all_exist(read)) continue;
            if (!item.flag.empty() || !is_on_line(read)) return match;
        }
        return {};
    }

    /// --arch resnet50 becomes --model resnet50, which becomes two options.
    std::vector<Item> fully_read(const Item& item) const {
        std::vector<Item> read = {item};
        constexpr int kMostSteps = 4;
        for (int step = 0; step < kMostSteps; ++step) {
            std::optional<std::vector<Item>> next = read_once(read.front());
            if (!next) break;
            std::ranges::move(read.begin() + 1, read.end(), std::back_inserter(*next));
            read = std::move(*next);
        }
        return read;
    }

    /// The item in other words; nothing if it stays.
    std::optional<std::vector<Item>> read_once(const Item& item) const {
        if (!item.flag.empty() && works(item)) return std::nullopt;
        const Match match = habit_of(item);
        return match.habit == nullptr ? with_hyphens(item) : reading(match, item);
    }

    /// True if the line has the option of these words already, perhaps in other words.
    bool is_on_line(const std::vector<Item>& read) const {
        return std::ranges::any_of(line_, [&](const Item& item) {
            const std::vector<Item> own = item.flag.empty() ? std::vector<Item>() : fully_read(item);
            return !read.empty() && std::ranges::any_of(own, [&](const Item& one) {
                const Spelling* const spelling = spelling_of(known_, one.flag);
                return spelling != nullptr && spelling->flag == read.front().flag;
            });
        });
    }

    bool is_here(const std::string& flag) const {
        return std::ranges::find(known_, flag, &Spelling::flag) != known_.end();
    }

    /// --data_dir is --data-dir.
    std::optional<std::vector<Item>> with_hyphens(Item item) const {
        if (!item.flag.starts_with("--") || item.flag.find('_') == std::string::npos) return std::nullopt;
        std::ranges::replace(item.flag, '_', '-');
        const bool known = is_here(item.flag) || habit_of(item).habit != nullptr;
        return known ? std::optional(std::vector{item}) : std::nullopt;
    }

    void note(const Item& typed, const std::vector<Item>& read) {
        notice_ += (notice_.empty() ? "" : "; ") + typed.text() + (notice_.empty() ? " is read as " : " as ") +
                   joined(read, " ", [](const Item& item) { return item.text(); });
        for (const Item& item : read)
            read_.push_back({item, typed.text()});
    }

    /// A value in other words that the line gives a second time, differently; "" if there is none.
    std::string doubles(const std::vector<Item>& own) const {
        for (const auto& [item, typed] : read_) {
            for (const Item& other : own) {
                const Spelling* const meant = other.flag.empty() ? nullptr : spelling_of(known_, other.flag);
                if (meant == nullptr || meant->flag != item.flag || other.values == item.values) continue;
                return typed + " is read as " + item.text() + ", and the line has " + other.text() +
                       ", too; leave one of them out";
            }
        }
        return {};
    }

    std::map<std::string, std::string, std::less<>> values_of(const std::vector<Item>& own) const {
        std::map<std::string, std::string, std::less<>> values;
        for (const Item& item : own) {
            const Spelling* const meant = item.flag.empty() ? nullptr : spelling_of(known_, item.flag);
            if (meant == nullptr) continue;
            if (!item.values.empty()) {
                values[meant->option] = item.values.front();
            } else if (meant->takes <= Takes::optional) {
                values[meant->option] = meant->value;
            }
        }
        return values;
    }

    struct Read {
        Item item;
        std::string typed;
    };

    Command command_;
    std::vector<Item> line_;              // as typed
    std::vector<const Option*> options_;  // of this command
    std::vector<Spelling> known_;         // of these
    std::vector<Read> read_;
    std::string notice_;
};

}  // namespace

OwnWords in_own_words(const TaskOptions& task, Command command, const Words& words) {
    return Reader(task, command).read(words);
}

void replace_names_of_weights(const TaskOptions& task, Command command, OwnWords& line, Layer& config,
                              const FindWeights& find) {
    Reader(task, command).replace_names(line, config, find);
}

std::optional<std::string> OwnWords::value(std::string_view flag) const {
    const auto found = values.find(flag);
    return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> meanings_of_habit(std::string_view name) {
    std::vector<std::string> meanings;
    for (const Habit& habit : habits()) {
        const bool is_named = std::ranges::any_of(split(habit.flag, ' '), [&](std::string_view flag) {
            return flag.substr(std::min(flag.find_first_not_of('-'), flag.size())) == name;
        });
        if (!is_named) continue;
        const std::string meaning(habit.reads.substr(0, habit.reads.find(' ')));
        if (std::ranges::find(meanings, meaning) == meanings.end()) meanings.push_back(meaning);
    }
    return meanings;
}

std::string_view command_of_habit(std::string_view word) {
    const auto habit = std::ranges::find(command_habits(), word, &CommandHabit::word);
    return habit == command_habits().end() ? std::string_view() : habit->reads;
}

}  // namespace cnntrain::options
