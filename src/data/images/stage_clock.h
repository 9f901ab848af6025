// Measures the time of each stage of making a sample.
#pragma once

#include <chrono>

namespace cnntrain::data {

/// Adds the time since construction, or since the previous call, to a stage.
class StageClock {
public:
    void add_to(double& seconds) {
        const auto now = std::chrono::steady_clock::now();
        seconds += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace cnntrain::data
