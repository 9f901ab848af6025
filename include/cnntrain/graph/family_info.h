// Names and defaults of a model family; model.h has its networks. Each family defines them in its own file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

/// Order and contents of the name of a run's folder.
enum class RunNameStyle : std::uint8_t {
    replicas_first,      // RN20_bs32x2rx4a_BN_16.16
    accumulation_first,  // EfficientNet-B0_bs4x4ax2r_GN4: without the precision
};

/// Defaults of one network form. An empty size: the user must choose.
struct FormDefaults {
    std::string_view size;
    std::int64_t micro_batch_size = 1;
    NormKind norm = NormKind::group;
    std::int64_t groups = 32;  // of group norm
    double weight_decay = 0;
    std::map<graph::UpdateRule, double> rate_exponents = {};  // LearningRateSettings::base_exponent (settings.h)
    std::optional<double> rmsprop_base_decay_exp = {};
    double epochs = 0;
    std::vector<double> drop_fractions = {};  // stepped schedule: places of the drops, as shares of the run
    // Exponential schedule: factor and number of drops.
    std::optional<double> rate_decay = {};
    std::optional<std::int64_t> rate_drops = {};
    double label_smoothing = 0;
    bool two_pass_variance = false;  // in norms
};

struct FamilyInfo {
    std::string_view run_prefix;  // "RN", before the size
    RunNameStyle run_name = RunNameStyle::replicas_first;
    /// "ResNet-50".
    std::string (*title)(const ModelSettings& settings);
    /// Converts a size that the user typed into the family's spelling; null: sizes are taken as typed.
    std::string (*spelled_size)(std::string size) = nullptr;
    /// Height and width of the images of a size; 0, or null: the data set's.
    std::int64_t (*image_size)(std::string_view size) = nullptr;
    /// Ends the message that CIFAR's images have a single size.
    std::string_view advice_for_small_images = "leave out --image-size";

    // Defaults; 0: the family has no such value.
    std::int64_t convolution_groups = 0;
    std::int64_t group_dim = 0;
    double norm_epsilon = 1e-5;
    FormDefaults large_images;
    FormDefaults small_images;
    /// Parts of the names of variables without weight decay, unless the data set decays all variables (DatasetInfo).
    std::vector<std::string> undecayed = {"beta", "gamma"};
    bool one_group_with_batch_norm = false;   // batch norm records the number of groups as 1
    bool always_tells_decay = false;          // the summary always has the decay of moving averages
    bool splits_before_any_function = false;  // pipeline splits; otherwise usually before a ReLU
};

FamilyInfo family_info(Family family);

inline const FormDefaults& defaults_of(const FamilyInfo& info, NetworkForm form) {
    return form == NetworkForm::large_images ? info.large_images : info.small_images;
}

}  // namespace cnntrain::nn
