#pragma once

namespace poplar {

/// REPLICATE: one callback for each replica. BROADCAST: one callback, whose data all replicas get.
enum class ReplicatedStreamMode { REPLICATE, BROADCAST };

}  // namespace poplar
