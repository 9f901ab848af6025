// What the user says about how the processes of a run talk to each other.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cnntrain::comm {

/// What gradients travel in between ranks.
enum class Wire : std::uint8_t { f32, bf16 };
inline constexpr std::array<std::string_view, 2> kWireNames{"f32", "bf16"};

/// flat: every rank exchanges with every other. hierarchical: ranks of a node add in memory that they share, and one
/// rank of a node exchanges with the others'. Where every rank has a node of its own, both are the same.
enum class Route : std::uint8_t { flat, hierarchical };
inline constexpr std::array<std::string_view, 2> kRouteNames{"flat", "hierarchical"};

/// --max-cross-replica-buffer-size when it is not given.
inline constexpr std::int64_t kDefaultBucketBytes = 10'485'760;

struct CommSettings {
    double timeout_seconds = 300;  // longest wait for another process
    Wire wire = Wire::f32;
    Route route = Route::hierarchical;
    std::int64_t bucket_bytes = kDefaultBucketBytes;  // of gradients that are summed in one operation
    bool overlap = true;                              // gradients travel while backward goes on
    bool shard_optimiser = false;                     // each process keeps a part of the optimiser's state
};

}  // namespace cnntrain::comm
