#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "golden/golden.h"

namespace cnntrain::golden {
namespace {

TEST(Golden, Resnet8WithBatchNormOnRef) {
    // Both sides in float64: what is left is the float32 in which gradients and variables are handed out.
    RunSettings settings;
    settings.tolerances = {1e-9, 1e-6, 1e-6};
    compare_with_golden("resnet8_bn", *backend::make_ref_backend(), settings);
}

TEST(Golden, Resnet8WithBatchNormOnCpu) {
    compare_with_golden("resnet8_bn", *backend::make_cpu_backend(), {});
}

TEST(Golden, Resnet20WithGroupNormTwoMicroBatchesAndLossScalingOnCpu) {
    RunSettings settings;
    settings.loss_scaling = 128;
    compare_with_golden("resnet20_gn", *backend::make_cpu_backend(), settings);
}

TEST(Golden, Resnext11WithBatchNormOnCpu) {
    compare_with_golden("resnext11_bn", *backend::make_cpu_backend(), {});
}

}  // namespace
}  // namespace cnntrain::golden
