#include "config/read/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/config/yaml_text.h"
#include "config/read/value.h"

namespace cnntrain::config {
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

}  // namespace cnntrain::config
