// A run's last layer, solved from the features of its data.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "run/features/features.h"

namespace cnntrain::run {

/// Parts of a run that work on features needs.
struct FeatureWork {
    const Task& task;
    const backend::Backend& backend;
    const options::ParseResult& arguments;
    std::uint64_t seed = 0;
    const Host& host;
    metrics::Observers& observers;

    const options::Settings& settings() const { return arguments.settings; }
};

/// Reads features from the cache, or computes them and keeps them there. Prints a line about it. `weights` are rank
/// 0's.
FeatureSet cached_features(const FeatureWork& work, const FeatureSource& source, const FeatureCache& cache,
                           const std::map<std::string, HostTensor>& weights, std::int64_t views);

/// The file of a run's features, in `folder` unless the options name another one; "" for a run without files.
std::string feature_cache_path(const options::Settings& settings, const std::string& folder);

/// Solves the last layer for the weights in `executable`, whose training graph this is, and loads it there on rank 0.
/// The features are kept in `folder`. `with_validation`: the validation split is there. Prints accuracies, the strength
/// and times. Throws Interrupted if a stop is requested.
void solve_last_layer(const FeatureWork& work, backend::Executable& executable, const graph::Graph& graph,
                      const std::string& folder, bool with_validation);

}  // namespace cnntrain::run
