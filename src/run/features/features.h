// The features of a data set: the input of a network's last layer, for each sample.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "run/evaluator.h"
#include "run/features/linear_head.h"
#include "run/ranks.h"

namespace cnntrain::run {

/// The features of one split, in the type in which the network computes.
struct SplitFeatures {
    std::vector<HostTensor> views;     // [N,F] each: as evaluation reads the samples, then augmented
    std::vector<std::int32_t> labels;  // [N,L]; negative: the sample could not be read, or has no label
    std::int64_t labels_each = 1;      // L, as of FeatureRows

    std::int64_t samples() const { return static_cast<std::int64_t>(labels.size()) / labels_each; }
    std::int64_t width() const { return views.front().shape().at(1); }
};

struct FeatureSet {
    SplitFeatures training;
    std::optional<SplitFeatures> validation;  // one view
};

/// The numbers of the samples that have a label.
std::vector<std::int64_t> labelled_samples(const SplitFeatures& split);
/// The first `views` views of these samples, view by view.
FeatureRows feature_rows(const SplitFeatures& split, const std::vector<std::int64_t>& samples, std::size_t views);

/// Facts on which features depend. Two sets of features with equal facts are equal.
struct FeatureFacts {
    std::map<std::string, std::string> network;  // by name: "weights" -> "crc32c 0123abcd"
    std::string preprocessing;                   // checksum of the first samples as they reach the network
    DataOrigin data;
};

/// Computes the features of a task's samples with one set of weights.
class FeatureSource {
public:
    /// Opens the data. `with_validation`: of both splits. Error(unsupported) for a network whose last layer cannot be
    /// solved.
    FeatureSource(const EvaluationWork& work, bool with_validation);

    const graph::Graph& graph() const { return features_.graph; }
    const nn::LastLayer& last_layer() const { return features_.last_layer; }
    const Samples& training() const { return *training_; }
    const Samples* validation() const { return validation_.get(); }  // null: not used

    /// `weights`: the graph's variables. Those of the last layer do not count.
    FeatureFacts facts(const std::map<std::string, HostTensor>& weights) const;

    /// Rank 0 has the weights; every rank gets all features. Throws Interrupted if a stop is requested.
    FeatureSet compute(const std::map<std::string, HostTensor>& weights, std::int64_t views) const;

private:
    const Classifier& classifier() const { return *work_.task.solvable(); }
    std::string first_samples(const Samples& samples) const;

    EvaluationWork work_;
    std::unique_ptr<Samples> training_, validation_;
    Classifier::Features features_;
};

// A file that keeps features. It is a safetensors file, written whole or not at all, and is used again only for the
// data, weights and preprocessing from which it was made.

/// The file in a run's folder. No name of a checkpoint, so that nothing takes it for one.
inline constexpr const char* kFeatureCacheName = "features.cache";

struct WantedFeatures {
    FeatureFacts facts;
    std::int64_t views = 1;
    std::uint64_t seed = 0;  // of the augmentation
};

class FeatureCache {
public:
    /// `path`: of the file; empty: nothing is kept. Error(usage) if something is there that is no such file; `flag`
    /// names the path in the message.
    FeatureCache(FileSystem& files, std::string path, const std::string& flag);

    const std::string& path() const { return path_; }
    /// The features in the file. Empty if there is no file; empty, with a line that says why, if the file is damaged or
    /// has other features. It may have more views and splits than are wanted.
    std::optional<FeatureSet> read(const WantedFeatures& wanted, metrics::Observers& observers) const;
    /// If the file cannot be written, warns and returns false.
    bool write(const WantedFeatures& wanted, const FeatureSet& set) const;

private:
    FileSystem& files_;
    std::string path_;
};

// A run's last layer, solved from the features of its data.

/// Reads features from the cache, or computes them and keeps them there. Prints a line about it. `weights` are rank
/// 0's.
FeatureSet cached_features(const EvaluationWork& work, const FeatureSource& source, const FeatureCache& cache,
                           const std::map<std::string, HostTensor>& weights, std::int64_t views);

/// The file of a run's features, in `folder` unless the options name another one; "" for a run without files.
std::string feature_cache_path(const options::Settings& settings, const std::string& folder);

/// Solves the last layer for the weights in `executable`, whose training graph this is, and loads it there on rank 0.
/// The features are kept in `folder`. `with_validation`: the validation split is there. Prints accuracies, the strength
/// and times. Throws Interrupted if a stop is requested.
void solve_last_layer(const EvaluationWork& work, backend::Executable& executable, const graph::Graph& graph,
                      const std::string& folder, bool with_validation);

}  // namespace cnntrain::run
