#include "options/read/read.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/line.h"
#include "cnntrain/options/option.h"
#include "cnntrain/options/parse.h"

namespace cnntrain::options {
namespace {

std::vector<Spelling> spellings(const std::vector<const Option*>& options) {
    std::vector<Spelling> all;
    for (const Option* option : options)
        std::ranges::move(spellings_of(*option), std::back_inserter(all));
    return all;
}

/// A removed flag of old releases.
struct Retired {
    std::string_view flag;
    std::string_view advice;
};

constexpr Retired kRetired[] = {
    {"--poly-lr-initial-lr", "use --abs-learning-rate"},
    {"--poly-lr-end-lr", "use --abs-end-learning-rate"},
    {"--poly-lr-decay-steps", "the schedule ends with the run"},
    {"--valid-batch-size", "validation uses --micro-batch-size"},
    {"--gc-profile", "use --profile"},
    {"--use-bypass", "SqueezeNet was removed from the original programs"},
};

/// Throws Error(usage): `flag` is unknown here; suggests what may have been meant.
[[noreturn]] void refuse_flag(const OptionSet& all, Command command, const std::string& flag,
                              const std::vector<Spelling>& known) {
    const std::string start = "unknown option " + flag;
    const auto* const retired = std::ranges::find(kRetired, flag, &Retired::flag);
    if (retired != std::end(kRetired))
        throw Error(ErrorKind::usage, start + ": removed long ago; " + std::string(retired->advice));
    for (const Option& option : all.rows()) {
        const std::vector<Spelling> own = spellings_of(option);
        if (std::ranges::find(own, flag, &Spelling::flag) == own.end()) continue;
        if ((option.commands & bit(command)) == 0)
            throw Error(ErrorKind::usage, start + ": it is not an option of " + std::string(name(command)));
        const Option& selector = all.at(option.exists_with.front().key);
        throw Error(ErrorKind::usage,
                    start + ": it belongs to another " + std::string(selector.flag) + " than this run's");
    }
    std::vector<std::string> flags;
    std::ranges::transform(known, std::back_inserter(flags), &Spelling::flag);
    if (flag.size() <= 2) flags.clear();  // every other letter is near it
    throw Error(ErrorKind::usage, start + suggestion(flag, flags, "; see --help", "", ""));
}

/// An old name and its option are two names of one value, which the line gives twice. An abbreviation is the same name,
/// whose last value counts.
void refuse_two_names(const Option& option, const std::string& before, const std::string& now) {
    const auto is_name = [&](const std::string& flag) {
        const auto old = std::ranges::find(option.aliases, flag, &Alias::flag);
        return flag == option.flag || (old != option.aliases.end() && old->fixed_value.empty());
    };
    const bool abbreviated = option.flag.starts_with(before) && option.flag.starts_with(now);
    if (before == now || abbreviated || !is_name(before) || !is_name(now)) return;
    throw Error(ErrorKind::usage,
                before + " and " + now + " are two names of one value; give " + std::string(option.flag) + " only");
}

}  // namespace

std::vector<Spelling> spellings_of(const Option& option) {
    const std::string flag(option.flag);
    const bool original = option.group != kThisProgram;  // in the original programs
    const Takes takes = option.type == Type::boolean         ? Takes::nothing
                        : option.type == Type::boolean_value ? Takes::optional
                                                             : Takes::several;
    std::vector<Spelling> all = {{flag, flag, takes, "true", original && !option.off_switch}};
    if (is_boolean(option) && !is_action(option))
        all.push_back({negated(flag), flag, Takes::nothing, "false", original && option.off_switch});
    for (const Alias& alias : option.aliases) {
        Spelling& old = all.emplace_back(Spelling{std::string(alias.flag), flag, takes, "true", false});
        if (alias.fixed_value.empty()) continue;
        old.takes = Takes::nothing;
        old.value = alias.fixed_value;
    }
    return all;
}

std::vector<Spelling> spellings_of(const OptionSet& options, Command command) {
    std::vector<const Option*> accepted;
    for (const Option& option : options.rows()) {
        if ((option.commands & bit(command)) != 0) accepted.push_back(&option);
    }
    return spellings(accepted);
}

Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments) {
    const std::vector<Spelling> known = spellings(options);
    LineHabits habits{.gathers = true};
    habits.unknown = [&](const std::string& word, bool ambiguous) -> std::optional<Spelling> {
        if (!ambiguous) refuse_flag(all, command, word.substr(0, word.find('=')), known);
        return std::nullopt;
    };
    Layer layer;
    std::map<const Option*, std::string> spelled;  // the flag by which the line gives an option
    for (const GivenValues& given : read_line(known, arguments, habits).options) {
        const Option* option = *std::ranges::find(options, given.option, &Option::flag);
        refuse_two_names(*option, std::exchange(spelled[option], given.flag), given.flag);
        layer[option] = convert(*option, given.values);
    }
    return layer;
}

namespace {

using Words = std::vector<std::string>;

std::string trimmed(const std::string& word) {
    return word.substr(std::min(word.find_first_not_of(" \t\n\v\f\r"), word.size()));
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

class LineReader {
public:
    LineReader(const std::vector<Spelling>& known, const Words& words, const LineHabits& habits)
        : known_(known), words_(words), habits_(habits) {}

    Line run() {
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
            const bool is_free =
                std::ranges::find(result_.options, place.option, &GivenValues::option) == result_.options.end();
            if (is_free) return add(place, {word});
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
        const bool trims = habits_.trims && spelling.takes != Takes::any;
        GivenValues& given = result_.options.emplace_back(GivenValues{spelling.option, spelling.flag, {}});
        for (const std::string& value : values.empty() ? Words{spelling.value} : values)
            given.values.push_back(trims ? trimmed(value) : value);
    }

    const std::vector<Spelling>& known_;
    const Words& words_;
    const LineHabits& habits_;
    std::size_t at_ = 0;
    Line result_;
};

}  // namespace

bool is_flag(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 &&
           word[1] != '.';
}

const Spelling* spelling_of(const std::vector<Spelling>& known, std::string_view name) {
    return spellings_begun_by(known, name).meant;
}

Line read_line(const std::vector<Spelling>& known, const std::vector<std::string>& words, const LineHabits& habits) {
    return LineReader(known, words, habits).run();
}

std::int64_t whole_number(const std::string& name, std::string_view word, std::int64_t least, std::int64_t most) {
    const auto value = as_number<std::int64_t>(word);
    if (value && *value >= least && *value <= most) return *value;
    throw Error(ErrorKind::usage, name + " expects a whole number from " + std::to_string(least) + " to " +
                                      std::to_string(most) + ", got '" + std::string(word) + "'");
}

namespace {

namespace fs = std::filesystem;

/// Tables of other things in the same folder.
constexpr std::string_view kOtherTables[] = {"benchmarks.yml", "weights.yml"};

/// The YAML files in a folder (or the one file) that may hold configurations, sorted by name.
std::vector<std::string> files_of(const std::string& place) {
    const FileKind kind = posix_files().kind(place);
    if (kind == FileKind::absent) return {};
    if (kind != FileKind::directory) return {place};
    std::vector<std::string> files;
    for (const std::string& name : posix_files().list(place)) {
        const std::string extension = fs::path(name).extension();
        const bool yaml = extension == ".yml" || extension == ".yaml";
        if (yaml && std::ranges::find(kOtherTables, name) == std::end(kOtherTables))
            files.push_back(fs::path(place) / name);
    }
    return files;
}

YAML::Node load(const std::string& file) {
    YAML::Node root = YAML::Load(yaml_text(file, ErrorKind::usage));
    if (!root.IsMap()) throw Error(ErrorKind::usage, file + ": expected a mapping of configuration names");
    return root;
}

using Entries = std::map<std::string, YAML::Node>;

void overwrite(Entries& target, const Entries& source) {
    for (const auto& [key, node] : source)
        target[key].reset(node);
}

/// A mapping with its merge keys resolved by YAML 1.1 rules: the mapping's own keys win; of two `<<` entries the later
/// one wins; in a list of merged mappings the earlier one wins.
Entries merged_entries(const YAML::Node& mapping) {
    if (!mapping.IsMap()) {
        throw Error(ErrorKind::usage,
                    "line " + std::to_string(mapping.Mark().line + 1) + ": expected a mapping of options");
    }
    Entries merged;
    for (const auto& item : mapping) {
        if (item.first.Scalar() != "<<") continue;
        const YAML::Node& value = item.second;
        const std::size_t count = value.IsSequence() ? value.size() : 1;
        Entries parts;
        for (std::size_t i = count; i > 0; --i)
            overwrite(parts, merged_entries(value.IsSequence() ? value[i - 1] : value));
        overwrite(merged, parts);
    }
    for (const auto& item : mapping) {
        if (item.first.Scalar() != "<<") merged[item.first.Scalar()].reset(item.second);
    }
    return merged;
}

std::vector<std::string> scalars_of(const YAML::Node& node) {
    if (node.IsScalar()) return {node.Scalar()};
    const auto refuse = [](const YAML::Node& at) {
        throw Error(ErrorKind::usage, "line " + std::to_string(at.Mark().line + 1) + ": expected a value or a list");
    };
    if (!node.IsSequence()) refuse(node);
    std::vector<std::string> words;
    for (const auto& item : node) {
        if (!item.IsScalar()) refuse(item);
        words.push_back(item.Scalar());
    }
    return words;
}

const Option& option_for(const OptionSet& options, const std::string& key_text, const Alias** alias) {
    const Option* option = options.with_key(key_text, alias);
    if (option != nullptr) return *option;
    std::vector<std::string> keys;
    for (const Option& known : options.rows())
        keys.push_back(key(known));
    throw Error(ErrorKind::usage, "unknown key '" + key_text + "'" + suggestion(key_text, keys));
}

Layer to_layer(const OptionSet& options, const Entries& entries) {
    Layer layer;
    for (const auto& [key_text, node] : entries) {
        const Alias* alias = nullptr;
        const Option& option = option_for(options, key_text, &alias);
        if (node.IsNull()) continue;
        const std::vector<std::string> words = scalars_of(node);
        if (alias != nullptr && !alias->fixed_value.empty()) {
            const Option flag{.flag = alias->flag, .type = Type::boolean};
            if (std::get<bool>(convert(flag, words))) layer[&option] = std::string(alias->fixed_value);
            continue;
        }
        layer[&option] = convert(option, words);
    }
    return layer;
}

struct Search {
    std::optional<Layer> found;
    std::optional<Error> unreadable;  // error of the first file that is not a configuration file
};

/// Skips files that are not configuration files, since folders may hold YAML files of other programs. Their error is
/// reported only if the name is found nowhere.
Search find(const OptionSet& options, const std::string& config, const std::vector<std::string>& places) {
    Search search;
    for (const std::string& place : places) {
        for (const std::string& file : files_of(place)) {
            YAML::Node root;
            try {
                root = load(file);
            } catch (const Error& error) {
                if (!search.unreadable) search.unreadable = error;
                continue;
            }
            for (const auto& item : root) {
                if (item.first.Scalar() != config) continue;
                try {
                    search.found = to_layer(options, merged_entries(item.second));
                    return search;
                } catch (const Error& error) {
                    throw error.within(config).within(file);
                }
            }
        }
    }
    return search;
}

}  // namespace

std::vector<std::string> config_names(const std::vector<std::string>& places) {
    std::set<std::string> found;
    for (const std::string& place : places) {
        for (const std::string& file : files_of(place)) {
            for (const auto& item : load(file))
                found.insert(item.first.Scalar());
        }
    }
    return {found.begin(), found.end()};
}

Layer read_config_layer(const OptionSet& options, const std::string& config, const std::vector<std::string>& places) {
    constexpr std::string_view kOldPrefix = "mk2_";
    Search search = find(options, config, places);
    if (!search.found && config.starts_with(kOldPrefix))
        search = find(options, config.substr(kOldPrefix.size()), places);
    const bool old_only = !search.found && !config.starts_with(kOldPrefix);  // benchmarks may omit the prefix
    if (old_only) search = find(options, std::string(kOldPrefix) + config, places);
    if (search.found) return *search.found;
    if (search.unreadable) throw *search.unreadable;
    const std::vector<std::string> known = config_names(places);
    std::string message = "unknown configuration '" + config + "'" + suggestion(config, known);
    message += (known.empty() ? "; no configuration files in" : "; configurations in") + each_behind(" ", places);
    throw Error(ErrorKind::usage, message + (known.empty() ? "" : ":" + each_behind(" ", known)));
}

namespace {

constexpr std::uint64_t kLargestFileBytes = 1'000'000;
constexpr std::int64_t kMostValues = 20'000;
constexpr int kDeepest = 64;

/// The size of a value after its references are expanded.
struct Extent {
    std::int64_t values = 1;
    int depth = 0;
};

/// Measures a document during parsing, without building it.
class Limits : public YAML::EventHandler {
public:
    explicit Limits(ErrorKind kind) : kind_(kind) {}

    void OnDocumentStart(const YAML::Mark& mark) override { first_ = mark; }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { value(mark, anchor, {}); }
    void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  const std::string& /*value*/) override {
        is_empty_ = false;
        value(mark, anchor, {});
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end()) fail(mark, "the value contains a reference to itself");
        value(mark, 0, found->second);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        begin(mark, anchor);
    }
    void OnSequenceEnd() override { end(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        begin(mark, anchor);
    }
    void OnMapEnd() override { end(); }

    /// Error unless the document that was measured has no value: readers take the first document only.
    void refuse_if_more() const {
        if (!is_empty_) fail(first_, "a second document begins here, and only one is read; keep one in the file");
    }

    int position() const { return first_.pos; }  // of the document

    /// Error if yaml-cpp is where it was: it does not pass a ',' outside of lists.
    void refuse_if_at(int last) const {
        if (first_.pos == last) fail(first_, "a value is expected here");
    }

private:
    struct Open {
        YAML::Mark mark;
        YAML::anchor_t anchor;
        Extent extent;
    };

    [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
        throw Error(kind_, "line " + std::to_string(mark.line + 1) + ": " + what);
    }

    void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
        is_empty_ = false;
        open_.push_back({mark, anchor, {}});
        if (open_.size() > kDeepest) fail_depth(mark);
    }

    void end() {
        const Open closed = open_.back();
        open_.pop_back();
        value(closed.mark, closed.anchor, closed.extent);
    }

    /// Adds a complete value to the innermost open container.
    void value(const YAML::Mark& mark, YAML::anchor_t anchor, const Extent& extent) {
        if (anchor != 0) anchors_[anchor] = extent;
        if (open_.empty()) return;
        Extent& around = open_.back().extent;
        around.values += extent.values;
        around.depth = std::max(around.depth, extent.depth + 1);
        if (around.values > kMostValues)
            fail(mark, "with its references the file holds more than " + std::to_string(kMostValues) + " values");
        if (around.depth > kDeepest) fail_depth(mark);
    }

    [[noreturn]] void fail_depth(const YAML::Mark& mark) const {
        fail(mark, "values are nested more than " + std::to_string(kDeepest) + " deep");
    }

    ErrorKind kind_;
    YAML::Mark first_ = {};  // where the document begins
    bool is_empty_ = true;
    std::vector<Open> open_;
    std::unordered_map<YAML::anchor_t, Extent> anchors_;  // sizes of complete values
};

}  // namespace

std::string yaml_text(const std::string& file, ErrorKind kind) {
    std::string text = read_text(posix_files(), file, kLargestFileBytes);
    try {
        check_yaml(text, kind);
    } catch (const Error& error) {
        throw error.within(file);
    }
    return text;
}

void check_yaml(std::string_view text, ErrorKind kind) {
    Limits limits(kind);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        parser.HandleNextDocument(limits);
        Limits next(kind);
        for (int last = limits.position(); parser.HandleNextDocument(next); last = next.position()) {
            next.refuse_if_more();
            next.refuse_if_at(last);
        }
    } catch (const YAML::ParserException& error) {
        throw Error(kind, "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
    } catch (const YAML::Exception& error) {
        throw Error(kind, error.what());
    }
}

namespace {

std::string expanded(const std::string& flag, const std::string& name, const Variables& variables,
                     std::vector<std::string>& notices) {
    std::set<std::string> unset;
    std::string result = expand(name, variables, unset);
    if (!unset.empty()) {
        throw Error(ErrorKind::usage, flag + " " + name + ": the variable " + *unset.begin() +
                                          " of the environment is not set; set it (export " + *unset.begin() +
                                          "=FOLDER) or write the name out");
    }
    const std::size_t slash = name.find('/');
    if (result != name || slash == std::string::npos) return result;
    const std::string first = name.substr(0, slash);
    const auto variable = variables.find(first);
    if (variable == variables.end() || exists(posix_files(), first)) return name;
    result = variable->second + name.substr(slash);
    notices.push_back(flag + " " + name + ": there is no '" + first + "' here, so it is taken for the variable $" +
                      first + ": " + result);
    return result;
}

}  // namespace

void expand_file_names(Layer& layer, const Environment& environment, std::vector<std::string>& notices) {
    for (auto& [option, value] : layer) {
        auto* const name = std::get_if<std::string>(&value);
        if (name == nullptr || option->names != Names::expanded_path) continue;
        const std::string flag(option->flag);
        const auto of_part = [&](std::string_view part) {
            return expanded(flag, std::string(part), environment.variables, notices);
        };
        *name = option->type == Type::patterns ? joined(split(*name, ','), ",", of_part) : of_part(*name);
    }
}

}  // namespace cnntrain::options
