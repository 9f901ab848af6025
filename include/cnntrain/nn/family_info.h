// What a model family is called and what it sets when the user does not, beyond its networks (model.h) and the numbers
// of family_defaults(). Each family says it in its own file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/nn/settings.h"

namespace cnntrain::nn {

/// In what order and how far the name of a run's folder tells about it.
enum class RunNameStyle : std::uint8_t {
    replicas_first,      // RN20_bs32x2rx4a_BN_16.16
    accumulation_first,  // EfficientNet-B0_bs4x4ax2r_GN4: without the precision
};

struct FamilyInfo {
    std::string_view run_prefix;  // "RN", before the size
    RunNameStyle run_name = RunNameStyle::replicas_first;
    /// "ResNet-50".
    std::string (*title)(const ModelSettings& settings);
    /// A size as the user may write it, in the family's spelling; null: as it is written.
    std::string (*spelled_size)(std::string size) = nullptr;
    /// Height and width of the images of a size; 0, or null: the data set's.
    std::int64_t (*image_size)(std::string_view size) = nullptr;
    /// Behind the message that CIFAR's images have one size only.
    std::string_view advice_for_small_images = "leave out --image-size";

    // What the user gets who does not say it; 0: the family has no such value.
    std::int64_t convolution_groups = 0;
    std::int64_t group_dim = 0;
    double label_smoothing_on_imagenet = 0;
    bool two_pass_variance_on_imagenet = false;
    /// Variables whose weights are not decayed, by parts of their names, for ImageNet.
    std::vector<std::string> undecayed = {"beta", "gamma"};
    bool one_group_with_batch_norm = false;   // the number of groups is recorded as 1 then
    bool always_tells_decay = false;          // of the moving averages, in the summary
    bool splits_before_any_function = false;  // pipelines; otherwise usually before a ReLU
};

FamilyInfo family_info(Family family);

}  // namespace cnntrain::nn
