#include "cnntrain/options/option.h"

#include "cnntrain/base/enumerators.h"
#include "cnntrain/base/error.h"

namespace cnntrain::options {
namespace {

template <typename E> std::string_view spelling(E value) {
    const auto& all = names<E>();
    const auto index = static_cast<std::size_t>(value);
    CNNTRAIN_CHECK(index < all.size(), "no such enumerator");
    return all[index];
}

template <typename E, std::size_t count>
std::vector<std::string_view> in_order(const std::string_view (&spellings)[count]) {
    static_assert(count == enumerator_count<E>(), "one spelling for each enumerator, in their order");
    return {spellings, spellings + count};
}

}  // namespace

template <> const std::vector<std::string_view>& names<backend::BackendKind>() {
    static const auto all = in_order<backend::BackendKind>({"cpu", "ref", "ipu"});
    return all;
}

template <> const std::vector<std::string_view>& names<nn::Family>() {
    static const std::vector<std::string_view> all(nn::kFamilyNames.begin(), nn::kFamilyNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<nn::PaddingRule>() {
    static const std::vector<std::string_view> all(nn::kPaddingRuleNames.begin(), nn::kPaddingRuleNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<nn::BottleneckStride>() {
    static const std::vector<std::string_view> all(nn::kBottleneckStrideNames.begin(),
                                                   nn::kBottleneckStrideNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<nn::NetworkForm>() {
    static const auto all = in_order<nn::NetworkForm>({"large", "small"});
    return all;
}

template <> const std::vector<std::string_view>& names<data::DatasetId>() {
    static const std::vector<std::string_view> all = [] {
        std::vector<std::string_view> by_id(data::kDatasets.size());
        for (const data::DatasetInfo& info : data::kDatasets)
            by_id[static_cast<std::size_t>(info.id)] = info.name;
        return by_id;
    }();
    return all;
}

template <> const std::vector<std::string_view>& names<data::Interpolation>() {
    static const std::vector<std::string_view> all(data::kInterpolationNames.begin(), data::kInterpolationNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<data::ResizeMode>() {
    static const std::vector<std::string_view> all(data::kResizeModeNames.begin(), data::kResizeModeNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<graph::UpdateRule>() {
    static const std::vector<std::string_view> all(graph::kOptimiserNames.begin(), graph::kOptimiserNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<optim::LrSchedule>() {
    static const auto all = in_order<optim::LrSchedule>(
        {"stepped", "cosine", "exponential", "polynomial_decay_lr", "gradual_warmup_then_dec"});
    return all;
}

template <> const std::vector<std::string_view>& names<optim::StepSchedule>() {
    static const std::vector<std::string_view> all(optim::kStepScheduleNames.begin(), optim::kStepScheduleNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<nn::Precision>() {
    static const auto all = in_order<nn::Precision>({"16.16", "16.32", "32.32"});
    return all;
}

template <> const std::vector<std::string_view>& names<nn::ComputeType>() {
    static const auto all = in_order<nn::ComputeType>({"auto", "bf16", "f32"});
    return all;
}

template <> const std::vector<std::string_view>& names<backend::StochasticRounding>() {
    static const auto all = in_order<backend::StochasticRounding>({"ON", "ON_prng_stable", "RI_prng_stable", "OFF"});
    return all;
}

template <> const std::vector<std::string_view>& names<schedule::PipelineSchedule>() {
    static const std::vector<std::string_view> all(schedule::kPipelineScheduleNames.begin(),
                                                   schedule::kPipelineScheduleNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<run::Metric>() {
    static const std::vector<std::string_view> all(run::kMetricNames.begin(), run::kMetricNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<run::LogFormat>() {
    static const std::vector<std::string_view> all(run::kLogFormatNames.begin(), run::kLogFormatNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<comm::Wire>() {
    static const std::vector<std::string_view> all(comm::kWireNames.begin(), comm::kWireNames.end());
    return all;
}

template <> const std::vector<std::string_view>& names<comm::Route>() {
    static const std::vector<std::string_view> all(comm::kRouteNames.begin(), comm::kRouteNames.end());
    return all;
}

std::string_view name(backend::BackendKind value) {
    return spelling(value);
}
std::string_view name(nn::Family value) {
    return spelling(value);
}
std::string_view name(data::DatasetId value) {
    return spelling(value);
}
std::string_view name(graph::UpdateRule value) {
    return spelling(value);
}
std::string_view name(run::Metric value) {
    return spelling(value);
}
std::string_view name(optim::LrSchedule value) {
    return spelling(value);
}
std::string_view name(nn::Precision value) {
    return spelling(value);
}
std::string_view name(nn::ComputeType value) {
    return spelling(value);
}
std::string_view name(backend::StochasticRounding value) {
    return spelling(value);
}

}  // namespace cnntrain::options
