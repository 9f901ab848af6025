// Rows of text in columns, for people.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace cnntrain {

using TextRows = std::vector<std::vector<std::string>>;

inline constexpr std::size_t kAllColumns = std::numeric_limits<std::size_t>::max();

/// Columns as wide as their widest cell, separated by two blanks; each row ends with a line end. The first `left`
/// columns are left-aligned, the others right-aligned. No row has more cells than the first one.
inline std::string in_columns(const TextRows& rows, std::size_t left = 0) {
    std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            line += (i == 0 ? "" : "  ") + (i < left ? row[i] + padding : padding + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

/// Every line of the text further to the right.
inline std::string indented(const std::string& text, std::size_t blanks) {
    std::string result;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
        result += std::string(blanks, ' ') + text.substr(start, end - start);
        start = end;
    }
    return result;
}

}  // namespace cnntrain
