// The backends. The reference evaluates each node naively in float64: it is slow, and others are compared with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

struct RefSettings {
    DType half = DType::bf16;  // the 16-bit type: bf16 or f16
    /// Rounds every result of a node to its element type (to nearest). Otherwise values, parameters and states keep
    /// float64 precision, and only store() and output() round.
    bool rounds = false;
};

/// "ref". It trains in a single process. RuntimeSettings::stochastic_rounding has no effect.
std::unique_ptr<Backend> make_ref_backend(const RefSettings& settings = {});

/// Evaluates one node; `values` is indexed by ValueId and must hold the node's inputs. Mutating nodes overwrite their
/// inputs.
void evaluate_node(const graph::Graph& graph, graph::NodeId id, std::vector<graph::RefTensor>& values,
                   const graph::RandomKey& random = {});

// The CPU backend: oneDNN for convolutions and matrix products; own kernels for memory-bound operations and AMX
// products.

/// "cpu". Computes in f32 and bf16 (`16` means bfloat16); parameters are f32 or bf16.
std::unique_ptr<Backend> make_cpu_backend();

// Products of rows of floats by oneDNN, on the calling thread alone. Equal calls give equal results. A call with some
// of the rows may round otherwise, so callers divide rows by their numbers, not by threads.

/// out[r * columns + c] = sum over k of a[r * width + k] * b[c * width + k].
void dot_rows(const float* a, std::int64_t rows, const float* b, std::int64_t columns, std::int64_t width, float* out);

/// sums[c * width + k] += sum over r of factors[r * columns + c] * a[r * width + k].
void add_weighted_rows(const float* factors, const float* a, std::int64_t rows, std::int64_t columns,
                       std::int64_t width, float* sums);

// The IPU backend: graphs become programs of the public Poplar, PopLibs and GCL API. The build decides what executes
// them: a Poplar SDK, or the emulator in src/ipu_emulator.

struct IpuModelSettings {
    std::optional<unsigned> tiles_per_ipu = {};  // compiles for a model of IPUs with so many tiles, not for a device
};

/// "ipu". The 16-bit type is IEEE half. Null in a build with -DCNNTRAIN_IPU=OFF.
std::unique_ptr<Backend> make_ipu_backend(const IpuModelSettings& settings = {});

}  // namespace cnntrain::backend
