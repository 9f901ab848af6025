#include "train/features/feature_cache.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/file.h"
#include "cnntrain/checkpoint/folder.h"

namespace cnntrain::train {

namespace {

using Metadata = std::map<std::string, std::string>;

// Keys of the file's metadata
constexpr const char* kNetworkPrefix = "features.network.";
constexpr const char* kPreprocessing = "features.preprocessing";
constexpr const char* kData = "features.data";
constexpr const char* kViews = "features.views";
constexpr const char* kSeed = "features.seed";

constexpr const char* kTrainingPrefix = "training/";
constexpr const char* kValidationPrefix = "validation/";
constexpr const char* kLabels = "labels";

std::string view_name(const std::string& split, std::size_t view) {
    return split + "view" + std::to_string(view);
}

/// True for a file that FeatureCache::write() wrote, also if it is damaged now.
bool is_own(const FileSystem& files, const std::string& path) {
    constexpr std::uint64_t kMetadataBytes = 64 << 10;  // the header begins with it
    const std::unique_ptr<InputFile> file = files.open(path);
    std::string begin(std::min(kMetadataBytes, file->size_bytes()), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(begin)));
    return begin.find("\"" + std::string(kPreprocessing) + "\"") != std::string::npos;
}

Metadata feature_metadata(const WantedFeatures& wanted) {
    Metadata metadata;
    for (const auto& [name, value] : wanted.facts.network)
        metadata[kNetworkPrefix + name] = value;
    metadata[kPreprocessing] = wanted.facts.preprocessing;
    metadata[kData] = to_text(wanted.facts.data);
    metadata[kViews] = std::to_string(wanted.views);
    metadata[kSeed] = std::to_string(wanted.seed);
    return metadata;
}

std::string text_in(const Metadata& metadata, const std::string& key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? "" : found->second;
}

std::int64_t views_in(const Metadata& metadata) {
    const std::string text = text_in(metadata, kViews);
    std::int64_t views = 0;
    std::from_chars(text.data(), text.data() + text.size(), views);
    return views;
}

/// How the file's features differ from the wanted ones; "" if they do not.
std::string difference_of_features(const Metadata& found, const WantedFeatures& wanted) {
    std::vector<std::string> parts;
    const DataOrigin data = origin_of(text_in(found, kData));
    const std::string other = other_data(data, wanted.facts.data);
    if (!other.empty()) parts.push_back("other data (" + other + ")");
    if (wanted.facts.data.validation && !data.validation) parts.emplace_back("no validation split");
    const auto compare = [&](const std::string& name, const std::string& before, const std::string& now) {
        if (before != now) parts.push_back("other " + name + " (" + before + ", now " + now + ")");
    };
    for (const auto& [name, value] : wanted.facts.network)
        compare(name, text_in(found, kNetworkPrefix + name), value);
    compare("preprocessing", text_in(found, kPreprocessing), wanted.facts.preprocessing);
    if (views_in(found) < wanted.views) {
        parts.push_back(counted(views_in(found), "view") + " of each sample, not " + std::to_string(wanted.views));
    } else if (wanted.views > 1) {
        compare("seed of the views", text_in(found, kSeed), std::to_string(wanted.seed));
    }
    return joined(parts, "; ");
}

SplitFeatures taken_split(checkpoint::Checkpoint& file, const std::string& split, std::int64_t views) {
    SplitFeatures features;
    const HostTensor& stored = file.tensors.at(split + kLabels);
    if (stored.dtype() != DType::i32) throw Error(ErrorKind::data, "its labels are no whole numbers of 32 bits");
    const auto labels = stored.as<std::int32_t>();
    features.labels.assign(labels.begin(), labels.end());
    for (std::size_t view = 0; view < static_cast<std::size_t>(views); ++view) {
        HostTensor& values = file.tensors.at(view_name(split, view));
        const Shape& shape = values.shape();
        if (shape.size() != 2 || shape[0] != features.samples())
            throw Error(ErrorKind::data, "its features and labels do not fit together");
        features.views.push_back(std::move(values));
    }
    return features;
}

void add_split(const SplitFeatures& features, const std::string& split, std::map<std::string, const HostTensor*>& all,
               std::map<std::string, HostTensor>& labels) {
    for (std::size_t view = 0; view < features.views.size(); ++view)
        all.emplace(view_name(split, view), &features.views[view]);
    HostTensor& tensor = labels.emplace(split + kLabels, TensorDesc{DType::i32, {features.samples()}}).first->second;
    std::ranges::copy(features.labels, tensor.as<std::int32_t>().begin());
    all.emplace(split + kLabels, &tensor);
}

}  // namespace

FeatureCache::FeatureCache(FileSystem& files, std::string path, const std::string& flag)
    : files_(files), path_(std::move(path)) {
    if (path_.empty()) return;
    checkpoint::refuse_run_checkpoint(files_, flag, path_);
    check_outputs(files_, {{{flag, path_}, false, "", is_own}});
}

std::optional<FeatureSet> FeatureCache::read(const WantedFeatures& wanted, metrics::Observers& observers) const {
    if (path_.empty() || !exists(files_, path_)) return std::nullopt;
    try {
        const std::string other = difference_of_features(checkpoint::CheckpointFile(files_, path_).metadata(), wanted);
        if (!other.empty()) {
            observers.line("The features are computed anew: " + path_ + " has those of " + other);
            return std::nullopt;
        }
        checkpoint::Checkpoint file = checkpoint::load(files_, path_);
        FeatureSet set{taken_split(file, kTrainingPrefix, wanted.views), {}};
        if (wanted.facts.data.validation) set.validation = taken_split(file, kValidationPrefix, 1);
        return set;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        observers.line("The features are computed anew: " + path_ + " is damaged: " + error.what());
    } catch (const std::out_of_range&) {
        observers.line("The features are computed anew: " + path_ + " is damaged: it lacks features or labels");
    }
    return std::nullopt;
}

bool FeatureCache::write(const WantedFeatures& wanted, const FeatureSet& set) const {
    if (path_.empty()) return false;
    checkpoint::Checkpoint file;
    file.metadata = feature_metadata(wanted);
    std::map<std::string, const HostTensor*> all;
    std::map<std::string, HostTensor> labels;
    add_split(set.training, kTrainingPrefix, all, labels);
    if (set.validation) add_split(*set.validation, kValidationPrefix, all, labels);
    checkpoint::TensorSource source;
    for (const auto& [name, tensor] : all)
        source.descs.emplace(name, tensor->desc());
    source.tensor = [&all](const std::string& name) { return *all.at(name); };
    try {
        checkpoint::save(files_, path_, file, source);
        return true;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::storage) throw;
        log::warning(std::string(error.what()) + "; the features are not kept");
        return false;
    }
}

}  // namespace cnntrain::train
