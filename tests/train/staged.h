// Training graphs in one or more pipeline stages, compiled and run on samples that are all different: what an update
// does with the wrong micro-batch's values shows in its numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::run::testing {

/// Options of a train line; the data are made up. Everything else is what a training does: checks, graph, plan.
struct Line {
    std::string options;
    backend::Peers peers = {};
    std::int64_t norm_span = 1;  // replicas that share statistics, where --BN-span cannot know of the peers
    /// Changes what is compiled; may be empty.
    std::function<void(backend::CompileRequest&)> change = {};
};

/// Division of a weight update.
struct Division {
    std::int64_t micro_batches = 1;
    schedule::PipelineSchedule schedule = schedule::PipelineSchedule::sequential;
    std::int32_t lanes = 1;  // of one thread each
};

/// A net that no train line asks for.
struct Shape {
    std::string options;                   // of ResNet-8 in f32 on CIFAR's images, micro-batches of 4
    std::vector<std::string> splits = {};  // where the pipeline's stages begin
    bool recompute = false;                // everything but the logits
    Division division = {};
    bool rewrites = false;  // by the backend, which fuse nodes within stages
};

/// A compiled training graph with its first weights.
class CompiledNet {
public:
    explicit CompiledNet(const Line& line);
    explicit CompiledNet(const Shape& shape);

    const graph::Graph& graph() const { return graph_; }
    const schedule::Placement& placement() const { return placement_; }
    backend::Executable& executable() { return *executable_; }
    data::BatchSource& source() { return *source_; }
    /// Number of elements of the values that backward reads, as differentiation says; only of a Shape.
    std::uint64_t stashed_elements() const;

    backend::StepResult step() { return executable_->train_step(*source_, {0.01, steps_++}); }
    double train() { return step().sums.at("loss"); }
    backend::StepResult evaluate(std::int64_t batches) { return executable_->evaluate(*source_, batches); }

    std::vector<backend::ProfileRow> profile_of_training();
    std::vector<backend::ProfileRow> profile_of_evaluation(std::int64_t batches);

private:
    void run(const backend::Backend& backend, const backend::CompileRequest& request, std::int64_t classes);

    graph::Graph graph_{ops::op_table()};
    std::set<graph::ValueId> stashed_;
    schedule::Placement placement_;
    std::unique_ptr<backend::Executable> executable_;
    std::unique_ptr<data::BatchSource> source_;
    std::int64_t steps_ = 0;
};

struct Trained {
    std::vector<double> sums;                     // loss and correct answers of each update
    std::map<std::string, HostTensor> variables;  // after the last one
    std::map<std::string, HostTensor> gradients;  // of the last one, by parameter
    schedule::Placement placement;
    std::set<int> stages;                   // that have forward and backward nodes
    std::multiset<std::string> operations;  // "batch_norm all/stage1/unit1/...", of forward nodes
    int recomputed = 0;                     // results of forward nodes that backward computes again
    std::uint64_t arena_bytes = 0;
    std::vector<std::uint64_t> stash_bytes;  // by stage
    std::vector<std::string> reorders;
};

/// Weight updates of the line with these options.
Trained trained(const std::string& options, int updates = 2);

/// Expects the same losses, gradients and variables, bit for bit.
void expect_same_numbers(const Trained& one, const Trained& other);

/// A network and where it is split into two and into four stages.
struct StagedNet {
    std::string options;
    std::string one_split;
    std::string three_splits;
};

inline const StagedNet kResnet8{"--dataset cifar-10 --model-size 8 --micro-batch-size 2 ", "stage2/unit1",
                                "stage1/unit1/relu stage2/unit1/relu fc1"};
inline const StagedNet kResnext14{
    "--dataset imagenet --image-size 32 --model resnext --model-size 14 "
    "--convolution-groups 8 --micro-batch-size 2 ",
    "stage2/unit1/relu", "stage1/unit1/relu stage2/unit1/relu stage3/unit1/relu"};
inline const StagedNet kEfficientNet{
    "--dataset imagenet --image-size 32 --model efficientnet --model-size B0 --micro-batch-size 2 ", "block4a/b",
    "block2a/c block3b block5a"};
inline const StagedNet kResnet50{"--dataset imagenet --image-size 32 --model-size 50 --micro-batch-size 2 ",
                                 "stage3/unit1/relu", "stage1/unit3/relu stage2/unit4/relu stage3/unit4/relu"};

/// Properties in which runs in stages differ. None of them may change a number.
struct Staging {
    int stages = 2;
    std::string schedule;
    bool recomputes = false;
    int replicas = 1;
    int lanes = 1;  // of one thread each, as a run without stages has
};
std::ostream& operator<<(std::ostream& out, const Staging& how);

/// Every combination.
std::vector<Staging> all_stagings();

/// One of these trainings, of 8 micro-batches for each replica.
Trained staged(const StagedNet& net, const std::string& options, const Staging& how);
/// The same weight updates without stages, replicas and recomputation; trained once for a network with these options.
const Trained& accumulated(const StagedNet& net, const std::string& options, const Staging& how);

/// Expects the numbers of accumulation bit for bit, of stages that really are what `how` says and consist of the same
/// operations.
void expect_accumulation(const StagedNet& net, const std::string& options, const Staging& how);

/// The largest distance between two tensors of the same name, as a share of the first one's largest element.
double distance(const std::map<std::string, HostTensor>& one, const std::map<std::string, HostTensor>& other);

}  // namespace cnntrain::run::testing
