// Formulas of popops::map, as trees and as lists of loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <poplar/Type.hpp>
#include <popops/ExprOp.hpp>

namespace ipu_emulator {

struct ExprNode {
    enum class Kind { argument, constant, cast, unary, binary, ternary };

    Kind kind = Kind::constant;
    unsigned index = 0;  // of an argument, from 0
    double value = 0;
    poplar::Type type = poplar::FLOAT;  // of a constant or cast
    popops::expr::UnaryOpType unary = {};
    popops::expr::BinaryOpType binary = {};
    popops::expr::TernaryOpType ternary = {};
    std::vector<std::shared_ptr<const ExprNode>> operands = {};
};

/// Elements of a formula's arguments and values: floats, or 32-bit integers (bool: 0 or 1).
union Word {
    float number;
    std::int32_t integer;
};

/// A loop over up to kLane elements.
using WordLoop = void (*)(const Word* a, const Word* b, const Word* c, Word* to, std::size_t count);

/// A formula over arguments of known types.
class Formula {
public:
    static constexpr std::size_t kLane = 256;

    /// Throws poplibs_error for types that an operation does not compute with.
    Formula(const ExprNode& root, const std::vector<poplar::Type>& arguments);

    poplar::Type type() const { return nodes_.back().type; }
    std::size_t registers() const { return nodes_.size(); }
    /// True if register i is an argument, which the caller fills in before run(). argument(i) is its index.
    bool is_argument(std::size_t i) const { return nodes_[i].loop == nullptr && !nodes_[i].constant; }
    unsigned argument(std::size_t i) const { return nodes_[i].index; }
    bool is_float(std::size_t i) const { return nodes_[i].type.isFloatingPoint(); }
    /// Fills in the constants of `registers` [registers()][kLane].
    void prepare(Word* registers) const;
    /// round(values, count, i): rounds register i's floats to half in place, as the element's tile does.
    template <class Round> void run(Word* registers, std::size_t count, Round round) const {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const Node& node = nodes_[i];
            if (node.loop == nullptr) continue;
            Word* to = registers + i * kLane;
            node.loop(registers + node.operands[0] * kLane, registers + node.operands[1] * kLane,
                      registers + node.operands[2] * kLane, to, count);
            if (node.rounds && i + 1 != nodes_.size()) round(&to->number, count, i);
        }
    }
    /// True if values other than the result are rounded.
    bool rounds_inside() const;

private:
    struct Node {
        poplar::Type type = poplar::FLOAT;
        WordLoop loop = nullptr;
        bool constant = false;
        bool rounds = false;  // a cast of float to half; as the result, it is rounded when it is stored
        bool adapts = false;  // a constant takes the type of what it is combined with
        Word value = {};
        unsigned index = 0;
        std::size_t operands[3] = {0, 0, 0};
    };
    std::size_t add(const ExprNode& node, const std::vector<poplar::Type>& arguments);
    std::size_t push(Node node);
    std::size_t cast(std::size_t operand, poplar::Type type);
    std::size_t add_unary(const ExprNode& node, std::size_t operand);
    std::size_t add_binary(const ExprNode& node, std::size_t a, std::size_t b);
    std::size_t add_ternary(const ExprNode& node, std::size_t a, std::size_t b, std::size_t c);
    /// Gives constants the type of the other operand.
    void adapt(std::size_t a, std::size_t b);

    std::vector<Node> nodes_;
};

// The loops of each operation for a type; null if the operation does not compute with it.
WordLoop unary_loop(popops::expr::UnaryOpType op, poplar::Type type);
WordLoop binary_loop(popops::expr::BinaryOpType op, poplar::Type type);
WordLoop cast_loop(poplar::Type from, poplar::Type to);

}  // namespace ipu_emulator
