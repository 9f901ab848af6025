#include <poplar/Program.hpp>

#include <algorithm>
#include <type_traits>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/graph_data.h"
#include "ipu_emulator/model/program_node.h"
#include "ipu_emulator/model/regions.h"

namespace ipu_emulator {
namespace {

struct Made : poplar::Program {
    explicit Made(std::shared_ptr<ProgramNode> node) { node_ = std::move(node); }
};

}  // namespace

poplar::Program used(const poplar::Program& program) {
    if (Access::node(program) != nullptr) Access::node(program)->part_of_other = true;
    return program;
}

bool may_overlap(const poplar::Tensor& a, const poplar::Tensor& b) {
    const TensorData& x = Access::data(a);
    const TensorData& y = Access::data(b);
    if (x.graph != y.graph) return false;
    if (x.view.strided() && y.view.strided() && x.view.variable() != y.view.variable()) return false;
    return Regions(*x.graph, x).may_overlap(Regions(*y.graph, y));
}

poplar::Tensor apart_from(const poplar::Tensor& out, const poplar::Tensor& t, poplar::program::Sequence& prog,
                          const std::string& name) {
    if (!may_overlap(t, out)) return t;
    const TensorData& data = Access::data(t);
    Variable variable;
    variable.name = name + "/copy";
    variable.type = data.type;
    variable.elements = t.numElements();
    const std::uint32_t id = data.graph->add(std::move(variable));
    poplar::Tensor copy = make_tensor(*data.graph, data.type, data.view.dense(id));
    data.graph->map(view_of(copy), data.graph->spans(data.view));
    prog.add(poplar::program::Copy(t, copy));
    return copy;
}

poplar::Program make_op(HostOp op) {
    for (const poplar::Tensor& t : op.writes)
        check_writeable(t, op.name);
    poplar::program::Sequence copies;
    for (std::vector<poplar::Tensor>* operands : {&op.reads, &op.partial_reads}) {
        for (poplar::Tensor& t : *operands) {
            for (const poplar::Tensor& out : op.writes)
                if (view_of(t) != view_of(out)) t = apart_from(out, t, copies, op.name);
        }
    }
    auto node = std::make_shared<ProgramNode>();
    node->kind = ProgramNode::Kind::op;
    node->name = op.name;
    node->op = std::move(op);
    if (copies.isEmpty()) return Made(std::move(node));
    copies.add(Made(std::move(node)));
    return copies;
}

void add_op(poplar::program::Sequence& prog, HostOp op) {
    prog.add(make_op(std::move(op)));
}

}  // namespace ipu_emulator

namespace poplar {

using namespace ipu_emulator;

namespace {

using Kind = ProgramNode::Kind;

std::shared_ptr<ProgramNode> new_node(Kind kind, const DebugContext& debugContext) {
    auto node = std::make_shared<ProgramNode>();
    node->kind = kind;
    node->name = debugContext.getPathName();
    return node;
}

/// " in \"name\"" or nothing.
std::string in_name(const DebugContext& debugContext) {
    const std::string name = debugContext.getPathName();
    return name.empty() ? "" : " in \"" + name + "\"";
}

void check_scalar(const std::string& what, const Tensor& t, std::initializer_list<Type> types) {
    if (t.numElements() != 1)
        throw control_program_error(what + ": expected one element, got a tensor " + t.shapeToString());
    if (std::find(types.begin(), types.end(), t.elementType()) == types.end())
        throw type_error(what + ": a tensor of the type " + t.elementType().toString() + " cannot decide");
}

void check_transfer(const std::string& what, const Tensor& t, Type type, std::size_t elements) {
    if (t.elementType() != type)
        throw type_error(what + ": the tensor's type " + t.elementType().toString() + " is not " + type.toString());
    if (t.numElements() != elements) {
        throw control_program_error(what + ": the tensor " + t.shapeToString() + " does not have " +
                                    std::to_string(elements) + " elements");
    }
}

/// Streams and buffers belong to the graph of the tensor that is copied.
void check_graph(const std::string& what, const Tensor& t, const GraphData* graph) {
    if (Access::data(t).graph == graph) return;
    throw control_program_error(what + ": it belongs to another graph than the tensor " + t.shapeToString());
}

/// True if the program runs `node`, or calls a function that does.
bool reaches(const Program& program, const ProgramNode* node) {
    const ProgramNode* here = Access::node(program).get();
    if (here == nullptr || here == node) return here != nullptr;
    if (here->kind == Kind::call) return reaches(here->graph->functions[here->index], node);
    return std::ranges::any_of(here->parts, [&](const Program& p) { return reaches(p, node); });
}

}  // namespace

bool Program::isEmpty() const {
    if (node_ == nullptr) return true;
    return node_->kind == Kind::sequence &&
           std::ranges::all_of(node_->parts, [](const Program& p) { return p.isEmpty(); });
}

namespace program {

Sequence::Sequence(std::initializer_list<Program> programs, const DebugContext& debugContext) {
    node_ = new_node(Kind::sequence, debugContext);
    for (const Program& p : programs)
        add(p);
}

Sequence::Sequence(const Sequence& other) : Program(other) {
    if (other.node_ == nullptr) return;
    node_ = std::make_shared<ProgramNode>(*other.node_);
    node_->part_of_other = false;
}

Sequence& Sequence::operator=(const Sequence& other) {
    if (this != &other) *this = Sequence(other);
    return *this;
}

void Sequence::add(const Program& p) {
    if (Access::node(p) == nullptr) return;
    if (reaches(p, node_.get()))
        throw graph_recursion_error("Sequence::add: the sequence \"" + node_->name + "\" would run itself");
    if (node_->part_of_other) {
        throw control_program_error("Sequence::add: the sequence \"" + node_->name +
                                    "\" is part of another program already; complete it before that");
    }
    node_->parts.push_back(used(p));
}

Repeat::Repeat(unsigned count, const Program& prog, const DebugContext& debugContext) {
    node_ = new_node(Kind::repeat, debugContext);
    node_->count = count;
    node_->parts = {used(prog)};
}

RepeatWhileTrue::RepeatWhileTrue(const Program& cond, const Tensor& predicate, const Program& body,
                                 const DebugContext& debugContext) {
    check_scalar("RepeatWhileTrue" + in_name(debugContext), predicate, {BOOL, INT, UNSIGNED_INT});
    node_ = new_node(Kind::while_true, debugContext);
    node_->tensors = {predicate};
    node_->parts = {used(cond), used(body)};
}

If::If(const Tensor& predicate, const Program& trueBody, const Program& falseBody, const DebugContext& debugContext) {
    check_scalar("If" + in_name(debugContext), predicate, {BOOL, INT, UNSIGNED_INT});
    node_ = new_node(Kind::branch, debugContext);
    node_->tensors = {predicate};
    node_->parts = {used(trueBody), used(falseBody)};
}

Call::Call(Function f, const DebugContext& debugContext) {
    node_ = new_node(Kind::call, debugContext);
    node_->index = Access::index(f);
    node_->graph = Access::graph(f);
}

Copy::Copy(const Tensor& src, const Tensor& dst, bool, const DebugContext& debugContext) {
    const std::string what = "Copy" + in_name(debugContext);
    check_transfer(what, src, dst.elementType(), dst.numElements());
    if (src.shape() != dst.shape()) {
        throw control_program_error(what + ": the shapes " + src.shapeToString() + " and " + dst.shapeToString() +
                                    " differ");
    }
    check_graph(what + ", source", dst, Access::data(src).graph);
    check_writeable(dst, what);
    node_ = new_node(Kind::copy, debugContext);
    node_->tensors = {src, dst};
}

namespace {

/// A copy between `t` and a stream or the first row of a remote buffer.
template <class Host> std::shared_ptr<ProgramNode> new_transfer(bool to_device, const Host& host, const Tensor& t,
                                                                const DebugContext& debugContext) {
    constexpr bool kStream = std::is_same_v<Host, DataStream>;
    const std::string what = std::string("Copy ") + (to_device ? "from" : "to") + " the " +
                             (kStream ? "stream" : "remote buffer") + " \"" + host.handle() + "\"";
    check_graph(what, t, Access::graph(host));
    constexpr Kind kFrom = kStream ? Kind::from_stream : Kind::from_buffer;
    constexpr Kind kTo = kStream ? Kind::to_stream : Kind::to_buffer;
    auto node = new_node(to_device ? kFrom : kTo, debugContext);
    node->index = Access::index(host);
    node->tensors = {t};
    check_transfer(what, t, host.elementType(), host.numElements());
    if (to_device) check_writeable(t, what);
    if (kStream && Access::graph(host)->streams[node->index].to_device != to_device) {
        throw control_program_error(
            what + (to_device ? ": it goes from the device to the host" : ": it goes from the host to the device"));
    }
    return node;
}

}  // namespace

Copy::Copy(const DataStream& stream, const Tensor& dst, bool, const DebugContext& debugContext) {
    node_ = new_transfer(true, stream, dst, debugContext);
}

Copy::Copy(const Tensor& src, const DataStream& stream, bool, const DebugContext& debugContext) {
    node_ = new_transfer(false, stream, src, debugContext);
}

Copy::Copy(const RemoteBuffer& buffer, const Tensor& dst, const DebugContext& debugContext) {
    node_ = new_transfer(true, buffer, dst, debugContext);
}

Copy::Copy(const Tensor& src, const RemoteBuffer& buffer, const DebugContext& debugContext) {
    node_ = new_transfer(false, buffer, src, debugContext);
}

}  // namespace program
}  // namespace poplar
