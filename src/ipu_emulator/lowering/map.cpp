#include <algorithm>
#include <poplar/exceptions.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Expr.hpp>
#include <popops/Fill.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>

#include "ipu_emulator/lowering/expression.h"
#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/model/view.h"
#include "ipu_emulator/numerics/half.h"

namespace ipu_emulator {
namespace {

using popops::expr::BinaryOpType;
using popops::expr::TernaryOpType;
using popops::expr::UnaryOpType;

bool gives_bool(UnaryOpType op) {
    return op == UnaryOpType::IS_FINITE || op == UnaryOpType::LOGICAL_NOT;
}

bool gives_bool(BinaryOpType op) {
    switch (op) {
        case BinaryOpType::EQUAL:
        case BinaryOpType::NOT_EQUAL:
        case BinaryOpType::GREATER_THAN:
        case BinaryOpType::GREATER_THAN_EQUAL:
        case BinaryOpType::LESS_THAN:
        case BinaryOpType::LESS_THAN_EQUAL:
        case BinaryOpType::LOGICAL_AND:
        case BinaryOpType::LOGICAL_OR:
            return true;
        default:
            return false;
    }
}

Word word_of(double value, poplar::Type type) {
    Word word;
    if (type == poplar::HALF) {
        word.number = half_value(ieee_half(static_cast<float>(value)));
    } else if (type == poplar::FLOAT) {
        word.number = static_cast<float>(value);
    } else if (type == poplar::BOOL) {
        word.integer = value != 0 ? 1 : 0;
    } else {
        word.integer = static_cast<std::int32_t>(static_cast<std::int64_t>(value));
    }
    return word;
}

double value_of(Word word, poplar::Type type) {
    if (type.isFloatingPoint()) return word.number;
    if (type == poplar::UNSIGNED_INT) return static_cast<std::uint32_t>(word.integer);
    return word.integer;
}

void choose(const Word* a, const Word* b, const Word* c, Word* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = c[i].integer != 0 ? a[i] : b[i];
}

}  // namespace

Formula::Formula(const ExprNode& root, const std::vector<poplar::Type>& arguments) {
    const std::size_t last = add(root, arguments);
    if (last + 1 != nodes_.size() || nodes_.back().constant) {
        // The result is the last register: a formula that is one argument or constant gets a loop that copies it.
        push({.type = nodes_[last].type, .loop = cast_loop(nodes_[last].type, nodes_[last].type), .operands = {last}});
    }
}

std::size_t Formula::push(Node node) {
    nodes_.push_back(node);
    return nodes_.size() - 1;
}

std::size_t Formula::add(const ExprNode& node, const std::vector<poplar::Type>& arguments) {
    std::vector<std::size_t> operands;
    for (const auto& operand : node.operands)
        operands.push_back(add(*operand, arguments));
    switch (node.kind) {
        case ExprNode::Kind::argument:
            require(node.index < arguments.size(), "popops::map",
                    "the formula has an argument _" + std::to_string(node.index + 1) + ", but got " +
                        std::to_string(arguments.size()) + " tensors");
            for (std::size_t i = 0; i < nodes_.size(); ++i)
                if (is_argument(i) && nodes_[i].index == node.index) return i;
            return push({.type = arguments[node.index], .index = node.index});
        case ExprNode::Kind::constant:
            return push({.type = node.type, .constant = true, .adapts = true, .value = word_of(node.value, node.type)});
        case ExprNode::Kind::cast:
            return cast(operands[0], node.type);
        case ExprNode::Kind::unary:
            return add_unary(node, operands[0]);
        case ExprNode::Kind::binary:
            return add_binary(node, operands[0], operands[1]);
        case ExprNode::Kind::ternary:
            return add_ternary(node, operands[0], operands[1], operands[2]);
    }
    return 0;
}

std::size_t Formula::cast(std::size_t operand, poplar::Type type) {
    if (nodes_[operand].type == type && !nodes_[operand].adapts) return operand;
    const WordLoop loop = cast_loop(nodes_[operand].type, type);
    require(loop != nullptr, "popops::expr::Cast",
            "cannot convert " + nodes_[operand].type.toString() + " to " + type.toString());
    const bool rounds = type == poplar::HALF && nodes_[operand].type == poplar::FLOAT;
    return push({.type = type, .loop = loop, .rounds = rounds, .operands = {operand}});
}

std::size_t Formula::add_unary(const ExprNode& node, std::size_t operand) {
    const poplar::Type type = nodes_[operand].type;
    const WordLoop loop = unary_loop(node.unary, type);
    require(loop != nullptr, "popops::expr::UnaryOp",
            "the operation does not compute with the type " + type.toString());
    return push({.type = gives_bool(node.unary) ? poplar::BOOL : type, .loop = loop, .operands = {operand}});
}

void Formula::adapt(std::size_t a, std::size_t b) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        Node& node = nodes_[from];
        if (!node.adapts || nodes_[to].adapts || node.type == nodes_[to].type) continue;
        node.value = word_of(value_of(node.value, node.type), nodes_[to].type);
        node.type = nodes_[to].type;
        node.adapts = false;
    }
}

std::size_t Formula::add_binary(const ExprNode& node, std::size_t a, std::size_t b) {
    adapt(a, b);
    const poplar::Type type = nodes_[a].type;
    require(type == nodes_[b].type, "popops::expr::BinaryOp",
            "the types " + type.toString() + " and " + nodes_[b].type.toString() + " differ; cast one of them");
    const WordLoop loop = binary_loop(node.binary, type);
    require(loop != nullptr, "popops::expr::BinaryOp",
            "the operation does not compute with the type " + type.toString());
    return push({.type = gives_bool(node.binary) ? poplar::BOOL : type, .loop = loop, .operands = {a, b}});
}

std::size_t Formula::add_ternary(const ExprNode& node, std::size_t a, std::size_t b, std::size_t c) {
    if (node.ternary == TernaryOpType::CLAMP) {
        ExprNode bound;
        bound.binary = BinaryOpType::MAXIMUM;
        const std::size_t low = add_binary(bound, a, b);
        bound.binary = BinaryOpType::MINIMUM;
        return add_binary(bound, low, c);
    }
    adapt(a, b);
    require(nodes_[a].type == nodes_[b].type, "popops::expr::Select",
            "the types " + nodes_[a].type.toString() + " and " + nodes_[b].type.toString() + " differ");
    require(nodes_[c].type == poplar::BOOL, "popops::expr::Select",
            "the third operand, the condition, is " + nodes_[c].type.toString() + ", not bool");
    return push({.type = nodes_[a].type, .loop = choose, .operands = {a, b, c}});
}

void Formula::prepare(Word* registers) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i].constant) std::fill_n(registers + i * kLane, kLane, nodes_[i].value);
}

bool Formula::rounds_inside() const {
    return std::any_of(nodes_.begin(), nodes_.end() - 1, [](const Node& node) { return node.rounds; });
}

}  // namespace ipu_emulator

namespace popops::expr {
namespace {

using ipu_emulator::Access;
using ipu_emulator::ExprNode;

std::shared_ptr<const ExprNode> make(ExprNode node) {
    return std::make_shared<const ExprNode>(std::move(node));
}

}  // namespace

PlaceHolder::PlaceHolder(unsigned index) : Expr(make({.kind = ExprNode::Kind::argument, .index = index - 1})) {}

Const::Const(poplar::Type type, double value)
    : Expr(make({.kind = ExprNode::Kind::constant, .value = value, .type = type})) {}

Cast::Cast(const Expr& operand, const poplar::Type& type)
    : Expr(make({.kind = ExprNode::Kind::cast, .type = type, .operands = {Access::node(operand)}})) {}

UnaryOp::UnaryOp(UnaryOpType type, const Expr& operand)
    : Expr(make({.kind = ExprNode::Kind::unary, .unary = type, .operands = {Access::node(operand)}})) {}

BinaryOp::BinaryOp(BinaryOpType type, const Expr& lhs, const Expr& rhs)
    : Expr(make({.kind = ExprNode::Kind::binary, .binary = type, .operands = {Access::node(lhs), Access::node(rhs)}})) {
}

TernaryOp::TernaryOp(TernaryOpType type, const Expr& arg0, const Expr& arg1, const Expr& arg2)
    : Expr(make({.kind = ExprNode::Kind::ternary,
                 .ternary = type,
                 .operands = {Access::node(arg0), Access::node(arg1), Access::node(arg2)}})) {}

}  // namespace popops::expr

namespace ipu_emulator {
namespace {

constexpr std::size_t kTaskElements = 8192;  // elements of a thread's task

/// The formula over elements [begin, begin + count) of the operands.
void evaluate(OpRun& run, const Formula& formula, std::size_t begin, std::size_t count) {
    LocalScratch local;
    Word* registers = local.take<Word>(formula.registers() * Formula::kLane);
    formula.prepare(registers);
    const Word* result = registers + (formula.registers() - 1) * Formula::kLane;
    for (const std::size_t end = begin + count; begin < end; begin += Formula::kLane) {
        const std::size_t n = std::min(Formula::kLane, end - begin);
        for (std::size_t i = 0; i < formula.registers(); ++i) {
            if (!formula.is_argument(i)) continue;
            Word* to = registers + i * Formula::kLane;
            const Operand operand = run.read(formula.argument(i));
            if (formula.is_float(i)) {
                operand.load(begin, n, &to->number);
            } else {
                operand.load(begin, n, &to->integer);
            }
        }
        formula.run(registers, n, [&](float* values, std::size_t values_count, std::size_t i) {
            std::uint16_t halves[Formula::kLane];
            run.round(run.write().regions(), begin, values_count, values, halves, i + 1);
            to_floats(halves, values, values_count);
        });
        if (formula.type().isFloatingPoint()) {
            run.write().store(begin, n, &result->number);
        } else {
            run.write().store(begin, n, &result->integer);
        }
    }
}

std::vector<std::size_t> common_shape(const std::vector<poplar::Tensor>& ts) {
    std::vector<std::size_t> shape;
    for (const poplar::Tensor& t : ts) {
        std::vector<std::size_t> other = t.shape();
        if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
        const std::size_t shift = shape.size() - other.size();
        for (std::size_t i = 0; i < other.size(); ++i)
            if (shape[shift + i] == 1) shape[shift + i] = other[i];
    }
    return shape;
}

Formula make_formula(const popops::expr::Expr& expr, const std::vector<poplar::Tensor>& ts) {
    std::vector<poplar::Type> types;
    types.reserve(ts.size());
    for (const poplar::Tensor& t : ts)
        types.push_back(t.elementType());
    return Formula(*Access::node(expr), types);
}

/// Adds the formula; an operand that shares memory with the result, but not element by element, is copied before.
void add_map(poplar::Graph& graph, const Formula& formula, const std::vector<poplar::Tensor>& ts,
             const poplar::Tensor& out, poplar::program::Sequence& prog, const std::string& name) {
    if (formula.type() != out.elementType()) {
        throw poplar::type_error(name + ": the formula gives " + formula.type().toString() + ", the output is " +
                                 out.elementType().toString());
    }
    HostOp op{.name = name,
              .writes = {out},
              .draws = formula.rounds_inside() ? Draws::inside : Draws::results,
              .run = [formula](OpRun& run) {
                  run.in_pieces(run.write().count(), kTaskElements,
                                [&](std::size_t begin, std::size_t count) { evaluate(run, formula, begin, count); });
              }};
    for (const poplar::Tensor& t : ts) {
        poplar::Tensor operand = broadcast_to(t, out.shape(), name);
        if (view_of(operand) != view_of(out) && may_overlap(operand, out)) {
            const poplar::Tensor copy = new_tensor_like(graph, t.elementType(), t, name);
            prog.add(poplar::program::Copy(t, copy));
            operand = broadcast_to(copy, out.shape(), name);
        }
        op.reads.push_back(operand);
    }
    add_op(prog, std::move(op));
}

/// Converts elements of the operand to elements of the result, by way of Value, which holds the values of both.
template <class Value> void convert(OpRun& run, std::size_t begin, std::size_t count) {
    LocalScratch local;
    Value* values = local.take<Value>(kChunk);
    for (const std::size_t end = begin + count; begin < end; begin += kChunk) {
        const std::size_t n = std::min(kChunk, end - begin);
        run.read(0).load(begin, n, values);
        run.write().store(begin, n, values);
    }
}

}  // namespace
}  // namespace ipu_emulator

namespace popops {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

Tensor map(poplar::Graph& graph, const expr::Expr& expr, const std::vector<Tensor>& ts, Sequence& prog,
           const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    check_options("popops::map", options, {});
    const std::string name = op_name(debugContext, "map");
    const Formula formula = make_formula(expr, ts);
    const std::vector<std::size_t> shape = common_shape(ts);
    const auto same = std::ranges::find_if(ts, [&](const Tensor& t) { return t.shape() == shape; });
    Tensor out = same != ts.end() ? new_tensor_like(graph, formula.type(), *same, name)
                                  : new_tensor(graph, formula.type(), shape, name);
    add_map(graph, formula, ts, out, prog, name);
    return out;
}

void mapInPlace(poplar::Graph& graph, const expr::Expr& expr, const std::vector<Tensor>& ts, Sequence& prog,
                const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    require(!ts.empty(), "popops::mapInPlace", "expected a tensor");
    mapWithOutput(graph, expr, ts, ts.front(), prog, debugContext, options);
}

void mapWithOutput(poplar::Graph& graph, const expr::Expr& expr, const std::vector<Tensor>& ts, const Tensor& out,
                   Sequence& prog, const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    check_options("popops::map", options, {});
    add_map(graph, make_formula(expr, ts), ts, out, prog, op_name(debugContext, "map"));
}

Tensor cast(poplar::Graph& graph, const Tensor& src, const poplar::Type& dstType, Sequence& prog,
            const poplar::DebugContext& debugContext) {
    Tensor dst = new_tensor_like(graph, dstType, src, op_name(debugContext, "cast"));
    prog.add(cast(graph, src, dst, debugContext));
    return dst;
}

poplar::Program cast(poplar::Graph&, const Tensor& src, const Tensor& dst, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "cast");
    require(src.shape() == dst.shape(), name,
            "the shapes " + src.shapeToString() + " and " + dst.shapeToString() + " differ");
    const bool floats = is_float(src.elementType()) || is_float(dst.elementType());
    return make_op({.name = name, .reads = {src}, .writes = {dst}, .run = [floats](OpRun& run) {
                        run.in_pieces(run.write().count(), kTaskElements, [&](std::size_t begin, std::size_t count) {
                            if (floats) {
                                convert<float>(run, begin, count);
                            } else {
                                convert<std::int64_t>(run, begin, count);
                            }
                        });
                    }});
}

void scaledAddTo(poplar::Graph& graph, const Tensor& A, const Tensor& B, float scaleB, Sequence& prog,
                 const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "scaledAddTo");
    check_options("popops::scaledAddTo", options, {});
    require(B.shape() == A.shape(), name, "the shapes " + A.shapeToString() + " and " + B.shapeToString() + " differ");
    require(is_float(A.elementType()) && is_float(B.elementType()), name, "expected tensors of half or float");
    const expr::Cast a(expr::_1, poplar::FLOAT);
    const expr::Cast b(expr::_2, poplar::FLOAT);
    const expr::Any scaled = scaleB == 1.0f ? expr::Any(b) : expr::Any(b * scaleB);
    add_map(graph, make_formula(expr::Cast(a + scaled, A.elementType()), {A, B}), {A, B}, A, prog, name);
}

namespace {

template <class Value> void add_fill(const Tensor& t, Sequence& prog, Value value, const std::string& name) {
    add_op(prog, {.name = name, .reads = {}, .writes = {t}, .run = [value](OpRun& run) {
                      run.in_pieces(run.write().count(), kChunk, [&](std::size_t begin, std::size_t count) {
                          Value values[kChunk];
                          std::fill_n(values, count, value);
                          run.write().store(begin, count, values);
                      });
                  }});
}

}  // namespace

template <class FillValueType> void fill(poplar::Graph&, const Tensor& t, Sequence& prog, FillValueType fillValue,
                                         const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "fill");
    if constexpr (std::is_same_v<FillValueType, float>) {
        add_fill(t, prog, fillValue, name);
    } else {
        add_fill(t, prog, static_cast<std::int64_t>(fillValue), name);
    }
}

template void fill(poplar::Graph&, const Tensor&, Sequence&, float, const poplar::DebugContext&);
template void fill(poplar::Graph&, const Tensor&, Sequence&, int, const poplar::DebugContext&);
template void fill(poplar::Graph&, const Tensor&, Sequence&, unsigned, const poplar::DebugContext&);
template void fill(poplar::Graph&, const Tensor&, Sequence&, bool, const poplar::DebugContext&);

void zero(poplar::Graph&, const Tensor& t, Sequence& prog, const poplar::DebugContext& debugContext) {
    add_fill(t, prog, std::int64_t{0}, op_name(debugContext, "zero"));
}

}  // namespace popops
