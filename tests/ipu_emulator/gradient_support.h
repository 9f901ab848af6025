// Gradients against finite differences, in float.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace ipu_emulator::test {

/// Sum of a[i] b[i].
inline double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

/// `gradient` is that of dot(function(x), direction) by x.
inline void expect_gradient(const std::function<std::vector<float>(const std::vector<float>&)>& function,
                            std::vector<float> x, const std::vector<float>& direction,
                            const std::vector<float>& gradient, float step = 0x1p-7f, double tolerance = 2e-3,
                            std::size_t most_elements = 12) {
    ASSERT_EQ(x.size(), gradient.size());
    const std::size_t stride = std::max<std::size_t>(1, x.size() / most_elements);
    for (std::size_t i = 0; i < x.size(); i += stride) {
        const float before = x[i];
        x[i] = before + step;
        const double above = dot(function(x), direction);
        x[i] = before - step;
        const double below = dot(function(x), direction);
        x[i] = before;
        const double slope = (above - below) / (2.0 * static_cast<double>(step));
        EXPECT_NEAR(gradient[i], slope, tolerance * (1 + std::fabs(slope))) << "element " << i;
    }
}

}  // namespace ipu_emulator::test
