#include "tasks/pretraining/config_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/config/commands.h"
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kFolder = "bert";

/// Names from older documents, without the phase.
constexpr std::pair<std::string_view, std::string_view> kOldNames[] = {
    {"pretrain_base_128", "pretrain_base_128_phase1"},
    {"pretrain_base_384", "pretrain_base_384_phase2"},
    {"pretrain_large_128", "pretrain_large_128_phase1"},
    {"pretrain_large_384", "pretrain_large_384_phase2"},
};

bool is_file(const fs::path& path) {
    return exists(posix_files(), path) && !is_directory(posix_files(), path);
}

/// The end of ".json" if a comma or a quotation mark follows: a published line has `.json","$DATASETS_DIR/...`, which
/// becomes one word in a shell.
std::size_t end_of_name(const std::string& word) {
    const std::size_t suffix = word.find(kSuffix);
    if (suffix == std::string::npos) return word.size();
    const std::size_t end = suffix + kSuffix.size();
    const bool slip = end < word.size() && (word[end] == ',' || word[end] == '"');
    return slip ? end : word.size();
}

/// "configs/pretrain_base_128.json" -> "pretrain_base_128".
std::string stem_of(const std::string& word) {
    const std::string name = fs::path(word).filename();
    return name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

std::string current_name(const std::string& stem) {
    const auto* const old = std::ranges::find(kOldNames, stem, &std::pair<std::string_view, std::string_view>::first);
    return old == std::end(kOldNames) ? stem : std::string(old->second);
}

/// "pretrain_base_groupbert_128.json" -> "pretrain_base_128".
std::string plain_stem(const std::string& word) {
    constexpr std::string_view kPart = "groupbert";
    std::string stem = stem_of(word);
    const std::size_t at = stem.find(kPart);
    if (at == std::string::npos) return stem;
    const std::size_t begin = at > 0 && stem[at - 1] == '_' ? at - 1 : at;
    return stem.erase(begin, at + kPart.size() - begin);
}

std::optional<fs::path> find_file(const std::string& word, const std::vector<std::string>& folders) {
    const FileKind kind = posix_files().kind(word);
    if (kind != FileKind::absent && kind != FileKind::directory) return word;
    const std::string name = current_name(stem_of(word)) + std::string(kSuffix);
    for (const std::string& folder : folders) {
        for (const fs::path& path : {fs::path(folder) / kFolder / name, fs::path(folder) / name}) {
            if (is_file(path)) return path;
        }
    }
    return std::nullopt;
}

[[noreturn]] void refuse_unknown(const std::string& word, const std::vector<std::string>& folders) {
    const std::vector<std::string> known = pretraining_config_names(folders);
    std::string names;
    for (const std::string& name : known)
        names += " " + name;
    if (const std::string_view missing = missing_part(word); !missing.empty()) {
        const std::string plain = nearest_name(current_name(plain_stem(word)), known);
        throw Error(ErrorKind::unsupported, "configuration '" + word + "': " + std::string(missing) +
                                                (plain.empty() ? "" : "; BERT's own is '" + plain + "'") +
                                                "; configurations of BERT:" + names);
    }
    std::string message = "unknown configuration '" + word + "'" + suggestion(stem_of(word), known);
    message += known.empty() ? "; no configuration files in" : "; known in";
    for (const std::string& folder : folders)
        message += " " + folder;
    throw Error(ErrorKind::usage, message + (known.empty() ? "" : ":" + names));
}

}  // namespace

config::NamedConfig read_pretraining_config(const std::string& config, const config::Environment& environment) {
    const std::size_t end = end_of_name(config);
    const std::string word = config.substr(0, end);
    const std::optional<fs::path> file = find_file(word, environment.config_folders);
    if (!file) refuse_unknown(word, environment.config_folders);
    config::NamedConfig result{.name = word};
    try {
        result.layer = config::layer_of_json_config(pretraining_options(), read_text(posix_files(), *file));
    } catch (const Error& error) {
        throw Error(ErrorKind::usage, error.what()).within(file->string());
    }
    if (end < config.size()) {
        result.notices.push_back("--config: '" + config.substr(end) + "' after " + word +
                                 " is not part of the name and is ignored; --train-file names the data");
    }
    return result;
}

std::vector<std::string> pretraining_config_names(const std::vector<std::string>& folders) {
    std::set<std::string> names;
    for (const std::string& folder : folders) {
        for (const fs::path& place : {fs::path(folder) / kFolder, fs::path(folder)}) {
            if (!is_directory(posix_files(), place)) continue;
            for (const std::string& name : posix_files().list(place)) {
                if (name.ends_with(kSuffix)) names.insert(stem_of(name));
            }
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace cnntrain::tasks
