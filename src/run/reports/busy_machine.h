// Tells that other programs take the processors on which a training's threads wait for each other.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/run/observer.h"

namespace cnntrain::run {

/// The warning, for a run with this many compute threads on this many processors; "" if there is no reason for one, or
/// nothing to change.
std::string busy_machine_warning(const Competition& found, int threads, int processors);

/// Looks after the first seconds of training, and then once in a minute until it has warned.
class BusyMachine final : public metrics::Handles<BusyMachine> {
public:
    /// `warn` is called once at most.
    BusyMachine(int threads, int processors, std::function<void(const std::string&)> warn);

    void handle(const metrics::Progress& progress);

private:
    int threads_;
    int processors_;
    std::function<void(const std::string&)> warn_;
    std::optional<ProcessorTimes> since_;
    double window_seconds_;
    double next_look_ = 0;
};

}  // namespace cnntrain::run
