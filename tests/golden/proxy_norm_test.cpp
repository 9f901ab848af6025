// EfficientNets with proxy norm against tools/golden/make_proxy_norm_golden.py: losses, gradients as the update reads
// them, and the variables after three updates.
#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "golden/golden.h"

namespace cnntrain::golden {
namespace {

/// Both sides in float64: what is left is the float32 in which gradients and variables are handed out.
RunSettings exact() {
    RunSettings settings;
    settings.tolerances = {1e-9, 1e-6, 1e-6};
    return settings;
}

/// Settings for float32. The moving means after the parts c, whose norms have no shift, are zero but for rounding.
RunSettings rounded() {
    RunSettings settings;
    settings.tolerances.variable = 2e-4;
    return settings;
}

RunSettings scaled(RunSettings settings) {
    settings.loss_scaling = 128;
    return settings;
}

TEST(GoldenProxyNorm, SwishBatchNormMomentumAndTwoMicroBatches) {
    compare_with_golden("proxy_norm_swish_bn", *backend::make_ref_backend(), scaled(exact()));
    compare_with_golden("proxy_norm_swish_bn", *backend::make_cpu_backend(), scaled(rounded()));
}

// Here proxies are not left out of the weight decay.
TEST(GoldenProxyNorm, SwishGroupNormAndRmsProp) {
    compare_with_golden("proxy_norm_swish_gn", *backend::make_ref_backend(), scaled(exact()));
    compare_with_golden("proxy_norm_swish_gn", *backend::make_cpu_backend(), scaled(rounded()));
}

// Some ReLU would decide differently in float32, so these run on ref alone.
TEST(GoldenProxyNorm, ReluBatchNormWithoutSqueezeExcite) {
    compare_with_golden("proxy_norm_relu_bn", *backend::make_ref_backend(), exact());
}

TEST(GoldenProxyNorm, ReluGroupNorm) {
    compare_with_golden("proxy_norm_relu_gn", *backend::make_ref_backend(), exact());
}

}  // namespace
}  // namespace cnntrain::golden
