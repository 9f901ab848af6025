#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "golden/golden.h"

namespace cnntrain::golden {
namespace {

TEST(Golden, Resnet50WithBatchNormOnCpu) {
    compare_with_golden("resnet50_bn", *backend::make_cpu_backend(), {});
}

TEST(Golden, EfficientnetB0WithBatchNormOnCpu) {
    compare_with_golden("efficientnet_b0_bn", *backend::make_cpu_backend(), {});
}

TEST(Golden, EfficientnetB0WithGroupNormAndGroupsOfSixteenOnCpu) {
    compare_with_golden("efficientnet_b0_gn", *backend::make_cpu_backend(), {});
}

TEST(Golden, Resnext14WithGroupNormOnCpu) {
    compare_with_golden("resnext14_gn", *backend::make_cpu_backend(), {});
}

}  // namespace
}  // namespace cnntrain::golden
