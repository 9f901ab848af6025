#include "layers/layer_rules.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <sstream>

namespace cnntrain::layers {
namespace {

constexpr std::size_t kMostLines = 600;
constexpr std::string_view kPublic = "cnntrain/";  // how public headers are written

/// A module may include itself and these. Beyond that, config may include the settings of every module, because it
/// fills them in; they in turn include nothing but base and each other.
struct Module {
    std::string_view name;
    std::vector<std::string_view> may_include;
    std::vector<std::string_view> opens =
        {};  // folders and files of another module whose private headers it may include
};

const std::vector<Module>& modules() {
    static const std::vector<Module> table = {
        {"base", {}},
        {"config", {"base"}},
        {"graph", {"base"}},
        {"comm", {"base"}},
        {"data", {"base"}},
        {"checkpoint", {"base"}},
        {"schedule", {"base"}},
        {"ops", {"base", "graph"}},
        {"nn", {"base", "graph"}},
        {"optim", {"base", "graph"}},
        {"metrics", {"base", "comm"}},
        {"backend", {"base", "graph", "comm", "data", "schedule"}},
        {"backend/ref", {"base", "graph", "comm", "data", "schedule", "backend", "ops"}},
        {"backend/cpu", {"base", "graph", "comm", "data", "schedule", "backend"}},
        {"backend/ipu", {"base", "graph", "comm", "data", "schedule", "backend"}},
        {"ipu_emulator", {}},
        {"dataset_tools",  // writes and checks the formats that data reads
         {"base", "data"},
         /*opens=*/
         {"data/images/", "data/records/", "data/text/", "data/sets/file_patterns.h", "data/sets/raw_files.h"}},
        {"profile", {"base", "graph", "comm", "data", "schedule", "backend"}},
        {"train",
         {"base", "config", "graph", "comm", "data", "checkpoint", "schedule", "ops", "nn", "optim", "metrics",
          "backend", "profile"}},
        {"tasks",
         {"base", "config", "graph", "data", "checkpoint", "schedule", "ops", "nn", "optim", "metrics", "backend",
          "train"}},
        {"plan",
         {"base", "config", "graph", "comm", "data", "schedule", "ops", "nn", "optim", "metrics", "backend", "profile",
          "train"},
         /*opens=*/{"train/"}},
        {"exports",
         {"base", "config", "graph", "data", "checkpoint", "schedule", "ops", "nn", "metrics", "backend", "train",
          "tasks"},
         /*opens=*/{"train/runs/"}},
        {"report", {"base", "checkpoint", "schedule", "profile"}},
        {"launch", {"base", "config"}},
        {"benchmark", {"base", "config", "launch", "tasks"}},
        {"cli", {"base",   "config", "graph", "comm",    "data",    "checkpoint",    "schedule",
                 "ops",    "nn",     "optim", "metrics", "backend", "dataset_tools", "plan",
                 "report", "train",  "tasks", "exports", "launch",  "benchmark"}},
    };
    return table;
}

/// Headers of other projects, by how their names begin, and the folders or files that may include them.
struct ThirdParty {
    std::string_view begins;
    std::vector<std::string_view> allowed_in;
    bool sources_only = false;
};

const std::vector<ThirdParty>& third_party() {
    static const std::vector<ThirdParty> table = {
        {"CLI/", {"src/config/"}},
        {"yaml-cpp/", {"src/config/", "src/benchmark/", "src/launch/"}},
        {"re2/", {"src/base/", "src/benchmark/"}, /*sources_only=*/true},
        {"dnnl", {"src/backend/cpu/"}},
        {"oneapi/dnnl", {"src/backend/cpu/"}},
        {"hwy/", {"src/backend/cpu/", "src/data/images/", "src/train/features/"}},
        {"omp.h", {"src/backend/cpu/"}},
        {"tbb/", {"src/data/", "src/dataset_tools/", "src/backend/cpu/"}},
        {"oneapi/tbb", {"src/data/", "src/dataset_tools/", "src/backend/cpu/"}},
        {"jpeglib.h", {"src/data/images/"}},
        {"png.h", {"src/data/images/"}},
        {"zlib.h", {"src/checkpoint/foreign/zip.cpp"}, /*sources_only=*/true},
        {"webp/", {"src/data/images/"}, /*sources_only=*/true},
        {"gif_lib.h", {"src/data/images/"}, /*sources_only=*/true},
        {"tiffio.h", {"src/data/images/"}, /*sources_only=*/true},
        {"pugixml", {"src/dataset_tools/writing/"}},
        {"utf8proc.h", {"src/data/text/"}},
        {"jerror.h", {"src/data/images/"}},
        {"google/protobuf/", {"src/dataset_tools/writing/"}},
        {"mpi.h", {"src/comm/mpi.cpp"}},
        {"poplar/", {"src/backend/ipu/", "src/ipu_emulator/"}},
        {"popops/", {"src/backend/ipu/", "src/ipu_emulator/"}},
        {"poplin/", {"src/backend/ipu/", "src/ipu_emulator/"}},
        {"popnn/", {"src/backend/ipu/", "src/ipu_emulator/"}},
        {"poputil/", {"src/backend/ipu/", "src/ipu_emulator/"}},
        {"poprand/", {"src/backend/ipu/", "src/ipu_emulator/"}},
        {"gcl/", {"src/backend/ipu/", "src/ipu_emulator/"}},
        {"spdlog/", {"src/base/log.cpp"}},
        {"nlohmann/", {"src/"}, true},
    };
    return table;
}

/// Headers of the operating system and the compiler that have a ".h" or a folder in their names.
constexpr std::string_view kSystem[] = {"sys/",     "linux/",    "unistd.h",  "fcntl.h",     "sched.h",   "signal.h",
                                        "dirent.h", "pthread.h", "termios.h", "immintrin.h", "malloc.h",  "nmmintrin.h",
                                        "cpuid.h",  "spawn.h",   "poll.h",    "glob.h",      "fnmatch.h", "arpa/",
                                        "netinet/", "netdb.h",   "ifaddrs.h"};

bool begins_with_any(std::string_view text, const auto& prefixes) {
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

/// The module that a path without "src/" or "include/cnntrain/" lies in: the longest name that fits.
const Module* module_of(std::string_view path) {
    const Module* best = nullptr;
    for (const Module& module : modules()) {
        const bool fits = path.starts_with(module.name) && path.substr(module.name.size()).starts_with('/');
        if (fits && (best == nullptr || module.name.size() > best->name.size())) best = &module;
    }
    return best;
}

struct Include {
    std::string name;
    bool angle = false;
};

std::optional<Include> include_of(const std::string& line) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') return std::nullopt;
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) return std::nullopt;
    const std::size_t open = line.find_first_not_of(" \t", word + 7);
    if (open == std::string::npos || (line[open] != '<' && line[open] != '"')) return std::nullopt;
    const bool angle = line[open] == '<';
    const std::size_t close = line.find(angle ? '>' : '"', open + 1);
    if (close == std::string::npos) return std::nullopt;
    return Include{line.substr(open + 1, close - open - 1), angle};
}

/// "" when all is well.
std::string why_not_angle(const std::string& path, const std::string& header) {
    for (const ThirdParty& row : third_party()) {
        if (!header.starts_with(row.begins)) continue;
        if (!begins_with_any(path, row.allowed_in)) return "<" + header + "> is not for this module";
        if (row.sources_only && !path.ends_with(".cpp")) return "<" + header + "> is for .cpp files only";
        return "";
    }
    const bool standard = header.find_first_of("./") == std::string::npos;
    if (standard || begins_with_any(header, kSystem)) return "";
    return "<" + header + "> is unknown; a new third-party header gets a row in tests/layers/layer_rules.cpp";
}

/// The header in which a module declares what the user may ask of it: "cnntrain/<module>/settings.h",
/// or "cnntrain/<module>/<part>_settings.h".
bool declares_settings(std::string_view header) {
    if (!header.starts_with(kPublic) || !header.ends_with("settings.h")) return false;
    const Module* module = module_of(header.substr(kPublic.size()));
    return module != nullptr && module->name != "config";
}

std::string why_not_quoted(const std::string& path, const Module& from, const std::string& header) {
    const bool is_public = header.starts_with(kPublic);
    if (!is_public && path.starts_with("include/")) return "a public header includes the private \"" + header + "\"";
    if (header.ends_with(".pb.h")) {
        const std::string_view owner = header == "onnx.pb.h" ? "exports" : "data";
        const bool opened = owner == "data" && begins_with_any("data/records/", from.opens);
        const bool known = from.name == owner || opened;
        return known ? "" : "\"" + header + "\" is generated for the module " + std::string(owner) + " only";
    }
    const Module* to = module_of(is_public ? std::string_view(header).substr(kPublic.size()) : header);
    if (to == nullptr) return "\"" + header + "\" is in no module; write \"cnntrain/<module>/...\" or \"<module>/...\"";
    if (path.starts_with("include/") && declares_settings(std::string_view(path).substr(8))) {
        if (to->name == "base" || declares_settings(header)) return "";
        return "settings may include base and other settings only, not \"" + header + "\"";
    }
    if (to == &from) return "";
    if (from.name == "config" && declares_settings(header)) return "";
    if (!is_public && !begins_with_any(header, from.opens))
        return "\"" + header + "\" is private to the module " + std::string(to->name);
    if (std::ranges::count(from.may_include, to->name) > 0) return "";
    return "the module " + std::string(from.name) + " must not include " + std::string(to->name) + " (\"" + header +
           "\")";
}

std::string at(const std::string& path, std::size_t line) {
    return path + ":" + std::to_string(line) + ": ";
}

}  // namespace

std::vector<std::string> findings(const std::string& path, std::string_view text) {
    std::vector<std::string> result;
    const std::string_view prefix = path.starts_with("src/") ? "src/" : "include/cnntrain/";
    const bool known_place = path.starts_with(prefix);
    const Module* from = known_place ? module_of(std::string_view(path).substr(prefix.size())) : nullptr;
    if (from == nullptr) return {path + ": is in no module of tests/layers/layer_rules.cpp"};

    std::istringstream lines{std::string(text)};
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const auto include = include_of(line);
        if (!include) continue;
        const std::string reason =
            include->angle ? why_not_angle(path, include->name) : why_not_quoted(path, *from, include->name);
        if (!reason.empty()) result.push_back(at(path, number) + reason);
    }
    if (number > kMostLines) {
        result.push_back(path + ": " + std::to_string(number) + " lines; split files of more than " +
                         std::to_string(kMostLines));
    }
    return result;
}

}  // namespace cnntrain::layers
