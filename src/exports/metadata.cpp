#include "exports/metadata.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cnntrain/base/text.h"
#include "cnntrain/data/photo_input.h"
#include "cnntrain/nn/family_info.h"

namespace cnntrain::exports {

namespace {

using nlohmann::ordered_json;

/// Names may hold any bytes.
std::string text_of(const ordered_json& document, int indent = -1) {
    return document.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

/// Of the normalisation, for pixels in 0..1: (x - mean) / deviation. The settings are in single precision.
struct Colours {
    std::array<double, 3> mean{};
    std::array<double, 3> deviation{};
};

double six_digits(double value) {
    return std::stod(formatted("%.6g", value));
}

Colours colours_of(const data::DataSettings& images) {
    constexpr double kLevels = 255;
    const data::Normalisation how = data::channel_normalisation(images);
    Colours colours;
    for (std::size_t i = 0; i < colours.mean.size(); ++i) {
        colours.deviation[i] = six_digits(1 / (kLevels * how.scale[i]));
        colours.mean[i] = six_digits(-how.shift[i] / how.scale[i] / kLevels);
    }
    return colours;
}

template <typename Enum, std::size_t count>
std::string spelled(const std::array<std::string_view, count>& names, Enum value) {
    return std::string(names[static_cast<std::size_t>(value)]);
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
    result["resize"] = spelled(data::kResizeModeNames, how.resize_mode);
    if (how.resize_mode == data::ResizeMode::crop) {
        result["crop_fraction"] = how.crop_fraction;
        result["shorter_side"] = data::evaluation_shorter_side(images.image_size, how.crop_fraction);
    }
    if (how.resize_mode == data::ResizeMode::pad) {
        result["pad_levels"] = ordered_json::array();
        for (const float level : data::mean_pixel(images))
            result["pad_levels"].push_back(std::lround(level));
    }
    result["interpolation"] = spelled(data::kInterpolationNames, how.interpolation);
    const Colours colours = colours_of(images);
    result["normalisation"] = "(x / 255 - mean) / std";
    result["mean"] = colours.mean;
    result["std"] = colours.deviation;
    return result;
}

}  // namespace

std::map<std::string, std::string> onnx_metadata(const std::optional<tasks::ImageNetwork>& network,
                                                 const std::vector<std::string>& classes, bool prepares_photos) {
    std::map<std::string, std::string> result;
    if (network) {
        result["network"] = nn::family_info(network->network.family).title(network->network);
        result["preprocessing"] = text_of(preprocessing(network->images, prepares_photos));
    }
    if (!classes.empty()) result["classes"] = text_of(ordered_json(classes));
    return result;
}

std::string timm_config(const std::string& architecture, const tasks::ImageNetwork& network,
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
    return text_of(config, 2) + "\n";
}

}  // namespace cnntrain::exports
