#include <algorithm>
#include <cmath>

#include "report/draw/charts.h"
#include "report/draw/scale.h"

namespace cnntrain::report {

namespace {

constexpr double kLinesWidth = 400, kLinesHeight = 230;
constexpr double kLinesLeft = 52, kLinesRight = 392, kLinesTop = 10, kLinesBottom = 198;
constexpr std::size_t kMostPoints = 400;

/// Runs of neighbouring points are replaced by their means, so that at most kMostPoints are left. Points that are no
/// numbers are left out.
Curve thinned(const Curve& all) {
    Curve curve;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!std::isfinite(all.y[i]) || !std::isfinite(all.x[i])) continue;
        curve.x.push_back(all.x[i]);
        curve.y.push_back(all.y[i]);
    }
    const std::size_t each = (curve.size() + kMostPoints - 1) / kMostPoints;
    if (each <= 1) return curve;
    Curve result;
    for (std::size_t begin = 0; begin < curve.size(); begin += each) {
        const std::size_t end = std::min(begin + each, curve.size());
        double x = 0;
        double y = 0;
        for (std::size_t i = begin; i < end; ++i) {
            x += curve.x[i] / static_cast<double>(end - begin);
            y += curve.y[i] / static_cast<double>(end - begin);
        }
        result.x.push_back(x);
        result.y.push_back(y);
    }
    return result;
}

struct Extent {
    double low = INFINITY, high = -INFINITY;

    void add(const std::vector<double>& values) {
        for (const double value : values) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }
    /// With room above and below; never empty.
    void widen() {
        const double room = high > low ? 0.05 * (high - low) : std::max(1e-6, 0.05 * std::fabs(high));
        low = low >= 0 && low - room < 0 ? 0 : low - room;
        high += room;
    }
};

std::string joined_numbers(const std::vector<double>& values) {
    std::string text;
    for (const double value : values)
        text += (text.empty() ? "" : " ") + formatted("%.5g", value);
    return text;
}

std::string points_text(const Curve& curve, const Scale& x, const Scale& y) {
    std::string text;
    for (std::size_t i = 0; i < curve.size(); ++i)
        text += (i == 0 ? "" : " ") + place_text(x(curve.x[i])) + "," + place_text(y(curve.y[i]));
    return text;
}

void draw_axes(Html& page, const ChartText& text, const Scale& x, const Scale& y) {
    for (const double value : round_numbers(y.low, y.high, 5)) {
        const std::string place = place_text(y(value));
        page.empty("line", {{"class", "rule"},
                            {"x1", place_text(kLinesLeft)},
                            {"x2", place_text(kLinesRight)},
                            {"y1", place},
                            {"y2", place}});
        page.leaf("text", axis_text(value),
                  {{"x", place_text(kLinesLeft - 6)}, {"y", place_text(y(value) + 4)}, {"text-anchor", "end"}});
    }
    for (const double value : round_numbers(x.low, x.high, 5)) {
        page.leaf("text", axis_text(value),
                  {{"x", place_text(x(value))}, {"y", place_text(kLinesBottom + 16)}, {"text-anchor", "middle"}});
    }
    page.leaf("text", text.x,
              {{"x", place_text(kLinesRight)}, {"y", place_text(kLinesHeight - 3)}, {"text-anchor", "end"}});
    page.empty("line", {{"class", "axis"},
                        {"x1", place_text(kLinesLeft)},
                        {"x2", place_text(kLinesRight)},
                        {"y1", place_text(kLinesBottom)},
                        {"y2", place_text(kLinesBottom)}});
}

void draw_line(Html& page, const Line& line, const Curve& curve, const Scale& x, const Scale& y) {
    std::vector<Attribute> attributes = {{"class", formatted("line c%d", line.colour) + (line.dashed ? " dashed" : "")},
                                         {"points", points_text(curve, x, y)},
                                         {"data-name", line.name},
                                         {"data-x", joined_numbers(curve.x)},
                                         {"data-y", joined_numbers(curve.y)}};
    if (line.noisy) attributes.push_back({"data-noisy", "1"});
    page.empty("polyline", attributes);
    if (!line.dots && curve.size() > 1) return;
    constexpr std::size_t kMostDots = 60;
    for (std::size_t i = 0; i < curve.size() && curve.size() <= kMostDots; ++i) {
        page.empty("circle", {{"class", formatted("dot c%d", line.colour)},
                              {"cx", place_text(x(curve.x[i]))},
                              {"cy", place_text(y(curve.y[i]))},
                              {"r", "2.5"}});
    }
}

/// Each line's name and last value.
void draw_legend(Html& page, const ChartText& text, const std::vector<Line>& lines, const std::vector<Curve>& curves) {
    page.open("ul", {{"class", "legend"}});
    for (std::size_t i = 0; i < lines.size(); ++i) {
        page.open("li").open("svg", {{"class", "key"}, {"viewBox", "0 0 22 8"}, {"aria-hidden", "true"}});
        page.empty("line", {{"class", formatted("line c%d", lines[i].colour) + (lines[i].dashed ? " dashed" : "")},
                            {"x1", "0"},
                            {"x2", "22"},
                            {"y1", "4"},
                            {"y2", "4"}});
        page.close().text(lines[i].name + ": last " + number_text(curves[i].y.back()) + text.unit).close();
    }
    page.close();
}

}  // namespace

void draw_lines(Html& page, const ChartText& text, const std::vector<Line>& all) {
    std::vector<Line> lines;
    std::vector<Curve> curves;
    Extent extent_x;
    Extent extent_y;
    for (const Line& line : all) {
        Curve curve = thinned(line.curve);
        if (curve.empty()) continue;
        extent_x.add(curve.x);
        extent_y.add(curve.y);
        lines.push_back(line);
        curves.push_back(std::move(curve));
    }
    if (lines.empty()) return;
    if (extent_x.low == extent_x.high) extent_x.widen();
    extent_y.widen();
    const Scale x{extent_x.low, extent_x.high, kLinesLeft, kLinesRight};
    const Scale y{extent_y.low, extent_y.high, kLinesBottom, kLinesTop};
    page.open("figure", {{"class", "chart"}}).leaf("figcaption", text.title);
    page.open("svg", {{"viewBox", formatted("0 0 %.0f %.0f", kLinesWidth, kLinesHeight)},
                      {"role", "img"},
                      {"aria-label", text.title + " by " + text.x},
                      {"class", "lines"},
                      {"data-unit", text.unit},
                      {"data-axis", text.x},
                      {"data-scale", joined_numbers({x.low, x.high, x.from, x.to, y.low, y.high, y.from, y.to})}});
    draw_axes(page, text, x, y);
    for (std::size_t i = 0; i < lines.size(); ++i)
        draw_line(page, lines[i], curves[i], x, y);
    page.close();
    draw_legend(page, text, lines, curves);
    page.close();
}

}  // namespace cnntrain::report
