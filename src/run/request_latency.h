// `cnntrain inference --iterations N`: measures how fast a trained network answers requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::run {

/// `--num-inference-thread` threads send `--iterations` batches each, one at a time, and wait for each result. Every
/// thread has its own executable with its share of the compute threads; all with as many threads read the same weights.
/// Batches are prepared outside the measured times. Prints throughput and latencies, `--repeat` times; with several
/// ranks, the throughput of all and the latencies of the first.
int measure_requests(const TaskRow& row, const options::ParseResult& arguments, const Host& host);

// The compiled model: a file that lets a later inference run start without the checkpoint.
//
// No machine code is stored on a CPU: building the graph and its primitives takes about a second and is repeated in
// each run. The file holds the model's weights in the types in which this graph reads them, without optimiser slots,
// and a key of everything they depend on. A file that is damaged or has another key is ignored. It is one safetensors
// file with the name that the original program gives its executable.

/// The source of an inference run's weights.
struct WeightSource {
    std::string name = "random";  // name of the checkpoint
    std::string path;             // file of the checkpoint; empty: random weights
    bool there = true;            // false: the checkpoint does not exist, but its compiled model may
};

/// The checkpoint that --restore-path names. Without one, or with several, random weights and a warning.
WeightSource weight_source(const options::Settings& settings, const FileSystem& files);

inline constexpr std::string_view kCompiledModelSuffix = ".cnntrain_exec";

/// `model_resnet50_bs_1_bps_1000_ckpt-100_nolabels.cnntrain_exec`. A `tag` makes the name unique.
std::string compiled_model_name(const Task& task, const options::Settings& settings, const std::string& weights,
                                const std::string& tag = "");

/// Everything a compiled model depends on, by name: the checkpoint's content, or its path if the file does not exist
/// any more. Random weights depend on the seed.
std::map<std::string, std::string> compiled_model_key(const TaskDescription& task, const options::Settings& settings,
                                                      const graph::Graph& graph, std::string_view backend,
                                                      const WeightSource& source, const FileSystem& files,
                                                      std::uint64_t seed);

/// The weights in the file. Empty if there is no file; empty, with a warning that gives the reason, if the file cannot
/// be used.
std::optional<weights::Checkpoint> read_compiled_model(const FileSystem& files, const std::string& path,
                                                       const std::map<std::string, std::string>& key);

/// True for a file that write_compiled_model() wrote, also if it is damaged now.
bool is_compiled_model(const FileSystem& files, const std::string& path);

/// Writes the file completely or not at all. If the folder is not writable, warns and returns false.
bool write_compiled_model(FileSystem& files, const std::string& path, const std::map<std::string, std::string>& key,
                          weights::Checkpoint model);

}  // namespace cnntrain::run
