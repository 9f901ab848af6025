#include "layers/layer_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <sstream>

namespace cnntrain::layers {
namespace {

constexpr std::size_t kMostLines = 700;
constexpr std::string_view kPublic = "cnntrain/";  // begin of the names of public headers

/// A room may include itself, and the public headers of rooms with a smaller floor.
struct Room {
    std::string_view name;
    int floor;
};

constexpr int kApart = -1;  // the floor of a room that includes no other and that no other includes

constexpr auto kRooms = std::to_array<Room>({{"base", 0},
                                             {"graph", 1},
                                             {"data", 2},
                                             {"parallel", 3},
                                             {"weights", 4},
                                             {"backend", 5},
                                             {"backend/ref", 6},
                                             {"backend/cpu", 6},
                                             {"backend/ipu", 6},
                                             {"options", 7},
                                             {"run", 8},
                                             {"tasks", 9},
                                             {"insight", 10},
                                             {"launch", 11},
                                             {"cli", 12},
                                             {"ipu_emulator", kApart}});

/// Headers of other projects, by how their names begin, and the folders or files that may include them.
struct ThirdParty {
    std::string_view begins;
    std::vector<std::string_view> allowed_in;
    bool sources_only = false;
};

const std::vector<ThirdParty>& third_party() {
    static const std::vector<ThirdParty> table = {
        {"yaml-cpp/", {"src/options/", "src/launch/", "src/weights/published.cpp"}},
        {"curl/", {"src/weights/download.cpp"}},
        {"openssl/", {"src/weights/download.cpp"}},
        {"re2/", {"src/base/", "src/launch/"}, /*sources_only=*/true},
        {"dnnl", {"src/backend/cpu/"}},
        {"oneapi/dnnl", {"src/backend/cpu/"}},
        {"hwy/", {"src/backend/cpu/", "src/data/images/"}},
        {"omp.h", {"src/backend/cpu/"}},
        {"tbb/", {"src/data/", "src/backend/cpu/"}},
        {"oneapi/tbb", {"src/data/", "src/backend/cpu/"}},
        {"jpeglib.h", {"src/data/images/"}},
        {"png.h", {"src/data/images/"}},
        {"zlib.h", {"src/weights/foreign/bytes.cpp"}, /*sources_only=*/true},
        {"snappy.h", {"src/weights/foreign/tensorflow_file.cpp"}, /*sources_only=*/true},
        {"webp/", {"src/data/images/"}, /*sources_only=*/true},
        {"gif_lib.h", {"src/data/images/"}, /*sources_only=*/true},
        {"tiffio.h", {"src/data/images/"}, /*sources_only=*/true},
        {"libheif/", {"src/data/images/heif.cpp"}, /*sources_only=*/true},
        {"pugixml", {"src/data/write/"}},
        {"utf8proc.h", {"src/data/text/"}},
        {"jerror.h", {"src/data/images/"}},
        {"mpi.h", {"src/parallel/comm/mpi.cpp"}},
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

/// The room that a path without "src/" or "include/cnntrain/" lies in: the longest name that fits.
const Room* room_of(std::string_view path) {
    const Room* best = nullptr;
    for (const Room& room : kRooms) {
        const bool fits = path.starts_with(room.name) && path.substr(room.name.size()).starts_with('/');
        if (fits && (best == nullptr || room.name.size() > best->name.size())) best = &room;
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
        if (!begins_with_any(path, row.allowed_in)) return "<" + header + "> is not for this room";
        if (row.sources_only && !path.ends_with(".cpp")) return "<" + header + "> is for .cpp files only";
        return "";
    }
    const bool standard = header.find_first_of("./") == std::string::npos;
    if (standard || begins_with_any(header, kSystem)) return "";
    return "<" + header + "> is unknown; a new third-party header gets a row in tests/layers/layer_rules.cpp";
}

std::string why_not_quoted(const std::string& path, const Room& from, const std::string& header) {
    const bool is_public = header.starts_with(kPublic);
    if (!is_public && path.starts_with("include/")) return "a public header includes the private \"" + header + "\"";
    if (header.ends_with(".pb.h")) return "\"" + header + "\" is generated for tests only";
    const Room* to = room_of(is_public ? std::string_view(header).substr(kPublic.size()) : header);
    if (to == nullptr) return "\"" + header + "\" is in no room; write \"cnntrain/<room>/...\" or \"<room>/...\"";
    if (to == &from) return "";
    if (!is_public) return "\"" + header + "\" is private to the room " + std::string(to->name);
    if (to->floor < from.floor && to->floor != kApart && from.floor != kApart) return "";
    return "the room " + std::string(from.name) + " must not include " + std::string(to->name) + " (\"" + header +
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
    const Room* from = known_place ? room_of(std::string_view(path).substr(prefix.size())) : nullptr;
    if (from == nullptr) return {path + ": is in no room of tests/layers/layer_rules.cpp"};

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
