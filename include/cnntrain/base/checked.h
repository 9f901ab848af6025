// Arithmetic on whole numbers that the user may choose. A result that 64 bits cannot hold is an error, never another
// number.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/base/error.h"

namespace cnntrain {

/// Empty when 64 bits cannot hold it.
inline std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
    return result;
}

[[noreturn]] inline void fail_too_large(std::string_view what, const std::string& how) {
    throw Error(ErrorKind::usage, std::string(what) + " is too large: " + how + " is more than 64 bits can count");
}

/// Error(usage) saying that `what` ("the global batch") is too large.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b, std::string_view what) {
    const auto result = product(a, b);
    if (!result) fail_too_large(what, std::to_string(a) + " x " + std::to_string(b));
    return *result;
}

/// The whole part of a number; Error(usage) as checked_product().
inline std::int64_t checked_whole(double value, std::string_view what) {
    constexpr double kLimit = 9223372036854775808.0;  // 2^63
    if (!(std::fabs(value) < kLimit)) fail_too_large(what, "the number asked for");
    return static_cast<std::int64_t>(value);
}

}  // namespace cnntrain
