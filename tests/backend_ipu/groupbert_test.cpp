// GroupBERT's layer on IPUs against another implementation in double precision.
#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "golden/groupbert.h"

namespace cnntrain::golden {
namespace {

TEST(IpuGoldenGroupBert, LayerInFloat) {
    const auto ipu = backend::make_ipu_backend({.tiles_per_ipu = 8});
    expect_golden_on(*ipu, GroupLayer(8, true), {.values = 1e-5, .gradients = 1e-5, .query_gradients = 1e-4});
}

/// The tolerance is that of the case list in half. Gradients of queries are sums that nearly cancel: in a layer that
/// NumPy computes with all results in half, they are up to 5 % of the largest apart.
TEST(IpuGoldenGroupBert, LayerInHalf) {
    constexpr double kHalf = 1.2e-2;
    const auto ipu = backend::make_ipu_backend({.tiles_per_ipu = 8});
    for (const bool splits : {true, false}) {
        expect_golden_on(*ipu, GroupLayer(8, splits, DType::f16),
                         {.values = kHalf, .gradients = kHalf, .query_gradients = 0.1});
    }
}

}  // namespace
}  // namespace cnntrain::golden
