// Formats numbers and optimisers in a run's output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/graph/settings.h"

namespace cnntrain::run {

/// Formats a number as on a command line: "0.1".
std::string text(double value);
/// Formats a number with five significant digits.
std::string short_text(double value);
/// "3, 6, 9, ... 30 (10 in all)". `first`: all values, or the first kShown of `count`.
std::string some_of(const std::vector<std::int64_t>& first, std::int64_t count, std::int64_t last);
inline constexpr std::size_t kShown = 6;

/// "momentum, momentum 0.9, weight decay 0.0001, loss scaling 128", for a dry run.
std::string optimiser_text(const optim::OptimiserSettings& settings);

}  // namespace cnntrain::run
