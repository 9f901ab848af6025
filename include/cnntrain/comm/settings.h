// Settings of the communication between the processes of a run.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cnntrain::comm {

/// Element type of gradients in messages between ranks.
enum class Wire : std::uint8_t { f32, bf16 };
inline constexpr std::array<std::string_view, 2> kWireNames{"f32", "bf16"};

/// flat: every rank exchanges with every other. hierarchical: the ranks of a node add in shared memory, and one rank
/// per node exchanges with those of other nodes. With one rank per node both are the same.
enum class Route : std::uint8_t { flat, hierarchical };
inline constexpr std::array<std::string_view, 2> kRouteNames{"flat", "hierarchical"};

/// Default of --max-cross-replica-buffer-size.
inline constexpr std::int64_t kDefaultBucketBytes = 10'485'760;

struct CommSettings {
    double timeout_seconds = 300;  // longest wait for another process
    Wire wire = Wire::f32;
    Route route = Route::hierarchical;
    std::int64_t bucket_bytes = kDefaultBucketBytes;  // size of gradient buckets summed in one operation
    bool overlap = true;                              // send gradients during the backward pass
    bool shard_optimiser = false;                     // each process keeps a part of the optimiser's state
};

}  // namespace cnntrain::comm
