// The number of operations in programs: what nodes share is computed once.
#include <gtest/gtest.h>

#include <cstddef>

#include <poplar/Graph.hpp>
#include <poplar/Target.hpp>

#include "backend/ipu/slots.h"
#include "backend_ipu/replica_net.h"
#include "ipu_emulator/model/access.h"
#include "ipu_emulator/model/program_node.h"

namespace cnntrain::test {
namespace {

using graph::OpKind;
using graph::UpdateRule;

std::size_t operations(const poplar::Program& program) {
    const ipu_emulator::ProgramNode& node = *ipu_emulator::Access::node(program);
    std::size_t count = node.kind == ipu_emulator::ProgramNode::Kind::op ? 1 : 0;
    for (const poplar::Program& part : node.parts)
        count += operations(part);
    return count;
}

/// Returns the number of operations of an update, without the moving averages, which have one each.
std::size_t operations_of_update(const ReplicaNet& net) {
    const ReplicaGraph toy(net, net.micro_batch);
    poplar::Graph device(poplar::Target::createIPUTarget(1, kTiles, "ipu2"), poplar::replication_factor(1));
    NumberedSamples source(net.micro_batch);
    backend::CompileRequest request = request_of(net);
    request.graph = &toy.graph;
    request.fields = source.fields();
    const ipu::Slots slots(toy.graph, device, request);
    std::size_t averages = 0;
    for (const graph::Node& node : toy.graph.nodes())
        averages += node.kind == OpKind::moving_average_update ? 1 : 0;
    return operations(slots.update()) - averages;
}

/// Two convolutions with norms and a dense layer.
constexpr std::size_t kParameters = 8;

TEST(Operations, ParametersShareTheScalarsOfAnUpdate) {
    constexpr std::size_t kScalars = 2;      // rate, scale of gradients
    constexpr std::size_t kCorrections = 2;  // of both moments
    EXPECT_EQ(operations_of_update({.update = {.rule = UpdateRule::sgd}}), kParameters + kScalars);
    EXPECT_EQ(operations_of_update({.update = {.rule = UpdateRule::momentum}}), 2 * kParameters + kScalars);
    const graph::UpdateAttrs adamw = {.rule = UpdateRule::adamw, .momentum = 0.9, .decay = 0.99, .corrects_bias = true};
    EXPECT_EQ(operations_of_update({.update = adamw}), 4 * kParameters + kScalars + kCorrections);
}

}  // namespace
}  // namespace cnntrain::test
