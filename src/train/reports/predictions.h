// From logits to the likeliest classes.
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

/// The likeliest classes of one row of logits[N,C], the best first; equal ones in the order of their labels. At most C.
std::vector<ClassProbability> likeliest(const HostTensor& logits, std::int64_t row, std::int64_t count);

/// `image,label,class_1,probability_1,...`; no line end.
std::string prediction_header(std::int64_t count);
std::string prediction_row(const std::string& image, std::int64_t label, const std::vector<ClassProbability>& classes);

}  // namespace cnntrain::train
