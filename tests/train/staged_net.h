// Small networks on CIFAR's images, split into stages and compiled as a test wants it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/data/input.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train::testing {

/// What a net is made of besides its options.
struct Shape {
    std::string options;
    std::vector<std::string> splits = {};  // where the pipeline's stages begin
    bool recompute = false;                // everything but the logits
    schedule::UpdatePlan plan = {};        // its stages follow from the splits
    bool passes = false;                   // those of the backend, which fuse nodes within stages
};

/// A training graph and what its differentiation says.
struct Training {
    graph::Graph graph;
    std::set<graph::ValueId> stashed;

    std::uint64_t stashed_elements() const;
};

/// A net in f32 on CIFAR's images, ResNet-8 unless the options say otherwise, compiled with its first weights: micro-batches
/// of 4, one thread for each lane.
class Net {
public:
    explicit Net(const Shape& shape);

    const Training& training() const { return training_; }
    backend::Executable& executable() { return *executable_; }
    data::BatchSource& source() { return *stream_; }

    backend::StepResult step() { return executable_->train_step(*stream_, {0.1, steps_++}); }
    double train() { return step().sums.at("loss"); }
    backend::StepResult evaluate(std::int64_t batches) { return executable_->evaluate(*stream_, batches); }

    std::vector<backend::ProfileRow> profile_of_training();
    std::vector<backend::ProfileRow> profile_of_evaluation(std::int64_t batches);

private:
    config::Settings settings_;
    std::unique_ptr<backend::Backend> backend_;
    data::InputData data_;
    Training training_;
    std::unique_ptr<backend::Executable> executable_;
    std::unique_ptr<data::BatchSource> stream_;
    std::int64_t steps_ = 0;
};

}  // namespace cnntrain::train::testing
