// What is asked of a model: which network, which number formats, what goes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::nn {

enum class Family : std::uint8_t { resnet };
enum class DatasetKind : std::uint8_t { imagenet, cifar };
enum class NormKind : std::uint8_t { batch, group };

struct ModelSettings {
    Family family = Family::resnet;
    std::string size = "50";  // model_sizes() lists the legal ones
    DatasetKind dataset = DatasetKind::imagenet;
    std::int64_t classes = 1000;
    std::int64_t image_size = 224;
    NormKind norm = NormKind::batch;
    std::int64_t groups = 32;  // group norm only; contiguous channels, must divide every channel count
    double epsilon = 1e-5;
    double bn_decay = 0.97;  // of the moving averages; read by whoever appends the update
};

/// 16.16: {half, half}; 16.32: {half, f32}; 32.32: {f32, f32}. A weight whose stored type is not the compute type
/// passes through a cast node at each use, except that norms read f32 gamma, beta and moving values, and the last layer
/// its f32 bias, as they are: their arithmetic is f32 anyway.
struct NumericsSettings {
    DType compute = DType::f32;                     // activations and their gradients
    DType parameters = DType::f32;                  // stored parameters and moving averages
    DType half = DType::bf16;                       // what `16` means for the overrides
    std::vector<std::string> force_weight_to_fp16;  // variables whose name contains one of these
    std::vector<std::string> force_weight_to_fp32;
};

/// images * scale[c] + shift[c], computed on the device.
struct DeviceNormalisation {
    std::vector<double> scale;
    std::vector<double> shift;
};

struct InputSettings {
    TensorDesc images;  // [N,H,W,3] as the data pipeline delivers it: u8, f32 or the compute type
    std::optional<DeviceNormalisation> normalise;
};

}  // namespace cnntrain::nn
