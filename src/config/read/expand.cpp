#include "config/read/expand.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::config {
namespace {

using Words = std::vector<std::string>;

std::string trimmed(const std::string& word) {
    const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
    return {std::ranges::find_if_not(word, blank), word.end()};
}

/// The spellings that a name may mean: those that it abbreviates, the preferred ones before others.
struct Begun {
    std::vector<const Spelling*> all;
    const Spelling* meant = nullptr;  // the one of that full name, or one of `all` if they all mean the same
};

Begun spellings_begun_by(const std::vector<Spelling>& known, std::string_view name) {
    std::vector<const Spelling*> preferred;
    std::vector<const Spelling*> others;
    for (const Spelling& spelling : known) {
        if (spelling.flag == name) return {{}, &spelling};
        if (name.size() > 2 && spelling.flag.starts_with(name))
            (spelling.preferred ? preferred : others).push_back(&spelling);
    }
    Begun begun{preferred.empty() ? std::move(others) : std::move(preferred)};
    const auto same_meaning = [&](const Spelling* one) {
        return one->option == begun.all.front()->option && one->value == begun.all.front()->value;
    };
    if (!begun.all.empty() && std::ranges::all_of(begun.all, same_meaning)) begun.meant = begun.all.front();
    return begun;
}

class Expansion {
public:
    Expansion(const std::vector<Spelling>& known, const Words& words, const LineHabits& habits)
        : known_(known), words_(words), habits_(habits) {}

    Expanded run() {
        bool follows = false;
        while (at_ < words_.size()) {
            const bool trims = habits_.trims && !follows;
            const std::string word = trims ? trimmed(words_[at_++]) : words_[at_++];
            if (word.empty() && trims) continue;
            follows = habits_.foreign && habits_.foreign(word, follows);
            if (follows) {
                result_.rest.push_back(word);
            } else if (is_flag(word)) {
                read_flag(word);
            } else {
                read_place(word);
            }
        }
        return std::move(result_);
    }

private:
    [[noreturn]] void refuse(const std::string& message) const {
        throw Error(ErrorKind::usage, (habits_.program.empty() ? "" : habits_.program + ": ") + message);
    }

    /// Reads a word that is not the value of a flag: the next place for such a word takes it.
    void read_place(const std::string& word) {
        std::string taken;
        for (const Spelling& place : known_) {
            if (place.flag.starts_with('-')) continue;
            if (std::ranges::find(result_.words, place.option) == result_.words.end()) return add(place, {word});
            taken += (taken.empty() ? "" : " and one ") + place.flag;
        }
        if (!taken.empty()) refuse("one " + taken + " only, got also '" + word + "'");
        if (habits_.quotes) refuse_name(word, {});
        refuse("unexpected word '" + word + "': options start with --");
    }

    void read_flag(const std::string& word) {
        const std::size_t equals = word.find('=');
        const std::string typed = word.substr(0, equals);
        const Spelling spelling = find(word, typed);
        const std::string& shown = habits_.gathers ? spelling.flag : typed;
        const bool joined = equals != std::string::npos && spelling.flag != word;
        Words values;
        if (joined) values.push_back(word.substr(equals + 1));
        if (!joined || habits_.gathers) take_values(spelling, values);
        if (joined && values.size() > 1)
            refuse("unexpected word '" + values[1] + "' after " + shown + "=" + values.front());
        if (spelling.takes == Takes::nothing && !values.empty())
            refuse(shown + " takes no value" + (habits_.gathers ? ", got '" + values.front() + "'" : ""));
        if (spelling.takes > Takes::optional && values.empty())
            refuse(shown + (habits_.gathers ? ": expected a value" : " needs a value"));
        add(spelling, values);
    }

    void take_values(const Spelling& spelling, Words& values) {
        const bool all = habits_.gathers || spelling.takes == Takes::several;
        const std::size_t most = all ? words_.size() : spelling.takes == Takes::nothing ? 0 : 1;
        const auto ends = [&](const std::string& word) {
            return spelling.takes != Takes::any && (habits_.hyphen_values ? word.starts_with("--") : is_flag(word));
        };
        while (values.size() < most && at_ < words_.size() && !ends(words_[at_]))
            values.push_back(words_[at_++]);
    }

    Spelling find(const std::string& word, std::string name) const {
        if (habits_.underscores) std::ranges::replace(name, '_', '-');
        const Begun begun = spellings_begun_by(known_, name);
        if (begun.meant != nullptr) return *begun.meant;
        const auto meant = habits_.unknown ? habits_.unknown(word, !begun.all.empty()) : std::nullopt;
        if (meant) return *meant;
        refuse_name(name, begun.all);
    }

    [[noreturn]] void refuse_name(const std::string& name, const std::vector<const Spelling*>& begun) const {
        const std::string mark = habits_.quotes ? "'" : "";
        const std::string shown = (habits_.quotes ? "flag " : "option ") + mark + name + mark;
        if (!begun.empty()) {
            std::string list;
            for (const Spelling* spelling : begun)
                list += (habits_.quotes && !list.empty() ? ", " : " ") + spelling->flag;
            refuse("ambiguous " + shown + ": could be" + list);
        }
        Words names;
        for (const Spelling& spelling : known_) {
            if (spelling.preferred) names.push_back(spelling.flag);
        }
        refuse("unknown " + shown + suggestion(name, names, habits_.quotes ? "" : "; see --help", mark, mark));
    }

    void add(const Spelling& spelling, const Words& values) {
        result_.words.push_back(spelling.option);
        const bool trims = habits_.trims && spelling.takes != Takes::any;
        for (const std::string& value : values.empty() ? Words{spelling.value} : values)
            result_.words.push_back(kValueMark + (trims ? trimmed(value) : value));
    }

    const std::vector<Spelling>& known_;
    const Words& words_;
    const LineHabits& habits_;
    std::size_t at_ = 0;
    Expanded result_;
};

}  // namespace

bool is_flag(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 &&
           word[1] != '.';
}

const Spelling* spelling_of(const std::vector<Spelling>& known, std::string_view name) {
    return spellings_begun_by(known, name).meant;
}

Expanded expand_words(const std::vector<Spelling>& known, const Words& words, const LineHabits& habits) {
    return Expansion(known, words, habits).run();
}

}  // namespace cnntrain::config
