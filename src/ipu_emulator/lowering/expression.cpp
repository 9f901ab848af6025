#include "ipu_emulator/lowering/expression.h"

#include <algorithm>

#include <popops/Expr.hpp>

#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/numerics/half.h"

namespace ipu_emulator {
namespace {

using popops::expr::BinaryOpType;
using popops::expr::TernaryOpType;
using popops::expr::UnaryOpType;

bool gives_bool(UnaryOpType op) {
    return op == UnaryOpType::IS_FINITE || op == UnaryOpType::IS_INF || op == UnaryOpType::IS_NAN ||
           op == UnaryOpType::LOGICAL_NOT;
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
