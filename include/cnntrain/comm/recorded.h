// A communicator that records when its operations wait.
#pragma once

#include <memory>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/comm/communicator.h"

namespace cnntrain::comm {

/// Forwards every operation to `inner`. While the timeline is on, it adds intervals to two tracks: "communication",
/// the waits of the thread that communicates, and "buckets", the operations on buckets from start to end.
std::shared_ptr<Communicator> make_recorded(std::shared_ptr<Communicator> inner, std::shared_ptr<Timeline> timeline);

}  // namespace cnntrain::comm
