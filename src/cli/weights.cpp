// `cnntrain weights`: lists and fetches published weights, which other commands take by name.
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/dataset_inspect.h"
#include "cli/flags.h"
#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/weights/published.h"

namespace cnntrain::cli {
namespace {

using weights::PublishedWeights;
using Table = std::vector<PublishedWeights>;

Table table_in(const std::string& path) {
    return weights::parse_published(options::yaml_text(path, ErrorKind::usage), path);
}

/// The table of the first of the folders that has one.
Table table_of(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
        const std::string path = path_in(folder, weights::kPublishedFile);
        if (exists(posix_files(), path)) return table_in(path);
    }
    throw Error(ErrorKind::data, "there is no " + std::string(weights::kPublishedFile) + " in " +
                                     joined(folders, ", ") + ", where the published weights are listed");
}

bool contains_but_case(std::string_view text, std::string_view part) {
    return in_lower_case(text).find(in_lower_case(part)) != std::string::npos;
}

/// The row of a name as its program spells it: "timm/resnet50.a1_in1k" and "hf-hub:timm/..." are timm's, too.
const PublishedWeights* row_named(const Table& table, std::string_view name) {
    for (const std::string_view prefix : {"hf-hub:", "hf_hub:", "timm/"}) {
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    }
    const auto found =
        std::ranges::find_if(table, [&](const PublishedWeights& row) { return equal_but_case(row.name, name); });
    return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const Table& table) {
    std::vector<std::string> names;
    for (const PublishedWeights& row : table)
        names.push_back(row.name);
    return names;
}

/// Throws Error(usage) for a word that names nothing, but nearly or in part a row.
void refuse_near_miss(const Table& table, const std::string& word) {
    const std::string what = "'" + word + "' is no file or folder, and no name of published weights; ";
    if (const std::string nearest = nearest_name(word, names_of(table)); !nearest.empty())
        throw Error(ErrorKind::usage, what + "did you mean " + nearest + "?");
    constexpr std::size_t kLeast = 6;  // "run" is a part of many words
    const std::string_view network = std::string_view(word).substr(0, word.find('.'));
    const bool is_part = network.size() >= kLeast && std::ranges::any_of(table, [&](const PublishedWeights& row) {
                             return contains_but_case(row.name, network);
                         });
    if (is_part) throw Error(ErrorKind::usage, what + "cnntrain weights " + std::string(network) + " lists names");
}

/// The row for --pretrained: of the network that the line names, or else of the usual one.
const PublishedWeights& default_row(const Table& table, const options::WeightsWish& wish) {
    const std::string model = wish.model.empty() ? std::string(spelling(nn::Family{})) : wish.model;
    const std::optional<nn::Family> family = named<nn::Family>(model);
    std::string size = wish.size;
    if (size.empty() && family) size = nn::family_info(*family).large_images.size;
    for (const PublishedWeights& row : table) {
        if (row.is_default && equal_but_case(row.model, model) && equal_but_case(row.size, size)) return row;
    }
    throw Error(ErrorKind::usage, "--pretrained: no published weights are known of --model " + model +
                                      " --model-size " + size + "; cnntrain weights lists those of other networks");
}

std::string or_unknown(const std::string& text) {
    return text.empty() ? "unknown" : text;
}

std::string classes_text(const PublishedWeights& row) {
    return or_unknown(row.classes > 0 ? std::to_string(row.classes) : "");
}

std::string facts(const PublishedWeights& row) {
    return row.model + " " + row.size + " of " + row.source + ", " + std::to_string(row.pixels) + " pixels, " +
           classes_text(row) + " classes, licence " + or_unknown(row.licence);
}

/// Fetches the weights, with progress, and returns their folder.
std::string fetch(const PublishedWeights& row, const std::string& cache, const std::string& command_line,
                  bool sums_again) {
    if (!sums_again && weights::is_fetched(posix_files(), row, cache)) return path_in(cache, row.name);
    catch_stop_signals();
    ProgressReport progress("MB");
    weights::FetchHost host;
    host.stop_requested = stop_requested;
    host.command_line = command_line;
    host.sums_again = sums_again;
    host.progress = [&](std::uint64_t done, std::uint64_t first, std::uint64_t total) {
        progress.update_bytes(done, total, first);
    };
    std::string folder = weights::fetch_published(posix_files(), row, cache, host);
    if (stop_requested()) throw Interrupted();
    return folder;
}

void list(const std::vector<const PublishedWeights*>& rows, const std::string& cache) {
    TextRows text = {{"name", "network", "pixels", "classes", "licence", "source", ""}};
    for (const PublishedWeights* const row : rows) {
        const bool here = !cache.empty() && exists(posix_files(), weights::published_path(*row, cache));
        text.push_back({row->name, row->model + " " + row->size, std::to_string(row->pixels), classes_text(*row),
                        or_unknown(row->licence), row->source,
                        std::string(row->is_default ? "default" : "") + (row->is_default && here ? ", " : "") +
                            (here ? "fetched" : "")});
    }
    std::cout << in_columns(text, kAllColumns) << counted(std::ssize(rows), "file") << '\n';
}

/// "" where none is needed and the environment names none.
std::string cache_of(const Flags& flags, bool is_needed) {
    if (flags.given("--cache")) {
        if (flags.text("--cache").empty()) refuse_line("cnntrain weights: --cache expects a folder");
        return flags.text("--cache");
    }
    try {
        return weights::published_cache(process_variables());
    } catch (const Error&) {
        if (is_needed) throw;
        return "";
    }
}

/// `by_folder`: the folder stands for the weights in other commands, not their name.
void fetch_one(const PublishedWeights& row, const std::string& cache, const std::string& command_line, bool by_folder) {
    std::cout << row.name << ": " << facts(row) << '\n' << "From " << row.address << std::endl;
    const std::string path = weights::published_path(row, cache);
    const bool was_here = exists(posix_files(), path);
    const std::string folder = fetch(row, cache, command_line, /*sums_again=*/true);
    std::cout << (was_here ? "Already in " : "Saved to ") << path << ": "
              << size_text(posix_files().open(path)->size_bytes()) << ", published SHA-256: "
              << (row.sha256.empty() ? "unknown" : row.sha256 + (row.sha256.size() < 64 ? "..." : "")) << '\n'
              << "Use it: cnntrain train --data-dir PHOTOS --init-path " << (by_folder ? folder : row.name) << '\n';
}

}  // namespace

CommandFlags weights_flags() {
    return {{{"NAME", "", "the weights to fetch; a part of names lists those; without it, all are listed"},
             {"--model", "", "list those of a family: resnet, resnext or efficientnet"},
             {"--model-size", "", "list those of a size: 50, B0, Lite0, V2-S"},
             {"--licence", "", "list those whose licence contains this: apache, bsd, cc-by-nc, unknown"},
             {"--cache", "",
              "folder for fetched files; otherwise $XDG_CACHE_HOME/cnntrain/weights or "
              "~/.cache/cnntrain/weights"},
             rare({"--table", "", "another table than weights.yml of the configurations"})},
            "\n"
            "Lists the weights that timm and torchvision publish for this program's networks, and fetches them:\n"
            "  cnntrain weights --model efficientnet --licence apache\n"
            "  cnntrain weights tf_efficientnet_lite0.in1k\n"
            "train, validation and inference take the names, too, and fetch what is not there:\n"
            "  cnntrain train --data-dir PHOTOS --init-path tf_efficientnet_lite0.in1k\n"
            "  cnntrain train --data-dir PHOTOS --model resnet --model-size 50 --pretrained\n"
            "  cnntrain inference --data-dir PHOTO.jpg --model resnet50.a1_in1k\n"
            "--pretrained takes the row that is the default of its network. Licences and the first digits of\n"
            "the SHA-256 are those that timm and torchvision state; what they do not state is unknown and not\n"
            "checked. A licence with nc in its name forbids commercial use. An interrupted download goes on\n"
            "where it ended.\n"};
}

int weights_command(const Invocation& invocation) {
    const Flags flags(weights_flags(), called(invocation), invocation.arguments);
    if (flags.print_help_if_wanted()) return 0;
    const Table table = flags.given("--table") ? table_in(flags.text("--table"))
                                               : table_of(options::process_environment().config_folders);
    const std::string name = flags.given("NAME") ? flags.text("NAME") : "";
    const bool filters = flags.given("--model") || flags.given("--model-size") || flags.given("--licence");
    const PublishedWeights* const one = filters ? nullptr : row_named(table, name);
    const std::string cache = cache_of(flags, /*is_needed=*/one != nullptr);
    if (one != nullptr) {
        fetch_one(*one, cache, invocation.command_line, flags.given("--cache") || flags.given("--table"));
        return 0;
    }
    const auto fits = [&](const char* flag, const auto& holds) {
        return !flags.given(flag) || holds(flags.text(flag));
    };
    std::vector<const PublishedWeights*> rows;
    for (const PublishedWeights& row : table) {
        const std::string licence = or_unknown(row.licence);
        if (contains_but_case(row.name, name) &&
            fits("--model", [&](const auto& text) { return equal_but_case(row.model, text); }) &&
            fits("--model-size", [&](const auto& text) { return equal_but_case(row.size, text); }) &&
            fits("--licence", [&](const auto& text) { return contains_but_case(licence, text); }))
            rows.push_back(&row);
    }
    if (rows.empty()) {
        constexpr const char* kAll = "; cnntrain weights lists all of them";
        throw Error(ErrorKind::usage, "no published weights fit this" + suggestion(name, names_of(table), kAll));
    }
    list(rows, cache);
    return 0;
}

std::string find_weights(const options::WeightsWish& wish, const std::vector<std::string>& config_folders,
                         const std::string& command_line) {
    const bool by_network = wish.name == options::kDefaultWeights;
    if (!by_network && posix_files().kind(wish.name) != FileKind::absent) return "";
    const Table table = table_of(config_folders);
    const PublishedWeights* const row = by_network ? &default_row(table, wish) : row_named(table, wish.name);
    if (row == nullptr) {
        refuse_near_miss(table, wish.name);
        return "";
    }
    log::info("weights " + row->name + ": " + facts(*row));
    return fetch(*row, weights::published_cache(process_variables()), command_line, /*sums_again=*/false);
}

}  // namespace cnntrain::cli
