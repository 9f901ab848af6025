#include "cnntrain/plan/scaling_chart.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "plan/drawing.h"

namespace cnntrain::plan {

std::string name(const ReduceMethod& method) {
    return std::string(method.hierarchical ? "hierarchical" : "flat") + ", " + std::to_string(method.wire_bits) +
           " bits, " + (method.overlap ? "overlapped" : "after backward");
}

namespace {

constexpr double kPlotLeft = 80;  // in pixels, like all lengths here
constexpr double kPlotWidth = 720;
constexpr double kPlotHeight = 280;
constexpr double kRatesTop = 48;
constexpr double kEfficienciesTop = kRatesTop + kPlotHeight + 64;
constexpr double kLegend = kPlotLeft + kPlotWidth + 24;
constexpr double kWidth = kLegend + 260;
constexpr double kNote = kEfficienciesTop + kPlotHeight + 60;
constexpr double kHeight = kNote + 12;
constexpr double kLeastBetweenLabels = 36;

/// The colour shows route and wire format; dashes show communication without overlap.
constexpr const char* kScalingStyle =
    "text{font:12px sans-serif;fill:#222}line{stroke:#444}.grid line{stroke:#ddd}polyline{fill:none;stroke-width:2}"
    ".flat32{stroke:#4c78a8}.flat16{stroke:#72b7b2}.hierarchical32{stroke:#e45756}.hierarchical16{stroke:#f58518}"
    "polyline.after{stroke-dasharray:6 4}.ideal{stroke:#999;stroke-dasharray:2 "
    "3}circle{stroke-width:1;fill:white}.note text{font-size:10px}";

/// Maps numbers to positions on one axis of a plot.
class Axis {
public:
    Axis(double low, double high, double from, double to) : low_(low), high_(high), from_(from), to_(to) {}

    double at(double value) const {
        return high_ > low_ ? from_ + (value - low_) / (high_ - low_) * (to_ - from_) : (from_ + to_) / 2;
    }

private:
    double low_, high_, from_, to_;
};

std::string css_class(const ReduceMethod& method) {
    return (method.hierarchical ? "hierarchical" : "flat") + std::to_string(method.wire_bits) +
           (method.overlap ? "" : " after");
}

std::string polyline(const std::string& css, const std::vector<std::pair<double, double>>& points) {
    std::string text = "<polyline class=\"" + css + "\" points=\"";
    for (const auto& [x, y] : points)
        text += formatted("%.1f,%.1f ", x, y);
    return text + "\"/>\n";
}

std::string point_hint(const ScalingCurve& curve, const ScalingPoint& point, const std::string& unit) {
    return std::to_string(point.processes) + " processes, " + name(curve.method) +
           formatted(": %.4g %s/s, efficiency %.1f %%, step %.4g ms, communication %.4g ms of which %.0f %% hidden",
                     point.with_waits.samples_per_second, unit.c_str(), 100 * point.with_waits.efficiency,
                     point.with_waits.step_ms, point.with_waits.communication_ms,
                     100 * point.with_waits.hidden_share());
}

/// Draws the curves of one plot; `height` gives the y value of a point.
template <typename Height> std::string drawn_curves(std::span<const ScalingCurve> curves, const std::string& unit,
                                                    const Axis& x, Height&& height) {
    std::string lines;
    std::string dots;
    for (const ScalingCurve& curve : curves) {
        std::vector<std::pair<double, double>> points;
        for (const ScalingPoint& point : curve.points) {
            points.emplace_back(x.at(std::log2(static_cast<double>(point.processes))), height(point));
            dots += formatted("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\">", css_class(curve.method).c_str(),
                              points.back().first, points.back().second) +
                    "<title>" + xml_text(point_hint(curve, point, unit)) + "</title></circle>\n";
        }
        lines += polyline(css_class(curve.method), points);
    }
    return lines + dots;
}

/// The marks below a plot, as far as there is room.
std::string process_axis(std::span<const ScalingPoint> points, const Axis& x, double bottom) {
    std::string text = svg_line(kPlotLeft, bottom, kPlotLeft + kPlotWidth, bottom);
    double last = -kLeastBetweenLabels;
    for (const ScalingPoint& point : points) {
        const double at = x.at(std::log2(static_cast<double>(point.processes)));
        text += svg_line(at, bottom, at, bottom + 5);
        if (at - last < kLeastBetweenLabels) continue;
        text += svg_text(at, bottom + 19, std::to_string(point.processes), "middle");
        last = at;
    }
    return text + svg_text(kPlotLeft + kPlotWidth, bottom + 36, "processes", "end");
}

std::string grid_line(double y, const std::string& label) {
    return "<g class=\"grid\">" + svg_line(kPlotLeft, y, kPlotLeft + kPlotWidth, y) + "</g>\n" +
           svg_text(kPlotLeft - 8, y + 4, label, "end");
}

std::string rates(std::span<const ScalingCurve> curves, double single, const std::string& unit, const Axis& x) {
    const std::vector<ScalingPoint>& points = curves.front().points;
    double least = single * static_cast<double>(points.front().processes);
    const double most = single * static_cast<double>(points.back().processes);
    for (const ScalingCurve& curve : curves) {
        for (const ScalingPoint& point : curve.points)
            least = std::min(least, point.with_waits.samples_per_second);
    }
    const Axis y(std::log10(least), std::log10(most), kRatesTop + kPlotHeight, kRatesTop);
    std::string text;
    for (double power = std::ceil(std::log10(least)); power <= std::log10(most); ++power)
        text += grid_line(y.at(power), formatted("%g", std::pow(10, power)));
    const auto ideal = [&](const ScalingPoint& point) {
        return std::pair(x.at(std::log2(static_cast<double>(point.processes))),
                         y.at(std::log10(single * static_cast<double>(point.processes))));
    };
    text += polyline("ideal", {ideal(points.front()), ideal(points.back())});
    text += drawn_curves(curves, unit, x, [&](const ScalingPoint& point) {
        return y.at(std::log10(point.with_waits.samples_per_second));
    });
    return svg_text(kPlotLeft, kRatesTop - 8, unit + "/s") + text + process_axis(points, x, kRatesTop + kPlotHeight);
}

std::string efficiencies(std::span<const ScalingCurve> curves, const std::string& unit, const Axis& x) {
    constexpr int kTenths = 10;
    const Axis y(0, 1, kEfficienciesTop + kPlotHeight, kEfficienciesTop);
    std::string text = svg_text(kPlotLeft, kEfficienciesTop - 8, "efficiency");
    for (int tenth = 0; tenth <= kTenths; tenth += 2)
        text += grid_line(y.at(tenth / 10.0), std::to_string(10 * tenth) + " %");
    text += drawn_curves(curves, unit, x, [&](const ScalingPoint& point) { return y.at(point.with_waits.efficiency); });
    return text + process_axis(curves.front().points, x, kEfficienciesTop + kPlotHeight);
}

std::string legend(std::span<const ScalingCurve> curves) {
    constexpr double kRow = 20;
    double y = kRatesTop + 8;
    std::string text;
    for (const ScalingCurve& curve : curves) {
        text += polyline(css_class(curve.method), {{kLegend, y}, {kLegend + 32, y}});
        text += svg_text(kLegend + 40, y + 4, name(curve.method));
        y += kRow;
    }
    return text + polyline("ideal", {{kLegend, y}, {kLegend + 32, y}}) +
           svg_text(kLegend + 40, y + 4, "one process, times their number");
}

}  // namespace

std::string scaling_svg(std::span<const ScalingCurve> curves, double single, const std::string& unit,
                        std::string_view title, std::string_view note) {
    CNNTRAIN_CHECK(!curves.empty() && !curves.front().points.empty() && single > 0, "curves to draw");
    const std::vector<ScalingPoint>& points = curves.front().points;
    const auto doublings = [](const ScalingPoint& point) { return std::log2(static_cast<double>(point.processes)); };
    const Axis x(doublings(points.front()), doublings(points.back()), kPlotLeft, kPlotLeft + kPlotWidth);
    return svg_begin(kWidth, kHeight, kScalingStyle) + svg_text(kPlotLeft, 20, std::string(title)) + legend(curves) +
           rates(curves, single, unit, x) + efficiencies(curves, unit, x) + "<g class=\"note\">" +
           svg_text(kPlotLeft, kNote, std::string(note)) + "</g>\n</svg>\n";
}

}  // namespace cnntrain::plan
