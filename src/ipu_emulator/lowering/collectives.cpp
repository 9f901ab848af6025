#include <gcl/Collectives.hpp>

#include <algorithm>
#include <cstdint>

#include "ipu_emulator/lowering/combine.h"
#include "ipu_emulator/lowering/support.h"

namespace ipu_emulator {
namespace {

using gcl::CollectiveOperator;
using gcl::CommGroup;
using gcl::CommGroupType;
using poplar::Tensor;

/// Replicas in groups that follow each other: member i of the group of replica r.
struct Groups {
    unsigned size = 1;

    unsigned place(unsigned replica) const { return replica % size; }
    unsigned member(unsigned replica, unsigned i) const { return replica - place(replica) + i; }
};

Groups groups_of(const poplar::Graph& graph, const CommGroup& group, const std::string& name) {
    const unsigned replicas = graph.getReplicationFactor();
    const bool all = group.type == CommGroupType::ALL || group.replicaGroupSize == 0;
    const unsigned size = all ? replicas : group.replicaGroupSize;
    require(replicas % size == 0, name,
            std::to_string(replicas) + " replicas cannot be divided into groups of " + std::to_string(size));
    return {size};
}

/// Rounds partial results to the data's type, with the random bits of `owner`, so that a group's replicas agree.
void round_partial(OpRun& owner, float* values, std::size_t begin, std::size_t count, unsigned step) {
    const Regions& regions = owner.write().regions();
    if (regions.type() != poplar::HALF) return;
    const Control& control = owner.control();
    std::uint16_t halves[kChunk];
    bool overflowed = false;
    if (control.stochastic) {
        const std::uint64_t key = owner.key(regions.spans().front().tile) + step;
        overflowed = to_stochastic_halves(values, halves, count, control.overflow(), key, begin);
    } else {
        overflowed = to_nearest_halves(values, halves, count, control.overflow());
    }
    if (overflowed) owner.report(kOverflowed);
    to_floats(halves, values, count);
}

void round_partial(OpRun&, std::int32_t*, std::size_t, std::size_t, unsigned) {}

/// Calls f with a value of the type in which elements are added.
template <class F> void with_value_type(poplar::Type type, F f) {
    if (is_float(type)) return f(float{});
    f(std::int32_t{});
}

void check_data(const std::string& name, const Tensor& data) {
    const poplar::Type type = data.elementType();
    require(type != poplar::LONGLONG && type != poplar::UNSIGNED_LONGLONG, name,
            "expected elements of at most 32 bits, got " + type.toString());
}

/// Elements [begin, begin + count) of the group's sum, in the order of its members.
template <class Value> void add_members(std::span<OpRun> runs, const Groups& groups, unsigned replica,
                                        std::size_t begin, std::size_t count, Value* total) {
    const unsigned first = groups.member(replica, 0);
    Value other[kChunk];
    runs[first].read(0).load(begin, count, total);
    for (unsigned i = 1; i < groups.size; ++i) {
        runs[groups.member(replica, i)].read(0).load(begin, count, other);
        std::transform(total, total + count, other, total, plus<Value>);
        round_partial(runs[first], total, begin, count, i);
    }
}

/// Every replica of a group gets the same.
template <class Value> void run_all_reduce(std::span<OpRun> runs, const Groups& groups) {
    runs[0].in_pieces(runs[0].write().count(), kChunk, [&](std::size_t begin, std::size_t count) {
        for (unsigned replica = 0; replica < runs.size(); replica += groups.size) {
            Value total[kChunk];
            add_members(runs, groups, replica, begin, count, total);
            for (unsigned i = 0; i < groups.size; ++i)
                runs[groups.member(replica, i)].write().store(begin, count, total);
        }
    });
}

template <class Value> void run_reduce_scatter(std::span<OpRun> runs, const Groups& groups, CollectiveOperator op) {
    const std::size_t share = runs[0].write().count();
    const std::size_t all = runs[0].read(0).count();
    for (unsigned replica = 0; replica < runs.size(); ++replica) {
        const std::size_t first = groups.place(replica) * share;
        runs[replica].in_pieces(share, kChunk, [&](std::size_t begin, std::size_t count) {
            Value total[kChunk] = {};
            const std::size_t from = first + begin;
            const std::size_t n = from < all ? std::min(count, all - from) : 0;
            if (n != 0 && op == CollectiveOperator::LOCAL) runs[replica].read(0).load(from, n, total);
            if (n != 0 && op == CollectiveOperator::ADD) add_members(runs, groups, replica, from, n, total);
            runs[replica].write().store(begin, count, total);
        });
    }
}

void run_all_gather(std::span<OpRun> runs, const Groups& groups) {
    const std::size_t n = runs[0].read(0).count();
    for (unsigned replica = 0; replica < runs.size(); ++replica) {
        for (unsigned i = 0; i < groups.size; ++i) {
            OpRun& from = runs[groups.member(replica, i)];
            runs[replica].in_pieces(n, kChunk, [&](std::size_t begin, std::size_t count) {
                std::byte bytes[kChunk * 8];
                from.read(0).load_bytes(begin, count, bytes);
                runs[replica].write().store_bytes(i * n + begin, count, bytes);
            });
        }
    }
}

}  // namespace
}  // namespace ipu_emulator

namespace gcl {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

Tensor allReduceCrossReplica(poplar::Graph& graph, const Tensor& data, CollectiveOperator op, Sequence& prog,
                             const CommGroup& group, const poplar::DebugContext& debugContext,
                             const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "allReduce");
    require(op == CollectiveOperator::ADD, name, "expected the operator ADD");
    check_options(name, options, {});
    const Groups groups = groups_of(graph, group, name);
    check_data(name, data);
    Tensor out = new_tensor_like(graph, data.elementType(), data, name);
    add_op(prog, {.name = name, .reads = {data}, .writes = {out}, .run_together = [groups](std::span<OpRun> runs) {
                      with_value_type(runs[0].write().type(),
                                      [&](auto v) { run_all_reduce<decltype(v)>(runs, groups); });
                  }});
    return out;
}

Tensor allReduceCrossReplica(poplar::Graph& graph, const Tensor& data, CollectiveOperator op, Sequence& prog,
                             const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    return allReduceCrossReplica(graph, data, op, prog, CommGroup(), debugContext, options);
}

Tensor reduceScatterCrossReplica(poplar::Graph& graph, const Tensor& data, CollectiveOperator op, Sequence& prog,
                                 const CommGroup& group, const poplar::DebugContext& debugContext,
                                 const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "reduceScatter");
    check_options(name, options, {});
    require(data.rank() == 1, name, "expected a flat tensor, got " + data.shapeToString());
    const Groups groups = groups_of(graph, group, name);
    const std::size_t share = (data.numElements() + groups.size - 1) / groups.size;
    Tensor out = new_tensor(graph, data.elementType(), {share}, name);
    check_data(name, data);
    add_op(prog, {.name = name, .reads = {data}, .writes = {out}, .run_together = [=](std::span<OpRun> runs) {
                      with_value_type(runs[0].write().type(),
                                      [&](auto v) { run_reduce_scatter<decltype(v)>(runs, groups, op); });
                  }});
    return out;
}

Tensor allGatherCrossReplica(poplar::Graph& graph, const Tensor& data, Sequence& prog, const CommGroup& group,
                             const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "allGather");
    check_options(name, options, {});
    const Groups groups = groups_of(graph, group, name);
    std::vector<std::size_t> shape = data.shape();
    shape.insert(shape.begin(), groups.size);
    Tensor out = new_tensor(graph, data.elementType(), shape, name);
    add_op(prog, {.name = name, .reads = {data}, .writes = {out}, .run_together = [groups](std::span<OpRun> runs) {
                      run_all_gather(runs, groups);
                  }});
    return out;
}

}  // namespace gcl
