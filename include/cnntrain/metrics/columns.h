// The numbers that a task reports, and what it counts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cnntrain::metrics {

/// The outputs of a graph, summed over samples.
using Sums = std::map<std::string, double>;

void add(Sums& sums, const Sums& more);

/// A reported number: scale * the sum of an output / the sum of the divisor.
struct Column {
    std::string name;          // in files; a training row has <name>_batch and <name>_avg
    std::string output;        // of the graph
    std::string divisor = {};  // the output whose sum divides; empty: the number of samples does
    double scale = 1;          // 100: percent
    bool at_end = false;       // validation.csv: behind all others, for programs that find those by their place
};

/// A number of a training row that the weight updates done (TrainingRow::iteration) decide, rather than what they
/// computed.
struct PlannedColumn {
    std::string name;
    std::function<double(std::int64_t)> value;
};

/// What a task counts, as it stands in lines and column names.
struct Unit {
    std::string one;    // "image"
    std::string many;   // "images"
    std::string brief;  // "img"
};

/// What TensorBoard gets of a training, whose log lines may be far apart.
struct Curves {
    bool every_host_step = false;             // false: the host steps that have a log line
    std::vector<PlannedColumn> planned = {};  // with every_host_step: numbers of no table, by the names of their curves
    std::string compile_time = {};  // curve of the seconds until the first step could begin; empty: it has none
};

struct Columns {
    Unit unit = {};
    /// What TensorBoard calls columns of a training; the others are training/<name>.
    std::map<std::string, std::string> tags = {};
    std::vector<Column> training = {};
    std::vector<PlannedColumn> planned = {};  // of a training, behind all others: tables of earlier versions lack them
    std::vector<Column> validation = {};
    std::vector<Column> inference = {};
    Curves curves = {};
};

/// Every output that the columns read, once each, in the order in which they read them.
std::vector<std::string> outputs_of(const std::vector<Column>& columns);

/// Error(internal) when the graph has no such output.
double sum_of(const Sums& sums, const std::string& output);

/// The columns' values; 0 where the divisor is. The scale is applied before the division, so that whole percentages
/// come out whole.
std::vector<double> values_of(const std::vector<Column>& columns, const Sums& sums, std::int64_t samples);

}  // namespace cnntrain::metrics
