// A file that keeps features. It is a safetensors file, written whole or not at all, and is used again only for the
// data, weights and preprocessing from which it was made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/metrics/observer.h"
#include "train/features/features.h"

namespace cnntrain::train {

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

}  // namespace cnntrain::train
