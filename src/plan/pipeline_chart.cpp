#include "cnntrain/plan/pipeline_chart.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "plan/drawing.h"

namespace cnntrain::plan {
namespace {

std::string label(const schedule::StageWork& work) {
    return (work.backward ? "B" : "F") + std::to_string(work.micro_batch);
}

/// One column of the table; all cells have the same width.
struct Column {
    std::vector<std::string> cells;  // heading, then one cell per stage; "" is idle
    std::size_t width = 0;
};

Column column_of(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::int64_t tick) {
    Column column;
    column.cells.resize(static_cast<std::size_t>(pipeline.stages) + 1);
    column.cells[0] = std::to_string(tick);
    for (const schedule::StageWork& work : work_at(pipeline, micro_batches, tick))
        column.cells[static_cast<std::size_t>(work.stage) + 1] += label(work);
    for (const std::string& cell : column.cells)
        column.width = std::max(column.width, cell.size());
    return column;
}

constexpr std::string_view kCut = "...";

/// The columns that fit: from the start, and from the end.
struct Columns {
    std::deque<Column> first;
    std::deque<Column> last;
    bool all = false;
};

Columns columns_within(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t room) {
    const std::int64_t ticks = schedule::tick_count(pipeline, micro_batches);
    Columns columns;
    std::size_t taken = 0;
    for (std::int64_t i = 0; i < ticks; ++i) {
        const bool from_begin = i % 2 == 0;
        Column next = column_of(pipeline, micro_batches, from_begin ? i / 2 : ticks - 1 - i / 2);
        taken += 1 + next.width;
        const std::size_t cut = i + 1 < ticks ? 1 + kCut.size() : 0;  // room for the mark of omitted ticks
        if (taken + cut > room && i >= 2) return columns;
        from_begin ? columns.first.push_back(std::move(next)) : columns.last.push_front(std::move(next));
    }
    columns.all = true;
    return columns;
}

/// Pads to `width` columns; an idle stage gets a dot in the middle.
std::string padded(const std::string& cell, std::size_t width) {
    const std::size_t length = cell.empty() ? 1 : cell.size();
    return (cell.empty() ? "\u00b7" : cell) + std::string(width - length, ' ');
}

std::string row_name(std::size_t row) {
    return row == 0 ? "tick" : "stage " + std::to_string(row - 1);
}

}  // namespace

std::string chart_text(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t width) {
    const auto rows = static_cast<std::size_t>(pipeline.stages) + 1;
    const std::size_t name_width = row_name(rows - 1).size() + 1;
    const Columns columns = columns_within(pipeline, micro_batches, width > name_width ? width - name_width : 0);
    std::string text;
    for (std::size_t row = 0; row < rows; ++row) {
        std::string line = padded(row_name(row), name_width);
        for (const Column& column : columns.first)
            line += " " + padded(column.cells[row], column.width);
        if (!columns.all) line += " " + std::string(kCut);
        for (const Column& column : columns.last)
            line += " " + padded(column.cells[row], column.width);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

namespace {

constexpr double kRowsLeft = 80;  // in pixels, like all lengths here
constexpr double kTop = 56;
constexpr double kRowsWidth = 1280;
constexpr double kRowHeight = 28;
constexpr double kBoxHeight = 22;
constexpr double kBelow = 44;  // for the axis
constexpr double kLeastLabelled = 22;

/// The boxes to draw, and the x position of each point in time.
class Picture {
public:
    Picture(std::span<const TimedWork> work, std::size_t most) : work_(work.begin(), work.end()) {
        std::ranges::stable_sort(work_, {}, &TimedWork::begin_ms);
        for (const TimedWork& each : work_)
            rows_ = std::max(rows_, each.work.stage + 1);
        if (work_.size() > most) cut(most / 2);
        for (const TimedWork& each : work_)
            shown_ms_ = std::max(shown_ms_, on_paper(each.end_ms));
    }

    const std::vector<TimedWork>& work() const { return work_; }
    std::int32_t rows() const { return rows_; }
    double bottom() const { return kTop + rows_ * kRowHeight; }
    bool is_cut() const { return left_out_ > 0; }
    std::size_t left_out() const { return left_out_; }
    double cut_at() const { return first_end_ms_; }
    double x(double ms) const { return kRowsLeft + (shown_ms_ > 0 ? on_paper(ms) / shown_ms_ * kRowsWidth : 0); }
    double shown_ms() const { return shown_ms_; }
    /// True if this point in time is part of the picture.
    bool shows(double ms) const { return !is_cut() || ms <= first_end_ms_ || ms >= last_begin_ms_; }
    double end_ms() const { return shown_ms_ + removed_ms_; }

private:
    /// Keeps this many boxes at both ends and closes the gap between them.
    void cut(std::size_t each_end) {
        left_out_ = work_.size() - 2 * each_end;
        const auto first = work_.begin() + static_cast<std::ptrdiff_t>(each_end);
        work_.erase(first, first + static_cast<std::ptrdiff_t>(left_out_));
        for (std::size_t i = 0; i < each_end; ++i)
            first_end_ms_ = std::max(first_end_ms_, work_[i].end_ms);
        last_begin_ms_ = work_[each_end].begin_ms;
        const double gap = 0.02 * first_end_ms_;
        removed_ms_ = std::max(0.0, last_begin_ms_ - first_end_ms_ - gap);
    }

    double on_paper(double ms) const { return is_cut() && ms >= last_begin_ms_ ? ms - removed_ms_ : ms; }

    std::vector<TimedWork> work_;
    std::int32_t rows_ = 0;
    std::size_t left_out_ = 0;
    double first_end_ms_ = 0;  // end of the part before the cut
    double last_begin_ms_ = 0;
    double removed_ms_ = 0;
    double shown_ms_ = 0;
};

/// 1, 2 or 5 times a power of ten, so that the axis has about ten steps.
double axis_step(double whole) {
    const double tenth = whole / 10;
    const double power = std::pow(10, std::floor(std::log10(tenth)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= tenth) return factor * power;
    }
    return 10 * power;
}

std::string legend() {
    std::string text;
    text += formatted("<circle class=\"forward\" cx=\"%.1f\" cy=\"38\" r=\"6\"/>\n", kRowsLeft + 6);
    text += svg_text(kRowsLeft + 18, 42, "forward");
    text += formatted("<circle class=\"backward\" cx=\"%.1f\" cy=\"38\" r=\"6\"/>\n", kRowsLeft + 96);
    text += svg_text(kRowsLeft + 108, 42, "backward");
    return text;
}

std::string box(const Picture& picture, const TimedWork& timed) {
    const double begin = picture.x(timed.begin_ms);
    const double width = picture.x(timed.end_ms) - begin;
    const double y = kTop + timed.work.stage * kRowHeight;
    const char* direction = timed.work.backward ? "backward" : "forward";
    const std::string hint =
        formatted("stage %d, %s pass of micro-batch %lld: %.4g to %.4g ms, lane %d", timed.work.stage, direction,
                  static_cast<long long>(timed.work.micro_batch), timed.begin_ms, timed.end_ms, timed.lane);
    std::string text = formatted("<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\">", direction,
                                 begin, y, width, kBoxHeight) +
                       "<title>" + hint + "</title></rect>\n";
    if (width >= kLeastLabelled) text += svg_text(begin + width / 2, y + 15, label(timed.work), "middle");
    return text;
}

std::string axis(const Picture& picture) {
    const double bottom = picture.bottom();
    std::string text = svg_line(kRowsLeft, bottom, kRowsLeft + kRowsWidth, bottom);
    if (picture.shown_ms() <= 0) return text;
    const double step = axis_step(picture.shown_ms());
    // Draws only the marks that are visible, however long the removed part is.
    double ms = 0;
    while (ms <= picture.end_ms()) {
        if (!picture.shows(ms)) {
            ms = std::ceil((picture.end_ms() - picture.shown_ms() + picture.cut_at()) / step) * step;
            if (!picture.shows(ms)) ms += step;
            continue;
        }
        const double x = picture.x(ms);
        text += svg_line(x, bottom, x, bottom + 6);
        text += svg_text(x, bottom + 20, formatted("%.6g", ms), "middle");
        ms += step;
    }
    return text + svg_text(kRowsLeft + kRowsWidth, bottom + 38, "ms", "end");
}

std::string cut_mark(const Picture& picture) {
    if (!picture.is_cut()) return "";
    const double x = picture.x(picture.cut_at()) + 4;
    return formatted("<line class=\"cut\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, kTop - 6, x,
                     picture.bottom() + 6) +
           svg_text(kRowsLeft + kRowsWidth, 42,
                    std::to_string(picture.left_out()) + " passes at the dashed line are left out", "end");
}

constexpr const char* kPipelineStyle =
    "text{font:12px sans-serif;fill:#222}line{stroke:#444}.cut{stroke-dasharray:4 3}"
    ".forward{fill:#9ecae9;stroke:#4c78a8}.backward{fill:#ffbf79;stroke:#c66a00}";

}  // namespace

std::string chart_svg(std::span<const TimedWork> work, std::string_view title, std::size_t most) {
    const Picture picture(work, most);
    const double width = kRowsLeft + kRowsWidth + 24;
    const double height = picture.bottom() + kBelow;
    std::string text = svg_begin(width, height, kPipelineStyle);
    text += svg_text(kRowsLeft, 20, std::string(title));
    text += legend();
    for (std::int32_t row = 0; row < picture.rows(); ++row)
        text += svg_text(8, kTop + row * kRowHeight + 15, "stage " + std::to_string(row));
    for (const TimedWork& each : picture.work())
        text += box(picture, each);
    return text + cut_mark(picture) + axis(picture) + "</svg>\n";
}

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
