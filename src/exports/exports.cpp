#include "cnntrain/exports/exports.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/base/text.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/checkpoint/foreign.h"
#include "cnntrain/checkpoint/weights_file.h"
#include "cnntrain/nn/target_weights.h"
#include "cnntrain/train/backends.h"
#include "exports/metadata.h"

namespace cnntrain::exports {

namespace {

constexpr const char* kWeightsFile = "model.safetensors";

/// The folder of a path, with the slash at its end; empty for a name alone.
std::string folder_of(const std::string& path) {
    return path.substr(0, path.size() - last_part(path).size());
}

/// Where the export goes: a file for ONNX, a folder with a slash at its end otherwise.
std::string target_of(const ExportRequest& request, const std::string& checkpoint) {
    const bool is_file = request.format == Format::onnx;
    const std::string_view name = kFormatNames[static_cast<std::size_t>(request.format)];
    if (request.target.empty()) return folder_of(checkpoint) + (is_file ? "model.onnx" : std::string(name) + "/");
    const bool folder = request.target.ends_with('/') || is_directory(posix_files(), request.target);
    if (is_file) return without_trailing_slashes(request.target) + (folder ? "/model.onnx" : "");
    if (request.target.ends_with(".safetensors") || request.target.ends_with(".onnx")) {
        throw Error(ErrorKind::usage, request.target + ": --to " + std::string(name) + " writes a folder, with " +
                                          kWeightsFile + " in it; give a folder");
    }
    return without_trailing_slashes(request.target) + "/";
}

std::vector<std::string> classes_of(const ExportRequest& request, const TrainedNetwork& network) {
    std::vector<std::string> names = request.class_names.empty() ? network.class_names() : request.class_names;
    const auto logits = network.replay().outputs.find(train::kLogits);
    if (logits == network.replay().outputs.end()) return {};
    const std::int64_t classes = logits->second.shape().back();
    if (!names.empty() && std::ssize(names) != classes) {
        throw Error(ErrorKind::usage, "--class-names: " + std::to_string(names.size()) + " names for the " +
                                          std::to_string(classes) + " classes of the network");
    }
    return names;
}

void check_target(const ExportRequest& request, FileSystem& files, const std::string& checkpoint,
                  const std::vector<std::string>& paths) {
    std::vector<Output> outputs;
    for (const std::string& path : paths) {
        checkpoint::refuse_run_checkpoint(files, "the output", path);
        outputs.push_back({{"the output", path}, request.overwrite, "--overwrite"});
    }
    check_outputs(files, outputs, {{"the checkpoint", checkpoint}});
    const std::string folder = folder_of(paths.front());
    if (!folder.empty()) files.make_directories(folder);
    for (const std::string& path : paths)
        files.create(path);  // a folder that cannot be written is an error now, not after the comparison
}

ExportReport export_onnx(const ExportRequest& request, FileSystem& files, const TrainedNetwork& network) {
    const std::string path = target_of(request, network.checkpoint());
    OnnxSettings settings{.weights = request.weights,
                          .probabilities = request.probabilities ? "probabilities" : "",
                          .version = request.version};
    const std::optional<tasks::ImageNetwork> image = network.image_network();
    if (request.preparation && image) settings.preparation = image->images;
    settings.metadata = onnx_metadata(image, classes_of(request, network), request.preparation);
    settings.metadata["checkpoint"] = std::string(last_part(network.checkpoint()));
    const OnnxModel model = to_onnx(network.part(), settings);
    check_target(request, files, network.checkpoint(), {path});
    const auto products = backend_products(network.backend(), train::compute_threads(network.arguments().settings.run));
    ExportReport report{.paths = {path}, .what = "ONNX, operator set " + std::to_string(model.opset)};
    report.difference =
        write_onnx(files, path, model, network.replay(), tolerance(request.weights, request.preparation), *products);
    return report;
}

ExportReport export_weights(const ExportRequest& request, FileSystem& files, TrainedNetwork& network,
                            nn::TargetProgram program) {
    const std::optional<tasks::ImageNetwork> image = network.image_network();
    const std::string name(nn::name(program));
    if (!image)
        throw Error(ErrorKind::unsupported, "--to " + name + " is for image networks; --to onnx holds any network");
    nn::TargetWeights weights = nn::in_target_layout(program, image->network, network.variables());
    const std::string folder = target_of(request, network.checkpoint());
    std::vector<std::string> paths = {folder + kWeightsFile};
    if (program == nn::TargetProgram::timm) paths.push_back(folder + "config.json");
    check_target(request, files, network.checkpoint(), paths);
    const std::vector<std::string> classes = classes_of(request, network);
    checkpoint::Checkpoint file;
    file.metadata["format"] = "pt";
    file.metadata["architecture"] = weights.architecture;
    checkpoint::set_class_names(file.metadata, classes);
    file.tensors = std::move(weights.tensors);
    ExportReport report{.paths = paths, .what = name + "'s " + weights.architecture};
    report.difference = write_if_same(
        files, paths, tolerance(OnnxWeights::f32), network.replay().outputs,
        [&](FileSystem& memory) {
            checkpoint::save(memory, paths.front(), file);
            if (paths.size() > 1) write_text(memory, paths[1], timm_config(weights.architecture, *image, classes));
        },
        [&](const FileSystem& memory) {
            return network.answers(checkpoint::load_weights(memory, paths.front()), paths.front());
        });
    return report;
}

bool same_tensors(const checkpoint::TensorSource& expected, const std::map<std::string, HostTensor>& got) {
    return std::ranges::equal(expected.descs, got, [&](const auto& wanted, const auto& read) {
        return wanted.first == read.first && wanted.second == read.second.desc() &&
               std::ranges::equal(expected.tensor(wanted.first).bytes(), read.second.bytes());
    });
}

std::string name_without_suffix(const std::string& path) {
    std::string_view name = last_part(path);
    for (const std::string_view suffix : {checkpoint::kCheckpointSuffix, checkpoint::kTensorFlowIndex})
        if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    return std::string(name);
}

/// All tensors of the checkpoint, with the names that they have here, which are those of the original programs.
ExportReport export_tensorflow(const ExportRequest& request, FileSystem& files, TrainedNetwork& network) {
    const std::string prefix = target_of(request, network.checkpoint()) + name_without_suffix(network.checkpoint());
    const std::vector<std::string> paths = checkpoint::tensorflow_paths(prefix);
    check_target(request, files, network.checkpoint(), paths);
    const checkpoint::Checkpoint stored = network.stored(files);
    checkpoint::TensorSource tensors = checkpoint::source_of(stored.tensors);
    if (request.in_f32) tensors = checkpoint::in_f32(std::move(tensors));
    ExportReport report{.paths = paths, .what = "TensorFlow, " + std::to_string(stored.tensors.size()) + " tensors"};
    report.difference = write_if_same(
        files, paths, tolerance(OnnxWeights::f32), network.replay().outputs,
        [&](FileSystem& memory) { checkpoint::save_tensorflow(memory, prefix, tensors); },
        [&](const FileSystem& memory) {
            checkpoint::Checkpoint read = checkpoint::load_weights(memory, paths.back());
            if (!same_tensors(tensors, read.tensors)) {
                throw Error(ErrorKind::data,
                            "the file would have other tensors than the checkpoint; it was not written");
            }
            return network.answers(std::move(read), paths.back());
        });
    return report;
}

}  // namespace

std::optional<Format> format_named(std::string_view name) {
    const auto* found = std::ranges::find(kFormatNames, name);
    if (found == kFormatNames.end()) return std::nullopt;
    return static_cast<Format>(found - kFormatNames.begin());
}

ExportReport export_network(const ExportRequest& request, FileSystem& files) {
    OpenRequest source = request.source;
    source.photos = request.preparation;
    TrainedNetwork network(files, source);
    const auto run = [&] {
        switch (request.format) {
            case Format::onnx:
                return export_onnx(request, files, network);
            case Format::torchvision:
                return export_weights(request, files, network, nn::TargetProgram::torchvision);
            case Format::timm:
                return export_weights(request, files, network, nn::TargetProgram::timm);
            case Format::tf:
                return export_tensorflow(request, files, network);
        }
        throw Error(ErrorKind::internal, "a format that is not written");
    };
    ExportReport report = run();
    report.checkpoint = network.checkpoint();
    report.samples = std::to_string(network.replay().samples) + " " + network.samples_text();
    return report;
}

}  // namespace cnntrain::exports
