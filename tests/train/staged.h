// Weight updates of a training graph in one or more pipeline stages, on samples that are all different: what an update does
// with the wrong micro-batch's values shows in its numbers.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train::testing {

struct Trained {
    std::vector<double> sums;                     // loss and correct answers of each update
    std::map<std::string, HostTensor> variables;  // after the last one
    std::map<std::string, HostTensor> gradients;  // of the last one, by parameter
    schedule::UpdatePlan plan;
    std::set<int> stages;                    // that have forward and backward nodes
    std::multiset<std::string> operations;   // "batch_norm all/stage1/unit1/...", of forward nodes
    std::vector<std::uint64_t> stash_bytes;  // by stage
    std::vector<std::string> reorders;
};

/// `options`: as of a train line; the data are made up. Everything else is what a training does: checks, graph, plan, compiled
/// program, first weights.
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

/// What runs in stages differ in. None of it may change a number.
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

}  // namespace cnntrain::train::testing
