#include <gtest/gtest.h>

#include "cnntrain/backend/cpu.h"
#include "golden/golden.h"

namespace cnntrain::golden {
namespace {

TEST(Golden, Resnet50WithBatchNormOnCpu) {
    compare_with_golden("resnet50_bn", *backend::make_cpu_backend(), {});
}

}  // namespace
}  // namespace cnntrain::golden
