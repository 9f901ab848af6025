#include <cmath>

#include "cnntrain/base/text.h"
#include "cnntrain/report/findings.h"

namespace cnntrain::report {

std::string number_text(double value, int digits) {
    if (std::isnan(value)) return "not a number";
    if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
    const double size = std::fabs(value);
    if (size >= std::pow(10.0, digits) && size < 1e15) return formatted("%.0f", value);
    return formatted("%.*g", digits, value);
}

std::string probability_text(double probability) {
    constexpr double kLeast = 0.001;
    return probability < kLeast ? "< 0.1 %" : formatted("%.1f %%", 100 * probability);
}

std::string short_path(std::string_view path) {
    const std::size_t last = path.rfind('/');
    if (last == std::string_view::npos || last == 0) return std::string(path);
    const std::size_t before = path.rfind('/', last - 1);
    return std::string(before == std::string_view::npos ? path : path.substr(before + 1));
}

std::string duration_text(double seconds) {
    constexpr double kMinute = 60;
    constexpr double kHour = 3600;
    constexpr double kShort = 0.1;
    if (seconds < kShort) return number_text(1e3 * seconds, 2) + " ms";
    if (seconds < kMinute) return number_text(seconds, 3) + " s";
    if (seconds < kHour) return number_text(seconds / kMinute, 3) + " min";
    return number_text(seconds / kHour, 3) + " h";
}

std::string epoch_text(double epoch) {
    return "epoch " + number_text(epoch, 3);
}

}  // namespace cnntrain::report
