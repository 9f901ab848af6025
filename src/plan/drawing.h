// Parts of SVG charts. Lengths are in pixels.
#pragma once

#include <string>
#include <string_view>

#include "cnntrain/base/text.h"

namespace cnntrain::plan {

/// Stands in the second line of every chart of this program.
inline constexpr std::string_view kChartMark = "<desc>cnntrain plan</desc>";

/// The start of a file: its size, `style` (CSS) and a white background.
inline std::string svg_begin(double width, double height, const std::string& style) {
    return formatted(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
               width, height, width, height) +
           std::string(kChartMark) + "\n" + "<style>" + style + "</style>\n" +
           formatted("<rect width=\"%.0f\" height=\"%.0f\" fill=\"white\"/>\n", width, height);
}

inline std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start") {
    return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + xml_text(text) + "</text>\n";
}

inline std::string svg_line(double x1, double y1, double x2, double y2) {
    return formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}

}  // namespace cnntrain::plan
