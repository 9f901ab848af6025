#include "cnntrain/data/settings.h"

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"

namespace cnntrain::data {

Normalisation normalisation(std::span<const double> mean, std::span<const double> deviation) {
    CNNTRAIN_CHECK(mean.size() == 3 && deviation.size() == 3, "constants for three channels");
    Normalisation result{};
    for (std::size_t c = 0; c < 3; ++c) {
        result.scale[c] = static_cast<float>(1.0 / (255.0 * deviation[c]));
        result.shift[c] = static_cast<float>(-mean[c] / deviation[c]);
    }
    return result;
}

Normalisation imagenet_normalisation(bool normalise_input) {
    if (!normalise_input) return {{1.0f, 1.0f, 1.0f}, {-123.68f, -116.78f, -103.94f}};
    constexpr std::array<double, 3> kMean = {0.485, 0.456, 0.406};
    constexpr std::array<double, 3> kDeviation = {0.229, 0.224, 0.225};
    return normalisation(kMean, kDeviation);
}

Normalisation channel_normalisation(const DataSettings& settings) {
    const PreparationSettings& preparation = settings.preparation;
    if (preparation.normalise_mean.empty()) return imagenet_normalisation(settings.normalise_input);
    return normalisation(preparation.normalise_mean, preparation.normalise_std);
}

std::array<float, 3> mean_pixel(const DataSettings& settings) {
    const Normalisation how = channel_normalisation(settings);
    std::array<float, 3> mean{};
    for (std::size_t c = 0; c < mean.size(); ++c)
        mean[c] = -how.shift[c] / how.scale[c];
    return mean;
}

std::int64_t used_share(std::int64_t records, std::int64_t percent) {
    constexpr std::int64_t kPercent = 100;
    return checked_product(records, percent, "the number of records") / kPercent;
}

PixelFormat host_format(const InputSettings& settings) {
    const bool by_channel = dataset_info(settings.dataset).normalised_by_channel;
    if (settings.eight_bit_io && (by_channel || settings.kind != DataKind::real)) return {DType::u8, std::nullopt};
    if (by_channel && settings.hostside_norm) return {settings.compute_dtype, channel_normalisation(settings)};
    return {settings.compute_dtype, std::nullopt};
}

MixingSettings effective_mixing(const DataSettings& settings) {
    return settings.kind == DataKind::real ? settings.mixing : MixingSettings{};
}

std::optional<Normalisation> device_normalisation(const DataSettings& settings) {
    const bool on_host = settings.hostside_norm && !settings.eight_bit_io;
    if (!dataset_info(settings.dataset).normalised_by_channel || on_host) return std::nullopt;
    return channel_normalisation(settings);
}

}  // namespace cnntrain::data
