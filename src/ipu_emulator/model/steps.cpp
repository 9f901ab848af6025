// The steps that each kind of program takes when it runs.
#include <algorithm>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/machine.h"
#include "ipu_emulator/model/program_node.h"
#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {
namespace {

using Active = std::span<const unsigned>;

/// Calls body(replica) for each active one: side by side if that keeps all threads busy, else each with all threads.
template <class Body> void for_replicas(Machine& machine, Active active, Body body) {
    if (active.size() >= host_threads().threads()) {
        host_threads().run(active.size(), [&](std::size_t i) { body(machine.replica(active[i])); });
    } else {
        for (const unsigned i : active)
            body(machine.replica(i));
    }
}

struct OpStep : Step {
    OpStep(Machine& machine, const HostOp& host_op) : op(host_op) {
        for (const poplar::Tensor& t : op.reads)
            reads.push_back(machine.regions(t));
        for (const poplar::Tensor& t : op.partial_reads)
            reads.push_back(machine.regions(t));
        for (const poplar::Tensor& t : op.writes)
            writes.push_back(machine.regions(t));
        for (const Regions& regions : writes) {
            if (regions.type() != poplar::HALF && op.draws == Draws::results) continue;
            for (const TileSpan& span : regions.spans())
                drawing_tiles.push_back(span.tile);
        }
        std::ranges::sort(drawing_tiles);
        drawing_tiles.erase(std::unique(drawing_tiles.begin(), drawing_tiles.end()), drawing_tiles.end());
        together.reserve(machine.replica_count());
    }

    void begin(Replica& replica) const {
        replica.scratch.release(0);
        for (std::size_t i = 0; i < op.reads.size(); ++i)
            replica.need_written(reads[i], op.name);
    }

    void end(OpRun& run) const {
        Replica& replica = run.state();
        if (const unsigned trapped = run.trapped(); trapped != 0) {
            throw poplar::application_runtime_error(
                op.name + ": floating-point exception" + ((trapped & kInvalid) != 0 ? ", invalid operation" : "") +
                ((trapped & kDivision) != 0 ? ", division by zero" : "") +
                ((trapped & kOverflowed) != 0 ? ", overflow" : "") + " in replica " + std::to_string(replica.index));
        }
        for (const Regions& regions : writes)
            if (!op.marks_writes) replica.mark(regions, true);
        if (!run.control().stochastic) return;
        for (const unsigned tile : drawing_tiles)
            advance_tile(&replica.seeds[std::size_t{tile} * kWordsPerTile]);
    }

    void run(Machine& machine, Active active) override {
        if (op.run_together) return run_all(machine, active);
        for_replicas(machine, active, [&](Replica& replica) {
            begin(replica);
            OpRun op_run(replica, reads, writes);
            op_run.watch();
            op.run(op_run);
            op_run.note();
            end(op_run);
        });
    }

    void run_all(Machine& machine, Active active) {
        machine.need_all(active, op.name);
        together.clear();
        for (const unsigned i : active) {
            begin(machine.replica(i));
            together.emplace_back(machine.replica(i), reads, writes);
        }
        op.run_together(together);
        for (OpRun& op_run : together)
            end(op_run);
    }

    const HostOp& op;
    std::vector<Regions> reads;
    std::vector<Regions> writes;
    std::vector<unsigned> drawing_tiles;
    std::vector<OpRun> together;
};

/// Elements that a copy moves at once.
constexpr std::size_t kCopyBytes = 16384;

struct CopyStep : Step {
    CopyStep(Machine& machine, const poplar::Tensor& source, const poplar::Tensor& destination)
        : from(machine.regions(source)), to(machine.regions(destination)), overlap(from.may_overlap(to)) {}

    void run(Machine& machine, Active active) override {
        for_replicas(machine, active, [&](Replica& replica) {
            copy(replica);
            // A copy of what nothing has written is as unwritten.
            replica.copy_marks(to, 0, to.count(), from, 0);
        });
    }

    void copy(Replica& replica) const {
        const std::size_t size = from.element_size();
        const Bases bases = replica.bases.data();
        if (overlap) {
            replica.scratch.release(0);
            auto* all = replica.scratch.take<std::byte>(from.count() * size);
            from.gather(bases, 0, from.count(), all);
            to.scatter(bases, 0, to.count(), all);
            return;
        }
        const std::size_t piece = kCopyBytes / size;
        host_threads().run((from.count() + piece - 1) / piece, [&](std::size_t i) {
            const std::size_t begin = i * piece;
            const std::size_t count = std::min(piece, from.count() - begin);
            if (std::byte* target = to.contiguous(bases)) {
                from.gather(bases, begin, count, target + begin * size);
            } else if (const std::byte* source = from.contiguous(bases)) {
                to.scatter(bases, begin, count, source + begin * size);
            } else {
                std::byte buffer[kCopyBytes];
                from.gather(bases, begin, count, buffer);
                to.scatter(bases, begin, count, buffer);
            }
        });
    }

    Regions from;
    Regions to;
    bool overlap;
};

struct StreamStep : Step {
    StreamStep(Machine& machine, const ProgramNode& node)
        : stream(machine.graph().streams[node.index].stream),
          in(node.kind == ProgramNode::Kind::from_stream),
          regions(machine.regions(node.tensors[0])),
          name("Copy " + std::string(in ? "from" : "to") + " the stream \"" + stream.handle() + "\"") {}

    void run(Machine& machine, Active active) override {
        machine.need_all(active, name);
        StreamPort& port = machine.port(Access::index(stream));
        const bool broadcast = in && stream.replicatedMode() == poplar::ReplicatedStreamMode::BROADCAST;
        const std::byte* data = broadcast ? port.fetch(0) : nullptr;
        for (const unsigned i : active) {
            Replica& replica = machine.replica(i);
            const Bases bases = replica.bases.data();
            if (in) {
                if (!broadcast) data = port.fetch(i);
                regions.scatter(bases, 0, regions.count(), data);
                replica.mark(regions, true);
                if (!broadcast) port.finish(i);
            } else {
                replica.need_written(regions, name);
                regions.gather(bases, 0, regions.count(), port.buffer());
                port.deliver(i, port.buffer());
            }
        }
        if (broadcast) port.finish(0);
    }

    poplar::DataStream stream;
    bool in;
    Regions regions;
    std::string name;
};

struct RemoteStep : Step {
    RemoteStep(Machine& machine, const ProgramNode& node)
        : buffer(node.index),
          in(node.kind == ProgramNode::Kind::from_buffer),
          regions(machine.regions(node.tensors[0])),
          name("Copy " + std::string(in ? "from" : "to") + " the remote buffer \"" +
               machine.graph().remote_buffers[node.index].handle() + "\"") {}

    void run(Machine& machine, Active active) override {
        machine.need_all(active, name);
        for (const unsigned i : active) {
            Replica& replica = machine.replica(i);
            const Bases bases = replica.bases.data();
            if (!in) replica.need_written(regions, name);
            const RemoteRow row = machine.row(buffer, 0, i);
            if (in) {
                regions.scatter(bases, 0, regions.count(), row.memory);
                replica.mark(regions, row.written != 0);
            } else {
                regions.gather(bases, 0, regions.count(), row.memory);
                row.written = 1;
            }
        }
    }

    std::size_t buffer;
    bool in;
    Regions regions;
    std::string name;
};

struct SequenceStep : Step {
    void run(Machine& machine, Active active) override {
        for (Step* part : parts)
            part->run(machine, active);
    }
    std::vector<Step*> parts;
};

struct RepeatStep : Step {
    RepeatStep(Step& body_, unsigned count_) : body(body_), count(count_) {}
    void run(Machine& machine, Active active) override {
        for (unsigned i = 0; i < count; ++i)
            body.run(machine, active);
    }
    Step& body;
    unsigned count;
};

/// Decides for each replica by a scalar.
struct Decision {
    Decision(Machine& machine, const poplar::Tensor& t, std::string where)
        : regions(machine.regions(t)), name(std::move(where)) {}

    std::int32_t of(Machine& machine, unsigned replica) const {
        machine.replica(replica).need_written(regions, name);
        std::int32_t value = 0;
        regions.gather(machine.replica(replica).bases.data(), 0, 1, &value);
        return value;  // of a BOOL, the first byte is all there is
    }

    Regions regions;
    std::string name;
};

struct WhileStep : Step {
    WhileStep(Machine& machine, const ProgramNode& node)
        : decision(machine, node.tensors[0], "RepeatWhileTrue"),
          condition(machine.compile(node.parts[0])),
          body(machine.compile(node.parts[1])) {
        running.reserve(machine.replica_count());
    }

    void run(Machine& machine, Active active) override {
        running.assign(active.begin(), active.end());
        while (true) {
            condition.run(machine, running);
            std::erase_if(running, [&](unsigned i) { return decision.of(machine, i) == 0; });
            if (running.empty()) return;
            body.run(machine, running);
        }
    }

    Decision decision;
    Step& condition;
    Step& body;
    std::vector<unsigned> running;
};

struct BranchStep : Step {
    BranchStep(Machine& machine, const ProgramNode& node) : decision(machine, node.tensors[0], "If") {
        for (std::size_t part = 0; part < 2; ++part) {
            parts[part] = &machine.compile(node.parts[part]);
            taking[part].reserve(machine.replica_count());
        }
    }

    void run(Machine& machine, Active active) override {
        for (auto& replicas : taking)
            replicas.clear();
        for (const unsigned i : active)
            taking[decision.of(machine, i) != 0 ? 0 : 1].push_back(i);
        for (std::size_t part = 0; part < 2; ++part)
            if (!taking[part].empty()) parts[part]->run(machine, taking[part]);
    }

    Decision decision;
    Step* parts[2];  // if true, if false
    std::vector<unsigned> taking[2];
};

}  // namespace

std::unique_ptr<Step> make_op_step(Machine& machine, const HostOp& op) {
    return std::make_unique<OpStep>(machine, op);
}

std::unique_ptr<Step> make_copy_step(Machine& machine, const poplar::Tensor& source,
                                     const poplar::Tensor& destination) {
    return std::make_unique<CopyStep>(machine, source, destination);
}

std::unique_ptr<Step> make_transfer_step(Machine& machine, const ProgramNode& node) {
    const bool stream = node.kind == ProgramNode::Kind::from_stream || node.kind == ProgramNode::Kind::to_stream;
    if (stream) return std::make_unique<StreamStep>(machine, node);
    return std::make_unique<RemoteStep>(machine, node);
}

std::unique_ptr<Step> make_control_step(Machine& machine, const ProgramNode& node) {
    using Kind = ProgramNode::Kind;
    switch (node.kind) {
        case Kind::repeat:
            return std::make_unique<RepeatStep>(machine.compile(node.parts[0]), node.count);
        case Kind::while_true:
            return std::make_unique<WhileStep>(machine, node);
        case Kind::branch:
            return std::make_unique<BranchStep>(machine, node);
        default:
            break;
    }
    auto sequence = std::make_unique<SequenceStep>();
    if (node.kind == Kind::call) sequence->parts.push_back(&machine.compile(machine.graph().functions[node.index]));
    for (const poplar::Program& part : node.parts)
        sequence->parts.push_back(&machine.compile(part));
    return sequence;
}

}  // namespace ipu_emulator
