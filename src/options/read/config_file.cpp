#include "options/read/config_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/line.h"
#include "cnntrain/options/option.h"
#include "options/read/value.h"

namespace cnntrain::options {
namespace {

namespace fs = std::filesystem;

/// Holds benchmarks rather than configurations, in the same folder.
constexpr std::string_view kBenchmarks = "benchmarks.yml";

/// The YAML files in a folder (or the one file) that may hold configurations, sorted by name.
std::vector<std::string> files_of(const std::string& place) {
    const FileKind kind = posix_files().kind(place);
    if (kind == FileKind::absent) return {};
    if (kind != FileKind::directory) return {place};
    std::vector<std::string> files;
    for (const std::string& name : posix_files().list(place)) {
        const std::string extension = fs::path(name).extension();
        const bool yaml = extension == ".yml" || extension == ".yaml";
        if (yaml && name != kBenchmarks) files.push_back(fs::path(place) / name);
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

std::vector<std::string> names_in(const std::vector<std::string>& places) {
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
    const std::vector<std::string> known = names_in(places);
    std::string message = "unknown configuration '" + config + "'" + suggestion(config, known);
    message += known.empty() ? "; no configuration files in" : "; configurations in";
    for (const std::string& place : places)
        message += " " + place;
    if (!known.empty()) message += ":";
    for (const std::string& name : known)
        message += " " + name;
    throw Error(ErrorKind::usage, message);
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
        while (parser.HandleNextDocument(next))
            next.refuse_if_more();
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

/// Expands each part of a comma-separated list.
std::string expanded_list(const std::string& flag, const std::string& list, const Variables& variables,
                          std::vector<std::string>& notices) {
    std::string result;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        if (begin > 0) result += ',';
        result += expanded(flag, list.substr(begin, end - begin), variables, notices);
        begin = end + 1;
    }
    return result;
}

}  // namespace

void expand_file_names(Layer& layer, const Environment& environment, std::vector<std::string>& notices) {
    for (auto& [option, value] : layer) {
        auto* const name = std::get_if<std::string>(&value);
        if (name == nullptr || option->names != Names::expanded_path) continue;
        const std::string flag(option->flag);
        const bool lists = option->type == Type::patterns;
        *name = lists ? expanded_list(flag, *name, environment.variables, notices)
                      : expanded(flag, *name, environment.variables, notices);
    }
}

}  // namespace cnntrain::options
