// Draws the box that shows which replicas belong to which host, ILD and instance.
#include <algorithm>
#include <string>
#include <vector>

#include "cnntrain/launch/poprun.h"

namespace cnntrain::launch {
namespace {

/// A cell of a row; its width is proportional to the number of its replicas.
struct Cell {
    std::string text;
    int replicas = 1;
};

struct Row {
    std::string title;
    std::vector<Cell> cells;
};

std::vector<Row> rows_of(const Plan& plan) {
    std::vector<Row> rows = {{"hosts", {}}, {"ILDs", {}}, {"instances", {}}, {"replicas", {}}};
    const int per_instance = plan.replicas / static_cast<int>(plan.instances.size());
    for (const PlannedHost& host : plan.hosts)
        rows[0].cells.push_back({host.name, host.instances * per_instance});
    for (int i = 0; i < plan.ilds; ++i)
        rows[1].cells.push_back({std::to_string(i), plan.replicas / plan.ilds});
    for (std::size_t i = 0; i < plan.instances.size(); ++i)
        rows[2].cells.push_back({std::to_string(i), plan.instances[i].replicas});
    for (int i = 0; i < plan.replicas; ++i)
        rows[3].cells.push_back({std::to_string(i), 1});
    return rows;
}

std::string centred(const std::string& text, std::size_t width) {
    const std::size_t blanks = width - std::min(width, text.size());
    return std::string(blanks / 2, ' ') + text + std::string(blanks - blanks / 2, ' ');
}

/// Width of one replica's cell without the bar after it; every text gets a blank on both sides.
std::size_t replica_width(const std::vector<Row>& rows) {
    std::size_t width = 0;
    for (const Row& row : rows) {
        for (const Cell& cell : row.cells) {
            const auto replicas = static_cast<std::size_t>(cell.replicas);
            const std::size_t needed = cell.text.size() + 2 - std::min(cell.text.size() + 2, replicas - 1);
            width = std::max(width, (needed + replicas - 1) / replicas);
        }
    }
    return width;
}

}  // namespace

std::string topology_text(const Plan& plan) {
    constexpr std::size_t kTitle = 11;
    const std::vector<Row> rows = rows_of(plan);
    const std::size_t width = replica_width(rows);
    const std::size_t inner = static_cast<std::size_t>(plan.replicas) * (width + 1) - 1;
    const std::string rule(kTitle + inner + 3, '=');
    const std::string dashes = "|" + std::string(kTitle, '-') + "|" + std::string(inner, '-') + "|\n";
    std::string text = rule + "\n" + centred("poprun topology", rule.size());
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n" + rule + "\n";
    for (const Row& row : rows) {
        if (&row != &rows.front()) text += dashes;
        std::string title = " " + row.title;
        title.resize(kTitle, ' ');
        text += "|" + title + "|";
        for (const Cell& cell : row.cells)
            text += centred(cell.text, static_cast<std::size_t>(cell.replicas) * (width + 1) - 1) + "|";
        text += "\n";
    }
    return text + rule + "\n";
}

}  // namespace cnntrain::launch
