#include "train/runs/compiled_model.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/path.h"
#include "train/runs/weights.h"

namespace cnntrain::train {
namespace {

constexpr std::string_view kKeyPrefix = "key.";  // of keys in the file's metadata
constexpr const char* kProgram = "program";
constexpr const char* kCheckpoint = "checkpoint";
constexpr const char* kCheckpointPath = "checkpoint_path";

std::string digest(std::string_view text) {
    return hex_text(crc32c(std::as_bytes(std::span(text))));
}

std::string file_digest(const FileSystem& files, const std::string& path) {
    constexpr std::uint64_t kPiece = 1 << 20;
    const auto file = files.open(path);
    std::vector<std::byte> buffer(kPiece);
    std::uint32_t crc = 0;
    for (std::uint64_t offset = 0; offset < file->size_bytes(); offset += kPiece) {
        const auto piece = std::span(buffer).first(std::min(kPiece, file->size_bytes() - offset));
        file->read_at(offset, piece);
        crc = crc32c(piece, crc);
    }
    return std::to_string(file->size_bytes()) + " bytes, crc32c " + hex_text(crc);
}

std::string without_suffix(std::string path) {
    using checkpoint::kCheckpointSuffix;
    if (path.ends_with(kCheckpointSuffix)) path.resize(path.size() - kCheckpointSuffix.size());
    return path;
}

/// Describes the first difference between the file's key and the required one; "" if there is none. The checkpoint's
/// path is compared only if the checkpoint cannot be read any more.
std::string difference(const std::map<std::string, std::string>& found,
                       const std::map<std::string, std::string>& wanted) {
    for (const auto& [part, value] : wanted) {
        if (part == kCheckpointPath && wanted.contains(kCheckpoint)) continue;
        const auto other = found.find(std::string(kKeyPrefix) + part);
        if (other == found.end()) return "it is no compiled model of this program";
        if (other->second != value) return "it was made for " + part + " '" + other->second + "', not '" + value + "'";
    }
    return "";
}

}  // namespace

WeightSource weight_source(const config::Settings& settings, const FileSystem& files) {
    if (!settings.main.restore_path) {
        log::warning("no --restore-path: the weights are random");
        return {};
    }
    const std::string& path = *settings.main.restore_path;
    try {
        const checkpoint::Found found = checkpoint_to_evaluate(files, path);
        return {found.name, found.path, true};
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::not_found || is_directory(files, path)) throw;
        const std::string prefix = without_suffix(path);
        return {std::string(last_part(prefix)), path, false};
    }
}

std::string compiled_model_name(const Task& task, const config::Settings& settings, const std::string& weights,
                                const std::string& tag) {
    std::string name = "model_" + task.description().model + "_bs_" +
                       std::to_string(settings.training.micro_batch_size) + "_bps_" +
                       std::to_string(settings.training.device_iterations) + "_" + weights + "_" +
                       (task.has_real_data() ? "withlabels" : "nolabels");
    if (!tag.empty()) name += "_" + tag;
    return name.append(kCompiledModelSuffix);
}

std::map<std::string, std::string> compiled_model_key(const TaskDescription& task, const config::Settings& settings,
                                                      const graph::Graph& graph, std::string_view backend,
                                                      const WeightSource& source, const FileSystem& files,
                                                      std::uint64_t seed) {
    std::map<std::string, std::string> key = {
        {kProgram, CNNTRAIN_VERSION},
        {"backend", std::string(backend)},
        {"micro batch", std::to_string(settings.training.micro_batch_size)},
        {"precision", std::string(config::name(settings.device.precision))},
        {"graph", digest(graph.to_text())},
    };
    key.insert(task.identity.begin(), task.identity.end());
    if (source.path.empty()) {
        key[kCheckpoint] = "none, seed " + std::to_string(seed);
        return key;
    }
    const std::string part = settings.main.averaged_weights ? ", moving averages" : "";
    if (source.there) key[kCheckpoint] = file_digest(files, source.path) + part;
    key[kCheckpointPath] = without_suffix(source.path) + part;
    return key;
}

std::optional<checkpoint::Checkpoint> read_compiled_model(const FileSystem& files, const std::string& path,
                                                          const std::map<std::string, std::string>& key) {
    if (!exists(files, path)) return std::nullopt;
    std::string why;
    try {
        checkpoint::Checkpoint model = checkpoint::load(files, path);
        why = difference(model.metadata, key);
        if (why.empty()) return model;
        why = path + ": " + why;
    } catch (const Error& error) {
        why = error.what();
    }
    log::warning(why + "; it is made anew");
    return std::nullopt;
}

bool is_compiled_model(const FileSystem& files, const std::string& path) {
    constexpr std::uint64_t kMetadataBytes = 64 << 10;  // the header begins with it
    const std::unique_ptr<InputFile> file = files.open(path);
    std::string begin(std::min(kMetadataBytes, file->size_bytes()), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(begin)));
    return begin.find("\"" + std::string(kKeyPrefix) + kProgram + "\"") != std::string::npos;
}

bool write_compiled_model(FileSystem& files, const std::string& path, const std::map<std::string, std::string>& key,
                          checkpoint::Checkpoint model) {
    model.metadata.clear();
    for (const auto& [part, value] : key)
        model.metadata[std::string(kKeyPrefix) + part] = value;
    try {
        checkpoint::save(files, path, model);
        return true;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::storage) throw;
        log::warning(std::string(error.what()) + "; the next run will need the checkpoint again");
        return false;
    }
}

}  // namespace cnntrain::train
