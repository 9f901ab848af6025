// Counts of a validation by class: of tasks whose graphs have logits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/metrics/columns.h"
#include "cnntrain/metrics/rows.h"

namespace cnntrain::train {

/// Samples of one class.
struct ClassCount {
    double samples = 0;
    double correct = 0;
    double predicted = 0;  // samples of any class that the network takes for this one
};

class ClassCounts {
public:
    /// Counts the samples of a micro-batch. The prediction is the first of the largest logits; samples without a valid
    /// label (padding, left out) are not counted. `logits`: [N,C] of any float type.
    void add(const HostTensor& logits, std::span<const std::int32_t> labels);

    const std::vector<ClassCount>& classes() const { return classes_; }
    /// As numbers that are summed over processes, and back. `classes`: of the network; a process without samples has
    /// zeros.
    std::vector<double> numbers(std::size_t classes) const;
    static ClassCounts of(std::span<const double> numbers);

    /// Adds kRecallSum and kClassesSeen, from which the balanced accuracy follows: the mean over the classes that have
    /// samples of the share of each that is classified correctly.
    void add_recalls(metrics::Sums& sums) const;

private:
    std::vector<ClassCount> classes_;
};

/// The table of all validations' counts in a run's folder, a row for each class.
inline constexpr std::string_view kClassTable = "validation_classes.csv";
std::string class_table_header();
/// The rows of one validation. `names`: of the classes; empty: they have numbers only. `header`: of the table; that of
/// an earlier version has fewer columns.
std::string class_table_rows(const metrics::ValidationRow& row, const ClassCounts& counts,
                             const std::vector<std::string>& names, std::string_view header);

}  // namespace cnntrain::train
