// Files of a trained network for other programs. Weights come to the disk only if they answer as the network does: the
// file is made in memory, read from there, and computes the replayed samples. What is on the disk is read again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/enumerators.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/onnx_model.h"

namespace cnntrain::weights {

enum class Format : std::uint8_t { onnx, torchvision, timm, tf };
/// Names of the formats as users write them, in the order of the enumerators.
inline constexpr std::array<std::string_view, 4> kFormatNames = {"onnx", "torchvision", "timm", "tf"};
static_assert(kFormatNames.size() == enumerator_count<Format>());

std::optional<Format> format_named(std::string_view name);

using Outputs = std::map<std::string, HostTensor>;

/// Facts about an image network from which another program computes the same of a photo.
struct ImageNetwork {
    nn::NetworkSettings network;
    data::DataSettings images;
};

/// A trained network, ready to be exported. The owner of its graph and weights outlives it.
struct ExportedNetwork {
    std::string checkpoint;  // path of the file with its weights
    NetworkPart part;
    std::optional<ImageNetwork> image = {};     // empty for networks of other inputs
    std::vector<std::string> class_names = {};  // as the run has them
    std::string samples = {};  // with which files are compared: "64 samples of the validation set"; "": none
    Outputs outputs = {};      // of these samples
    /// The outputs of the same network with other weights, in any layout that is read here. `path`: for messages.
    std::function<Outputs(Checkpoint weights, const std::string& path)> answers = {};
    /// The tensors of the checkpoint as they are stored, with the optimiser's; with --ema the moving averages.
    std::function<Checkpoint()> stored = {};
};

struct ExportRequest {
    Format format = Format::onnx;
    std::string target = {};                    // a file (onnx) or a folder; empty: next to the checkpoint
    OnnxWeights weights = OnnxWeights::f32;     // of onnx
    bool probabilities = false;                 // onnx: a second output
    bool preparation = false;                   // onnx: the file reads photos
    bool in_f32 = false;                        // tf: tensors of 16 bits are widened
    std::vector<std::string> class_names = {};  // instead of the run's own
    std::string version = {};                   // of this program
    bool overwrite = false;
};

struct ExportReport {
    std::vector<std::string> paths = {};    // that were written
    std::string what = {};                  // "timm's resnet50"
    std::optional<double> difference = {};  // of the outputs; empty: they were not compared
};

/// Error(unsupported) if the other program has no such network, Error(usage) like check_outputs(), Error(data) if the
/// written file answers otherwise.
ExportReport export_network(const ExportRequest& request, const ExportedNetwork& network, FileSystem& files);

// ---- parts of it, for tests ----

/// The greatest difference of two outputs, as a share of the greatest number in the expected one, or of 1 if that is
/// smaller. NaN is infinitely different.
double difference(const HostTensor& expected, const HostTensor& got);

/// The difference that is allowed.
inline constexpr double kTolerance = 1e-4;

/// Writes the files `paths` if they answer as expected. `write` makes them in memory, from where `answers` reads them;
/// then they are written to `files`, all or none. Returns the difference of the outputs. Error(data) if it is above
/// kTolerance, or what `answers` throws: nothing is written, and what was there stays.
double write_if_same(FileSystem& files, const std::vector<std::string>& paths, const Outputs& expected,
                     const std::function<void(FileSystem& memory)>& write,
                     const std::function<Outputs(const FileSystem& memory)>& answers);

}  // namespace cnntrain::weights
