// Test data and comparisons for the CPU kernels. Vectors have exactly the size a kernel may touch, so that the address
// sanitizer sees every step too far.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {

template <typename T> T rounded(double value) {
    if constexpr (std::is_same_v<T, BFloat16>) {
        return to_bfloat16(static_cast<float>(value));
    } else {
        return static_cast<T>(value);
    }
}

inline double widened(float value) {
    return static_cast<double>(value);
}
inline double widened(BFloat16 value) {
    return static_cast<double>(to_float(value));
}
inline double widened(std::uint8_t value) {
    return static_cast<double>(value);
}

inline std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

/// Uniform in [low, high), different for every seed.
template <typename T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed, double low = -2, double high = 2) {
    Rng rng(seed, RngStream::test);
    std::vector<T> values(at(count));
    for (T& value : values)
        value = rounded<T>(rng.uniform(low, high));
    return values;
}

inline std::vector<float> scratch_for(const Blocks& shape, std::int64_t groups = 0) {
    return std::vector<float>(at(norm_scratch_floats(shape, groups)), std::numeric_limits<float>::quiet_NaN());
}

/// Half a unit in the last place of T, as a fraction.
template <typename T> double rounding_error() {
    return std::is_same_v<T, BFloat16> ? 1.0 / 256 : 1e-6;
}

/// |got - want| <= rounding of T + `slack` * (1 + |want|).
template <typename T>
void expect_near(const std::vector<T>& got, const std::vector<double>& want, double slack, const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double limit = rounding_error<T>() * std::fabs(want[i]) + slack * (1 + std::fabs(want[i]));
        const double difference = std::fabs(widened(got[i]) - want[i]);
        ASSERT_LE(difference, limit) << what << " at " << i << ": got " << widened(got[i]) << ", want " << want[i];
    }
}

template <typename T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline std::string text(const Blocks& shape) {
    return "n=" + std::to_string(shape.n) + " blocks=" + std::to_string(shape.blocks) +
           " pixels=" + std::to_string(shape.pixels) + " lanes=" + std::to_string(shape.lanes);
}

/// Tails, single vectors, several blocks, and sizes that are cut into parts.
inline std::vector<Blocks> shape_grid() {
    std::vector<Blocks> shapes;
    for (const std::int64_t lanes : {1, 3, 10, 16, 17, 32, 64, 100}) {
        for (const std::int64_t pixels : {1, 7, 49}) {
            for (const std::int64_t n : {1, 2, 5}) {
                if (n == 2 && lanes > 16) continue;
                shapes.push_back({n, 1, pixels, lanes});
                if (lanes == 16) shapes.push_back({n, 3, pixels, lanes});
            }
        }
    }
    for (const std::int64_t lanes : {3, 16, 64, 100})
        shapes.push_back({2, lanes == 16 ? 4 : 1, 3136, lanes});
    return shapes;
}

/// body() once for each instruction set that this machine has and the kernels were compiled for. One thread: what more
/// threads change (nothing) is the business of expect_thread_independent.
template <typename Body> void for_each_target(const Body& body) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
        if ((hwy::SupportedTargets() & target) == 0 && target != HWY_SCALAR) continue;
        hwy::GetChosenTarget().Update(target);
        SCOPED_TRACE(hwy::TargetName(target));
        body();
    }
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    omp_set_num_threads(threads);
}

/// body() with 1, 2, 3 and 5 threads; it returns bytes that must not differ.
template <typename Body> void expect_thread_independent(const Body& body) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const auto serial = body();
    for (const int count : {2, 3, 5}) {
        omp_set_num_threads(count);
        EXPECT_TRUE(same_bits(serial, body())) << count << " threads";
    }
    omp_set_num_threads(threads);
}

/// The element types of activations and parameters.
using Reals = ::testing::Types<float, BFloat16>;

}  // namespace cnntrain::cpu
