#include "cnntrain/metrics/columns.h"

#include <algorithm>

#include "cnntrain/base/error.h"

namespace cnntrain::metrics {

void add(Sums& sums, const Sums& more) {
    for (const auto& [output, sum] : more)
        sums[output] += sum;
}

std::vector<std::string> outputs_of(const std::vector<Column>& columns) {
    std::vector<std::string> outputs;
    const auto add = [&](const std::string& output) {
        if (output.empty() || std::ranges::find(outputs, output) != outputs.end()) return;
        outputs.push_back(output);
    };
    for (const Column& column : columns) {
        add(column.output);
        add(column.divisor);
    }
    return outputs;
}

double sum_of(const Sums& sums, const std::string& output) {
    const auto found = sums.find(output);
    CNNTRAIN_CHECK(found != sums.end(), "the graph has no output " + output + " to report");
    return found->second;
}

double value_of(const Column& column, const Sums& sums, double samples) {
    const double divisor = column.divisor.empty() ? samples : sum_of(sums, column.divisor);
    return divisor != 0 ? column.scale * sum_of(sums, column.output) / divisor : 0;
}

std::vector<double> values_of(const std::vector<Column>& columns, const Sums& sums, std::int64_t samples) {
    std::vector<double> values;
    for (const Column& column : columns)
        values.push_back(value_of(column, sums, static_cast<double>(samples)));
    return values;
}

}  // namespace cnntrain::metrics
