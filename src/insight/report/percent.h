#pragma once

namespace cnntrain::report {

inline constexpr double kPercent = 100;

}  // namespace cnntrain::report
