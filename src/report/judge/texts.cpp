#include <cmath>

#include "cnntrain/base/format.h"
#include "cnntrain/report/findings.h"

namespace cnntrain::report {

std::string number_text(double value, int digits) {
    if (std::isnan(value)) return "not a number";
    if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
    const double size = std::fabs(value);
    if (size >= std::pow(10.0, digits) && size < 1e15) return formatted("%.0f", value);
    return formatted("%.*g", digits, value);
}

std::string duration_text(double seconds) {
    constexpr double kMinute = 60;
    constexpr double kHour = 3600;
    if (seconds < kMinute) return number_text(seconds, 3) + " s";
    if (seconds < kHour) return number_text(seconds / kMinute, 3) + " min";
    return number_text(seconds / kHour, 3) + " h";
}

std::string epoch_text(double epoch) {
    return "epoch " + number_text(epoch, 3);
}

}  // namespace cnntrain::report
