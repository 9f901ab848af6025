// The input that each output of a convolution reads.
#pragma once

#include <cstddef>
#include <vector>

#include <poplin/ConvParams.hpp>

namespace ipu_emulator {

/// One dimension of the field.
struct FieldAxis {
    std::size_t input = 1;
    std::size_t output = 1;
    std::size_t kernel = 1;
    std::vector<int> source = {0};         // [output][kernel]: the input, -1 for a zero
    std::vector<std::size_t> order = {0};  // in which outputs are computed
};

FieldAxis field_axis(const poplin::ConvParams& params, std::size_t dim);

}  // namespace ipu_emulator
