// Steps of unequal length on real processes against the predicted ones: mpirun starts this program once a rank. Each
// step sleeps for a random time, then sums numbers over all ranks, as a training does at the end of each update.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "cnntrain/insight/plan.h"
#include "cnntrain/parallel/communicator.h"

namespace cnntrain::plan {
namespace {

/// Milliseconds on a clock that all processes of the machine share.
double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A rank's step begins when the last rank has finished the step before: all of them get the sum then.
struct Steps {
    double mean_ms = 0;       // until a rank has done its own work, over all ranks
    double deviation_ms = 0;  // likewise
    double whole_ms = 0;      // until the last rank has
};

Steps run(comm::Communicator& all, double deviation_ms) {
    constexpr int kSteps = 150;
    constexpr double kMeanMs = 40;
    constexpr double kLeastMs = 1;
    std::mt19937_64 random(static_cast<std::uint64_t>(all.rank()) + 1);
    std::normal_distribution<double> normal(kMeanMs, deviation_ms);
    const double first = comm::agree(all, {}, std::vector{all.rank() == 0 ? now_ms() : 0}).sums.front();
    double sum = 0;
    double squares = 0;
    double begin = 0;  // after `first`, as all moments here
    for (int step = 0; step < kSteps; ++step) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(std::max(kLeastMs, normal(random))));
        std::vector<double> done(static_cast<std::size_t>(all.size()));
        done[static_cast<std::size_t>(all.rank())] = now_ms() - first;
        done = comm::agree(all, {}, done).sums;
        for (const double moment : done) {
            sum += moment - begin;
            squares += (moment - begin) * (moment - begin);
        }
        begin = *std::ranges::max_element(done);
    }
    const double count = kSteps * static_cast<double>(all.size());
    const double mean_ms = sum / count;
    return {mean_ms, std::sqrt(squares / count - mean_ms * mean_ms), begin / kSteps};
}

/// True if the prediction from the spread of the ranks' steps is right, and the prediction without it is too short
/// where a deviation was injected.
bool check(comm::Communicator& all, double deviation_ms) {
    constexpr double kTolerance = 0.05;
    const Steps steps = run(all, deviation_ms);
    const ProcessStep step{.before_ms = steps.mean_ms, .samples = 1};
    const Network free{};
    const auto predicted = [&](const Waits& waits) {
        return data_parallel_time(step, {}, free, {all.size(), all.size()}, {}, waits).step_ms;
    };
    const double without = predicted({});
    const double with = predicted({.deviation_ms = steps.deviation_ms});
    const bool right = std::abs(with / steps.whole_ms - 1) < kTolerance;
    const bool needed = deviation_ms == 0 || without / steps.whole_ms < 1 - kTolerance;
    if (all.rank() == 0) {
        std::printf(
            "%d ranks, injected deviation %.0f ms: a rank takes %.2f ms with deviation %.2f ms; a step %.2f ms, "
            "predicted %.2f ms (%.3f), without the slowest %.2f ms (%.3f)\n",
            all.size(), deviation_ms, steps.mean_ms, steps.deviation_ms, steps.whole_ms, with, with / steps.whole_ms,
            without, without / steps.whole_ms);
    }
    return right && needed;
}

}  // namespace
}  // namespace cnntrain::plan

int main() {
    const auto all = cnntrain::comm::make_mpi_communicator({});
    bool good = true;
    for (const double deviation_ms : {0.0, 6.0, 12.0})
        good = cnntrain::plan::check(*all, deviation_ms) && good;
    all->finish();
    return good ? 0 : 1;
}
