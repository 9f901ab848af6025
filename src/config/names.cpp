#include "config/names.h"

#include "cnntrain/base/error.h"

namespace cnntrain::config {

namespace {

template <typename E> std::string_view spelling(E value) {
    const auto& all = names<E>();
    const auto index = static_cast<std::size_t>(value);
    CNNTRAIN_CHECK(index < all.size(), "no such enumerator");
    return all[index];
}

}  // namespace

template <> const std::vector<std::string_view>& names<BackendKind>() {
    static const std::vector<std::string_view> all = {"cpu", "ref", "ipu"};
    return all;
}

template <> const std::vector<std::string_view>& names<ModelFamily>() {
    static const std::vector<std::string_view> all = {"resnet", "resnext", "efficientnet"};
    return all;
}

template <> const std::vector<std::string_view>& names<Dataset>() {
    static const std::vector<std::string_view> all = {"imagenet", "cifar-10", "cifar-100"};
    return all;
}

template <> const std::vector<std::string_view>& names<Optimiser>() {
    static const std::vector<std::string_view> all = {"SGD", "RMSprop", "momentum", "LARS"};
    return all;
}

template <> const std::vector<std::string_view>& names<LrSchedule>() {
    static const std::vector<std::string_view> all = {"stepped", "cosine", "exponential", "polynomial_decay_lr"};
    return all;
}

template <> const std::vector<std::string_view>& names<Precision>() {
    static const std::vector<std::string_view> all = {"16.16", "16.32", "32.32"};
    return all;
}

template <> const std::vector<std::string_view>& names<StochasticRounding>() {
    static const std::vector<std::string_view> all = {"ON", "ON_prng_stable", "RI_prng_stable", "OFF"};
    return all;
}

std::string_view name(BackendKind value) {
    return spelling(value);
}
std::string_view name(ModelFamily value) {
    return spelling(value);
}
std::string_view name(Dataset value) {
    return spelling(value);
}
std::string_view name(Optimiser value) {
    return spelling(value);
}
std::string_view name(LrSchedule value) {
    return spelling(value);
}
std::string_view name(Precision value) {
    return spelling(value);
}
std::string_view name(StochasticRounding value) {
    return spelling(value);
}

}  // namespace cnntrain::config
