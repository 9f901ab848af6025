#include <gtest/gtest.h>

#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ref.h"
#include "golden/golden.h"

namespace cnntrain::golden {
namespace {

TEST(Golden, Resnet8WithBatchNormOnRef) {
    // In float64 only the float32 of the inputs is left, which both sides share.
    RunSettings settings;
    settings.steps = 1;
    settings.tolerances = {1e-9, 1e-8, 1e-8};
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

}  // namespace
}  // namespace cnntrain::golden
