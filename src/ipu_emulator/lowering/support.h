// Helpers that library functions share.
#pragma once

#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>

#include "ipu_emulator/model/graph_data.h"
#include "ipu_emulator/model/op_run.h"
#include "ipu_emulator/model/options.h"
#include "ipu_emulator/model/regions.h"

namespace ipu_emulator {

/// Throws poputil::poplibs_error "<function>: <what>" unless `good`.
void require(bool good, const std::string& function, const std::string& what);

/// "name/function", or the function alone.
std::string op_name(const poplar::DebugContext& debugContext, const std::string& function);

/// t with its shape broadcast to `shape` by numpy's rule. Throws poplibs_error.
poplar::Tensor broadcast_to(const poplar::Tensor& t, const std::vector<std::size_t>& shape,
                            const std::string& function);

bool is_float(poplar::Type type);

/// [N][C][field...] as [N][field...][C], and back.
poplar::Tensor channels_last(const poplar::Tensor& t);
poplar::Tensor channels_second(const poplar::Tensor& t);

/// A variable [N][C][field...] whose memory is [N][field...][C], mapped linearly: the order that kernels like.
poplar::Tensor new_activations(poplar::Graph& graph, poplar::Type type, const std::vector<std::size_t>& shape,
                               const std::string& name);

/// All elements of an operand as floats, loaded by all threads.
const float* load_all(OpRun& run, const Operand& operand);

}  // namespace ipu_emulator
