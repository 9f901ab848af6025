// Signs that a training does not learn, or that its validations say little: each is one line for the user.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/config/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// Why a validation after `updates` updates says little: most of what it reads as statistics is still their start.
/// Names a decay that would do. "" if the averages follow the training.
std::string statistics_warning(double decay, std::int64_t updates);

/// The same for the first validation of a new run. "" also for a run without validations, moving averages or real data,
/// and for one that begins with given weights, whose averages are of some use from the start.
std::string slow_statistics(const Task& task, const config::Settings& settings, const schedule::RunPlan& plan,
                            const graph::Graph& training_graph);

/// Compares the training loss of the first updates with that of later ones, once.
class DescentCheck {
public:
    /// `peak_rate`: the highest learning rate of the run. `from_weights`: the run starts from trained weights, whose
    /// loss may be as low as it gets; then only a rising loss is pointed out.
    DescentCheck(double peak_rate, bool from_weights) : peak_rate_(peak_rate), from_weights_(from_weights) {}

    /// An update with the mean loss of its samples. Returns the warning when it is due. The comparison takes place
    /// after as many updates as make up 200 at the peak rate: those of a warm-up count less. `last`: the run ends here,
    /// which brings the comparison forward.
    std::string add(double loss, double learning_rate, bool last);

private:
    struct Mean {
        double value = 0;
        double error = 0;  // standard error
    };
    template <typename Losses> static Mean mean_of(const Losses& losses);
    std::string judge(double learning_rate) const;

    double peak_rate_;
    bool from_weights_;
    bool done_ = false;
    double full_updates_ = 0;  // sum of learning rates over the peak rate
    std::int64_t updates_ = 0;
    std::vector<double> first_;
    std::deque<double> recent_;
};

/// For a new run; empty for one on data that cannot be learnt.
std::optional<DescentCheck> descent_check(const Task& task, const config::Settings& settings,
                                          const schedule::RunPlan& plan);

}  // namespace cnntrain::train
