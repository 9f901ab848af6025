// The user's settings for the machine that computes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/text.h"

namespace cnntrain::backend {

enum class BackendKind : std::uint8_t { cpu, ref, ipu };
constexpr auto spellings(BackendKind) {
    return std::to_array<std::string_view>({"cpu", "ref", "ipu"});
}

/// Rounding to 16 bits in training. on: stochastic. on_prng_stable: the same, and results of equal operands are equal
/// on all replicas. ri_prng_stable: stochastic only where operands are equal on all replicas, which are the updates of
/// weights. CPUs round stochastically in updates only, so that all modes but `off` are the same there. On IPUs the
/// updates of all replicas have the same random numbers in every mode, so that `on` is `on_prng_stable`.
enum class StochasticRounding : std::uint8_t { on, on_prng_stable, ri_prng_stable, off };
constexpr auto spellings(StochasticRounding) {
    return std::to_array<std::string_view>({"ON", "ON_prng_stable", "RI_prng_stable", "OFF"});
}

/// The user's settings for IPUs; other backends ignore them.
struct IpuSettings {
    // Convolutions and matrix products
    bool half_partials = false;  // partial sums of products of halves are half; else float
    /// Share of a tile's memory for temporary data of products. Empty: PopLibs' choice. One value: of all IPUs. One
    /// for each IPU. Two for each IPU: of its forward and of its backward phases.
    std::vector<double> available_memory_proportion = {};
    bool conv_dithering = false;               // convolutions begin on different tiles
    bool gather_conv_output = false;           // the output of a convolution lies on few tiles
    std::int64_t matmul_serialize_factor = 1;  // slices of the products with the table of words; divides its rows
    bool stable_norm = true;                   // variances are means of squared deviations; else E[x^2] - E[x]^2
    // Numbers
    bool fp_exceptions = false;         // invalid operations, divisions by 0 and overflows are Error(diverged)
    bool saturate_on_overflow = false;  // what is too large for half becomes +-65504; else NaN
    bool rounds_updates_only = false;   // RuntimeSettings::stochastic_rounding does not act on forward and backward
    bool identical_replica_seeding = false;  // replicas round with the same random numbers
    // Memory and exchange
    bool offload_variables = true;               // states of optimisers lie in remote buffers
    std::int64_t min_remote_tensor_bytes = 128;  // smaller ones stay; times the replicas where the optimiser is sharded
    std::string exchange_target = {};            // opt.internalExchangeOptimisationTarget; empty: Poplar's choice
    bool sync_replicas_independently = false;    // target.syncReplicasIndependently
    std::size_t all_reduce_bytes = 0;            // gradients of one all-reduce, at most, unless a single one is larger
    // Host
    std::optional<std::int64_t> prefetch_depth = {};  // micro-batches in a stream's buffer; empty: Poplar's choice
    bool inputs_stay = false;             // every micro-batch has the inputs of the first one, without host traffic
    std::optional<unsigned> device = {};  // number in Poplar's list of devices; empty: any that has the IPUs
};

}  // namespace cnntrain::backend
