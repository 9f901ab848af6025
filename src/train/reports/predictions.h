// Finds the most probable classes from logits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::train {

struct ClassProbability {
    std::int64_t label = 0;  // 0..classes-1
    double probability = 0;  // softmax of the logits
};

/// The `count` most probable classes of one row of logits[N,C], best first, ties by ascending label; at most C.
std::vector<ClassProbability> likeliest(const HostTensor& logits, std::int64_t row, std::int64_t count);

/// The text of a class: its name if there are names, else its number. With names, an unknown label (below 0) is "".
std::string class_text(std::int64_t label, const std::vector<std::string>& names);

/// `<unit>,label,class_1,probability_1,...` without a line end.
std::string prediction_header(const std::string& unit, std::int64_t count);
std::string prediction_row(const std::string& sample, std::int64_t label, const std::vector<ClassProbability>& classes,
                           const std::vector<std::string>& names);

}  // namespace cnntrain::train
