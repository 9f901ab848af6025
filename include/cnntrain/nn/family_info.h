// What a model family is called and what it sets when the user does not, beyond its networks (model.h). Each family
// says it in its own file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/settings.h"
#include "cnntrain/nn/settings.h"

namespace cnntrain::nn {

/// In what order and how far the name of a run's folder tells about it.
enum class RunNameStyle : std::uint8_t {
    replicas_first,      // RN20_bs32x2rx4a_BN_16.16
    accumulation_first,  // EfficientNet-B0_bs4x4ax2r_GN4: without the precision
};

/// What the user gets of one form of a family who does not say it. Empty: the user must choose.
struct FormDefaults {
    std::string_view size;
    std::int64_t micro_batch_size = 1;
    NormKind norm = NormKind::group;
    std::int64_t groups = 32;  // of group norm
    double weight_decay = 0;
    std::map<graph::UpdateRule, double> rate_exponents = {};  // LearningRateSettings::base_exponent (optim/settings.h)
    std::optional<double> rmsprop_base_decay_exp = {};
    double epochs = 0;
    std::vector<double> drop_fractions = {};  // of the run: where the stepped schedule drops
    // Of the exponential schedule: factor and number of its drops.
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
    /// A size as the user may write it, in the family's spelling; null: as it is written.
    std::string (*spelled_size)(std::string size) = nullptr;
    /// Height and width of the images of a size; 0, or null: the data set's.
    std::int64_t (*image_size)(std::string_view size) = nullptr;
    /// Behind the message that CIFAR's images have one size only.
    std::string_view advice_for_small_images = "leave out --image-size";

    // What the user gets who does not say it; 0: the family has no such value.
    std::int64_t convolution_groups = 0;
    std::int64_t group_dim = 0;
    FormDefaults large_images;
    FormDefaults small_images;
    /// Variables whose weights are not decayed, by parts of their names, unless the data set decays all (DatasetInfo).
    std::vector<std::string> undecayed = {"beta", "gamma"};
    bool one_group_with_batch_norm = false;   // the number of groups is recorded as 1 then
    bool always_tells_decay = false;          // of the moving averages, in the summary
    bool splits_before_any_function = false;  // pipelines; otherwise usually before a ReLU
};

FamilyInfo family_info(Family family);

inline const FormDefaults& defaults_of(const FamilyInfo& info, NetworkForm form) {
    return form == NetworkForm::large_images ? info.large_images : info.small_images;
}

}  // namespace cnntrain::nn
