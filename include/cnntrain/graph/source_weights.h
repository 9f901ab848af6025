// Weights of image networks that other programs have saved: which network they are of, by names and shapes, and their
// conversion to this program's variables. The formats and their tables of names are rows of the families.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

using TensorDescs = std::map<std::string, TensorDesc>;

/// Preparation of photos for a source's network: the shorter side becomes image_size / crop_fraction, the centre is cut
/// out, and x becomes (x / 255 - mean) / deviation.
struct SourcePixels {
    std::int64_t image_size = 224;
    std::array<double, 3> mean = {0.485, 0.456, 0.406};  // of R, G, B
    std::array<double, 3> deviation = {0.229, 0.224, 0.225};
    double crop_fraction = 0.875;
    std::string interpolation = "bilinear";  // or "bicubic", both antialiased

    bool operator==(const SourcePixels&) const = default;
};

/// The network that a file of weights belongs to.
struct SourceNetwork {
    std::string format;              // "timm"
    bool own = false;                // the names are this program's
    NetworkSettings settings;        // with the source's conventions; classes: 0 if the file has no last layer
    SourcePixels pixels;             // as the source's networks of this size have them
    bool normalises_inside = false;  // the file has the mean and variance of x / 255: Keras's EfficientNets
    std::string assumed = {};        // conventions that the file leaves open; empty: none
    /// Reason why another network may have the same tensors. The user excludes it by naming `sure_by`, a key of an
    /// option.
    std::string doubt = {};
    std::string_view sure_by = {};
};

/// `architecture`: the source's own name of the network, such as timm's in its config.json; "" if unknown. Empty for
/// this program's names if their shapes do not identify the network. Error(unsupported) for a network that this program
/// does not have; the message names it, or a tensor and what was expected.
std::optional<SourceNetwork> source_network(const TensorDescs& tensors, const std::string& architecture);

/// Takes the normalisation of a network that normalises its input by a layer of its own, whose "mean" and "variance"
/// are among the tensors. Keras's published EfficientNets hold ImageNet's deviations in the place of variances, and
/// mend that by a rescaling without variables; networks that were trained anew do not.
void take_inner_normalisation(SourcePixels& pixels, const std::map<std::string, HostTensor>& tensors);

/// The tensors by the names and in the layout of a network's variables, `own` (parameters and moving averages). The
/// last layer may be missing or have other classes. Names of this program, and of no known format, are not changed.
/// Error(data) lists tensors that are missing, have other shapes or have no place in the network.
std::map<std::string, HostTensor> in_own_layout(std::map<std::string, HostTensor> tensors, const TensorDescs& own);

/// Scope of the variables of the last layer, which depend on the classes: "all/fc1/".
std::string_view head_scope(Family family);

}  // namespace cnntrain::nn
