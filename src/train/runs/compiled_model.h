// The file that lets a second inference run start without the checkpoint.
//
// On a CPU nothing of machine code outlives the process: building the graph and its primitives takes about a second and
// is done each time. What the file holds is the model's weights, without optimiser slots, in the types in which this
// very graph reads them, and a key of everything that they depend on. A file whose key differs, or that is damaged, is
// not used.
// It is one safetensors file under the name that inference has always given its executable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// Where the weights of an inference run come from.
struct WeightSource {
    std::string name = "random";  // of the checkpoint
    std::string path;             // of its file; empty: random weights
    bool there = true;            // false: the checkpoint is gone, but its compiled model may be there
};

/// The checkpoint that --restore-path names; random weights (with a warning) without one and with several.
WeightSource weight_source(const config::Settings& settings, const FileSystem& files);

inline constexpr std::string_view kCompiledModelSuffix = ".cnntrain_exec";

/// `model_resnet50_bs_1_bps_1000_ckpt-100_nolabels.cnntrain_exec`; a `tag` keeps the file apart from all others.
std::string compiled_model_name(const Task& task, const config::Settings& settings, const std::string& weights,
                                const std::string& tag = "");

/// Every fact that a compiled model depends on, by name: the checkpoint by its content, or by its path once it is gone.
/// Random weights depend on the seed.
std::map<std::string, std::string> compiled_model_key(const TaskDescription& task, const config::Settings& settings,
                                                      const graph::Graph& graph, std::string_view backend,
                                                      const WeightSource& source, const FileSystem& files,
                                                      std::uint64_t seed);

/// The file's weights. Nothing when it is not there; nothing, and a warning with the reason, when it must not be used.
std::optional<checkpoint::Checkpoint> read_compiled_model(const FileSystem& files, const std::string& path,
                                                          const std::map<std::string, std::string>& key);

/// Whole or not at all. A folder that cannot be written costs a warning; false then.
bool write_compiled_model(FileSystem& files, const std::string& path, const std::map<std::string, std::string>& key,
                          checkpoint::Checkpoint model);

}  // namespace cnntrain::train
