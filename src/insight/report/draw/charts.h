// Charts as SVG inside a page. Sizes are about those on a phone, so that text stays readable; wider screens show
// several in a row. Colours are classes of the page's style.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/insight/findings.h"
#include "cnntrain/parallel/pipeline.h"
#include "insight/report/page/html.h"

namespace cnntrain::report {

/// A line of a chart.
struct Line {
    std::string name;  // "validation"
    Curve curve;
    int colour = 0;  // number of the run, or of the line
    bool dashed = false;
    bool dots = false;   // few points: each is marked
    bool noisy = false;  // smoothing acts on it
};

struct ChartText {
    std::string title;
    std::string unit;         // of y, after numbers
    std::string x = "epoch";  // name of the axis
};

/// A figure with lines, axes, a legend and the last values as text; nothing for lines without points.
void draw_lines(Html& page, const ChartText& text, const std::vector<Line>& lines);

/// A bar from 0 to 1 for each share of a whole, one below the other.
void draw_parts(Html& page, const std::string& title, const std::vector<TimePart>& parts);

struct HistogramSeries {
    std::string name;
    std::vector<double> values;
    int colour = 0;
};
/// Counts of values in equal intervals of all series together.
void draw_histogram(Html& page, const std::string& title, const std::string& axis,
                    const std::vector<HistogramSeries>& series);

/// A small figure without counts, of the values between the 0.1th and the 99.9th percentile. `detail`: text below it.
void draw_small_histogram(Html& page, const std::string& title, const std::string& detail, std::vector<double> values);

/// The work of each stage at each tick of a weight update, cut after the ticks that fit.
void draw_pipeline(Html& page, const schedule::Pipeline& pipeline, std::int64_t micro_batches);

}  // namespace cnntrain::report
