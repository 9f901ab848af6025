#pragma once

#include <set>

#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>

namespace poplin {

/// Plans all of them ahead into the cache.
void preplan(const std::set<ConvPlanParams>& convs, const std::set<MatMulPlanParams>& matmuls, PlanningCache& cache);

}  // namespace poplin
