#include "cnntrain/weights/exports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"

namespace cnntrain::weights {
namespace {

// Facts about the network that a file has in addition to the weights.

using nlohmann::ordered_json;

/// Names may hold any bytes.
std::string json_text(const ordered_json& document, int indent = -1) {
    return document.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

/// Constants of the normalisation, for pixels in 0..1: (x - mean) / deviation. The settings are in single precision.
struct Colours {
    std::array<double, 3> mean{};
    std::array<double, 3> deviation{};
};

double six_digits(double value) {
    return std::stod(formatted("%.6g", value));
}

Colours colours_of(const data::DataSettings& images) {
    constexpr double kLevels = 255;
    const nn::Normalisation how = data::channel_normalisation(images);
    Colours colours;
    for (std::size_t i = 0; i < colours.mean.size(); ++i) {
        colours.deviation[i] = six_digits(1 / (kLevels * how.scale[i]));
        colours.mean[i] = six_digits(-how.shift[i] / how.scale[i] / kLevels);
    }
    return colours;
}

ordered_json preprocessing(const data::DataSettings& images, bool inside) {
    const data::PreparationSettings& how = images.preparation;
    ordered_json result = {{"image_size", images.image_size},
                           {"colours", "RGB"},
                           {"layout", inside ? "NHWC" : "NCHW"},
                           {"inside_this_file", inside}};
    if (!data::dataset_info(images.dataset).normalised_by_channel) {
        result["normalisation"] = "each image: (x - mean) / max(deviation, 1 / sqrt(number of values))";
        return result;
    }
    result["resize"] = spelling(how.resize_mode);
    if (how.resize_mode == data::ResizeMode::crop) {
        result["crop_fraction"] = how.crop_fraction;
        result["shorter_side"] = data::evaluation_shorter_side(images.image_size, how.crop_fraction);
    }
    if (how.resize_mode == data::ResizeMode::pad) {
        result["pad_levels"] = ordered_json::array();
        for (const float level : data::mean_pixel(images))
            result["pad_levels"].push_back(std::lround(level));
    }
    result["interpolation"] = spelling(how.interpolation);
    const Colours colours = colours_of(images);
    result["normalisation"] = "(x / 255 - mean) / std";
    result["mean"] = colours.mean;
    result["std"] = colours.deviation;
    return result;
}

/// Metadata of an ONNX file: "preprocessing" and "classes" are JSON, "checkpoint" and "network" are texts.
/// `prepares_photos`: the file itself does the work that "preprocessing" describes.
std::map<std::string, std::string> onnx_metadata(const std::optional<ImageNetwork>& network,
                                                 const std::vector<std::string>& classes, bool prepares_photos) {
    std::map<std::string, std::string> result;
    if (network) {
        result["network"] = nn::family_info(network->network.family).title(network->network);
        result["preprocessing"] = json_text(preprocessing(network->images, prepares_photos));
    }
    if (!classes.empty()) result["classes"] = json_text(ordered_json(classes));
    return result;
}

/// timm's config.json.
std::string timm_config(const std::string& architecture, const ImageNetwork& network,
                        const std::vector<std::string>& classes) {
    const data::DataSettings& images = network.images;
    const data::PreparationSettings& how = images.preparation;
    const bool residual = network.network.family != nn::Family::efficientnet;
    const Colours colours = colours_of(images);
    constexpr std::int64_t kReduction = 32;
    const std::int64_t pool = (images.image_size + kReduction - 1) / kReduction;
    const bool cubic = how.interpolation == data::Interpolation::bicubic;
    ordered_json config = {
        {"architecture", architecture},
        {"num_classes", network.network.classes},
        {"pretrained_cfg",
         {{"tag", "cnntrain"},
          {"custom_load", false},
          {"input_size", {3, images.image_size, images.image_size}},
          {"fixed_input_size", false},
          {"interpolation", cubic ? "bicubic" : "bilinear"},
          {"crop_pct", how.resize_mode == data::ResizeMode::crop ? how.crop_fraction : 1.0},
          {"crop_mode", how.resize_mode == data::ResizeMode::crop     ? "center"
                        : how.resize_mode == data::ResizeMode::squash ? "squash"
                                                                      : "border"},
          {"mean", colours.mean},
          {"std", colours.deviation},
          {"num_classes", network.network.classes},
          {"pool_size", {pool, pool}},
          {"first_conv", residual ? "conv1" : "conv_stem"},
          {"classifier", residual ? "fc" : "classifier"}}},
    };
    if (std::ssize(classes) == network.network.classes) config["label_names"] = classes;
    return json_text(config, 2) + "\n";
}

constexpr const char* kWeightsFile = "model.safetensors";

/// Destination of the export: a file for ONNX, a folder with a slash at its end otherwise.
std::string target_of(const ExportRequest& request, const std::string& checkpoint) {
    const bool is_file = request.format == Format::onnx;
    const std::string_view name = spelling(request.format);
    if (request.target.empty()) return folder_part(checkpoint) + (is_file ? "model.onnx" : std::string(name) + "/");
    const bool folder = request.target.ends_with('/') || is_directory(posix_files(), request.target);
    if (is_file) return without_trailing_slashes(request.target) + (folder ? "/model.onnx" : "");
    if (request.target.ends_with(".safetensors") || request.target.ends_with(".onnx")) {
        throw Error(ErrorKind::usage, request.target + ": --to " + std::string(name) + " writes a folder, with " +
                                          kWeightsFile + " in it; give a folder");
    }
    return without_trailing_slashes(request.target) + "/";
}

std::vector<std::string> classes_of(const ExportRequest& request, const ExportedNetwork& network) {
    std::vector<std::string> names = request.class_names.empty() ? network.class_names : request.class_names;
    const NetworkPart& part = network.part;
    const auto logits = std::ranges::find(part.outputs, std::string(nn::kLogits), &Port::name);
    if (logits == part.outputs.end()) return {};
    const std::int64_t classes = part.graph.desc(logits->value).shape.back();
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
        refuse_run_checkpoint(files, "the output", path);
        outputs.push_back({{"the output", path}, request.overwrite, "--overwrite"});
    }
    check_outputs(files, outputs, {{"the checkpoint", checkpoint}});
    const std::string folder = folder_part(paths.front());
    if (!folder.empty()) files.make_directories(folder);
    for (const std::string& path : paths)
        files.create(path);  // a folder that cannot be written is an error now, not after the work
}

/// Error(storage) unless the file has these bytes. `read` is called as InputFile::read_at().
template <typename Read>
void check_written(const FileSystem& files, const std::string& path, std::uint64_t size, const Read& read) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 24;  // bytes that are compared at a time
    const std::unique_ptr<InputFile> written = files.open(path);
    bool same = written->size_bytes() == size;
    std::vector<std::byte> expected;
    std::vector<std::byte> found;
    for (std::uint64_t at = 0; same && at < size; at += kPiece) {
        expected.resize(std::min(kPiece, size - at));
        found.resize(expected.size());
        read(at, std::span<std::byte>(expected));
        written->read_at(at, found);
        same = found == expected;
    }
    if (same) return;
    throw Error(ErrorKind::storage, path +
                                        ": other bytes are there than were written: another process writes this file "
                                        "at the same time, or the disk is damaged; convert again");
}

/// All are written before the first gets its name.
void publish(const FileSystem& memory, FileSystem& files, const std::vector<std::string>& paths) {
    std::vector<std::unique_ptr<OutputFile>> outputs;
    for (const std::string& path : paths) {
        outputs.push_back(files.create(path));
        const std::unique_ptr<InputFile> content = memory.open(path);
        for_each_piece(*content, 0, content->size_bytes(),
                       [&](std::span<const std::byte> piece) { outputs.back()->write(piece); });
    }
    for (const auto& output : outputs)
        output->commit();
    for (const std::string& path : paths) {
        const std::unique_ptr<InputFile> content = memory.open(path);
        check_written(files, path, content->size_bytes(),
                      [&](std::uint64_t at, std::span<std::byte> out) { content->read_at(at, out); });
    }
}

ExportReport export_onnx(const ExportRequest& request, FileSystem& files, const ExportedNetwork& network) {
    const std::string path = target_of(request, network.checkpoint);
    OnnxSettings settings{.weights = request.weights,
                          .probabilities = request.probabilities ? "probabilities" : "",
                          .version = request.version};
    const std::optional<ImageNetwork>& image = network.image;
    if (request.preparation && !image)
        throw Error(ErrorKind::usage, "--with-preprocessing is for image networks; texts come as tokens");
    if (request.preparation) settings.preparation = image->images;
    settings.metadata = onnx_metadata(image, classes_of(request, network), request.preparation);
    settings.metadata["checkpoint"] = std::string(last_part(network.checkpoint));
    const OnnxModel model = to_onnx(network.part, settings);
    check_target(request, files, network.checkpoint, {path});
    const std::string bytes = encode(model);
    write_text(files, path, bytes);
    check_written(files, path, bytes.size(), [&](std::uint64_t at, std::span<std::byte> out) {
        std::memcpy(out.data(), bytes.data() + at, out.size());
    });
    return {.paths = {path}, .what = "ONNX, operator set " + std::to_string(model.opset)};
}

ExportReport export_weights(const ExportRequest& request, FileSystem& files, const ExportedNetwork& network,
                            nn::TargetProgram program) {
    const std::optional<ImageNetwork>& image = network.image;
    const std::string name(nn::name(program));
    if (!image)
        throw Error(ErrorKind::unsupported, "--to " + name + " is for image networks; --to onnx holds any network");
    nn::TargetWeights weights = nn::in_target_layout(program, image->network, network.part.variables);
    const std::string folder = target_of(request, network.checkpoint);
    std::vector<std::string> paths = {folder + kWeightsFile};
    if (program == nn::TargetProgram::timm) paths.push_back(folder + "config.json");
    check_target(request, files, network.checkpoint, paths);
    const std::vector<std::string> classes = classes_of(request, network);
    Checkpoint file;
    file.metadata["format"] = "pt";
    file.metadata["architecture"] = weights.architecture;
    set_class_names(file.metadata, classes);
    file.tensors = std::move(weights.tensors);
    ExportReport report{.paths = paths, .what = name + "'s " + weights.architecture};
    report.difference = write_if_same(
        files, paths, network.outputs,
        [&](FileSystem& memory) {
            save(memory, paths.front(), file);
            if (paths.size() > 1) write_text(memory, paths[1], timm_config(weights.architecture, *image, classes));
        },
        [&](const FileSystem& memory) { return network.answers(load_weights(memory, paths.front()), paths.front()); });
    return report;
}

bool same_tensors(const TensorSource& expected, const std::map<std::string, HostTensor>& got) {
    return std::ranges::equal(expected.descs, got, [&](const auto& wanted, const auto& read) {
        return wanted.first == read.first && wanted.second == read.second.desc() &&
               std::ranges::equal(expected.tensor(wanted.first).bytes(), read.second.bytes());
    });
}

std::string name_without_suffix(const std::string& path) {
    std::string_view name = last_part(path);
    for (const std::string_view suffix : {kCheckpointSuffix, kTensorFlowIndex})
        if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    return std::string(name);
}

/// All tensors of the checkpoint, with the names that they have here, which are those of the original programs.
ExportReport export_tensorflow(const ExportRequest& request, FileSystem& files, const ExportedNetwork& network) {
    const std::string prefix = target_of(request, network.checkpoint) + name_without_suffix(network.checkpoint);
    const std::vector<std::string> paths = tensorflow_paths(prefix);
    check_target(request, files, network.checkpoint, paths);
    const Checkpoint stored = network.stored();
    TensorSource tensors = source_of(stored.tensors);
    if (request.in_f32) tensors = in_f32(std::move(tensors));
    ExportReport report{.paths = paths, .what = "TensorFlow, " + std::to_string(stored.tensors.size()) + " tensors"};
    report.difference = write_if_same(
        files, paths, network.outputs, [&](FileSystem& memory) { save_tensorflow(memory, prefix, tensors); },
        [&](const FileSystem& memory) {
            Checkpoint read = load_weights(memory, paths.back());
            if (!same_tensors(tensors, read.tensors)) {
                throw Error(ErrorKind::data,
                            "the file would have other tensors than the checkpoint; it was not written");
            }
            return network.answers(std::move(read), paths.back());
        });
    return report;
}

}  // namespace

ExportReport export_network(const ExportRequest& request, const ExportedNetwork& network, FileSystem& files) {
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
}

double difference(const HostTensor& expected, const HostTensor& got) {
    if (expected.shape() != got.shape()) return std::numeric_limits<double>::infinity();
    double greatest = 0;
    double apart = 0;
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
        const double a = expected.at(i);
        const double b = got.at(i);
        if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
        greatest = std::max(greatest, std::abs(a));
        apart = std::max(apart, std::abs(a - b));
    }
    return apart / std::max(1.0, greatest);
}

namespace {

double greatest_difference(const Outputs& expected, const Outputs& got) {
    double apart = 0;
    for (const auto& [name, tensor] : expected) {
        const auto found = got.find(name);
        apart = std::max(
            apart, found == got.end() ? std::numeric_limits<double>::infinity() : difference(tensor, found->second));
    }
    return apart;
}

}  // namespace

double write_if_same(FileSystem& files, const std::vector<std::string>& paths, const Outputs& expected,
                     const std::function<void(FileSystem& memory)>& write,
                     const std::function<Outputs(const FileSystem& memory)>& answers) {
    MemoryFiles memory;
    double apart = 0;
    try {
        write(memory);
        apart = greatest_difference(expected, answers(memory));
        if (!(apart <= kTolerance)) {
            throw Error(ErrorKind::data, "the file would answer otherwise than the network: a difference of " +
                                             formatted("%.2g", apart) + " where " + formatted("%g", kTolerance) +
                                             " is allowed; it was not written");
        }
    } catch (const Error& error) {
        throw error.within(paths.front());
    }
    publish(memory, files, paths);
    return apart;
}

}  // namespace cnntrain::weights
