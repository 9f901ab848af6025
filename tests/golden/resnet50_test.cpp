#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "golden/golden.h"

namespace cnntrain::golden {
namespace {

/// The slow tests run all ten steps.
TEST(Golden, TwoStepsOfResnet50WithBatchNormOnCpu) {
    RunSettings settings;
    settings.most_steps = 2;
    compare_with_golden("resnet50_bn", *backend::make_cpu_backend(), settings);
}

}  // namespace
}  // namespace cnntrain::golden
