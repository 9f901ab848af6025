// The numbers that a task reports, and the unit that it counts.
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
    bool at_end = false;       // validation.csv: last columns, because some programs find the others by position
    std::string label = {};    // its name on a screen: a progress line, the table of epochs; empty: it is not there
};

/// A number of a training row that is a function of TrainingRow::iteration alone.
struct PlannedColumn {
    std::string name;
    std::function<double(std::int64_t)> value;
};

/// The unit that a task counts, as log lines and column names print it.
struct Unit {
    std::string one;    // "image"
    std::string many;   // "images"
    std::string brief;  // "img"
};

/// TensorBoard's curves of a training, whose log lines may be far apart.
struct Curves {
    bool every_host_step = false;             // false: only host steps with a log line
    std::vector<PlannedColumn> planned = {};  // with every_host_step: curves without a column, by name
    std::string compile_time = {};            // curve of the seconds until the first step could start; empty: none
};

struct TrainingRow;

/// Where a training row stands in the run, for people.
struct Position {
    std::int64_t step = 0;
    double epoch = 0;
};

struct Columns {
    Unit unit = {};
    /// Step and epoch in log lines and tables, and the step of curves, for tasks that number their steps themselves;
    /// empty: those of the row, and its iteration for curves.
    std::function<Position(const TrainingRow& row)> position = {};
    /// TensorBoard's names of training columns; other columns are named training/<name>.
    std::map<std::string, std::string> tags = {};
    std::vector<Column> training = {};
    std::vector<PlannedColumn> planned = {};  // last columns of training rows; tables of earlier versions lack them
    std::vector<Column> validation = {};
    /// Last columns of tables of validations that other validations do not have: those of validations during training.
    std::vector<std::string> more_validation = {};
    std::vector<Column> inference = {};
    Curves curves = {};
};

/// The outputs that the columns read, without repetition, in reading order.
std::vector<std::string> outputs_of(const std::vector<Column>& columns);

/// Error(internal) if the graph has no such output.
double sum_of(const Sums& sums, const std::string& output);

/// A column's value; 0 if the divisor is 0. Samples may have weights, and then are no whole number.
double value_of(const Column& column, const Sums& sums, double samples);

/// The columns' values; 0 if the divisor is 0. Multiplies by the scale before dividing, so that whole percentages are
/// exact.
std::vector<double> values_of(const std::vector<Column>& columns, const Sums& sums, std::int64_t samples);

}  // namespace cnntrain::metrics
