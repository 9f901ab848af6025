// Files of a trained network for other programs. No file stays that does not answer as the network does: what was
// written is read again from its file, computes the replayed samples, and is removed if it differs.
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
#include "cnntrain/exports/onnx_export.h"
#include "cnntrain/exports/onnx_run.h"
#include "cnntrain/exports/trained.h"

namespace cnntrain::exports {

enum class Format : std::uint8_t { onnx, torchvision, timm };
/// As users write them, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> kFormatNames = {"onnx", "torchvision", "timm"};
static_assert(kFormatNames.size() == enumerator_count<Format>());

std::optional<Format> format_named(std::string_view name);

struct ExportRequest {
    OpenRequest source;
    Format format = Format::onnx;
    std::string target = {};                    // a file (onnx) or a folder; empty: beside the checkpoint
    OnnxWeights weights = OnnxWeights::f32;     // of onnx
    bool probabilities = false;                 // onnx: a second output
    std::vector<std::string> class_names = {};  // instead of the run's own
    std::string version = {};                   // of this program
    bool overwrite = false;
};

struct ExportReport {
    std::string checkpoint = {};          // path of the file that was read
    std::vector<std::string> paths = {};  // that were written
    std::string what = {};                // "timm's resnet50"
    std::string samples = {};             // "64 samples of the validation set"
    double difference = 0;
};

/// Error(unsupported) if the other program has no such network, Error(usage) like check_outputs(), Error(data) if the
/// written file answers otherwise.
ExportReport export_network(const ExportRequest& request, FileSystem& files);

// ---- parts of it, for tests ----

/// The greatest difference of two outputs, as a share of the greatest number in the expected one, or of 1 if that is
/// smaller. NaN is infinitely different.
double difference(const HostTensor& expected, const HostTensor& got);

/// The difference that is allowed.
double tolerance(OnnxWeights weights);

/// The difference of the outputs that `answers` reads from written files. If it is above `allowed`, or `answers` fails,
/// the files are removed: Error(data), or what `answers` throws.
double kept_if_same(FileSystem& files, const std::vector<std::string>& paths, double allowed,
                    const std::map<std::string, HostTensor>& expected,
                    const std::function<std::map<std::string, HostTensor>()>& answers);

/// The outputs of a file on the replayed samples, computed in batches of 1, 7 and 8.
std::map<std::string, HostTensor> answers_of_onnx(const FileSystem& files, const std::string& path,
                                                  const Replay& replay, Products& products);

/// Writes the model and compares it. Returns the difference; Error(data) and no file if it is above tolerance().
double write_onnx(FileSystem& files, const std::string& path, const OnnxModel& model, const Replay& replay,
                  double allowed, Products& products);

}  // namespace cnntrain::exports
