#pragma once

#include <memory>
#include <utility>

#include <poplar/Type.hpp>
#include <popops/ExprOp.hpp>

namespace ipu_emulator {
struct Access;
struct ExprNode;
}  // namespace ipu_emulator

namespace popops::expr {

/// A formula over the tensors that popops::map() is given.
class Expr {
public:
    virtual ~Expr() = default;

protected:
    explicit Expr(std::shared_ptr<const ipu_emulator::ExprNode> node) : node_(std::move(node)) {}

private:
    friend struct ipu_emulator::Access;
    std::shared_ptr<const ipu_emulator::ExprNode> node_;
};

/// Any formula, as a value.
class Any : public Expr {
public:
    Any(const Expr& expr) : Expr(expr) {}
};

/// Argument number `index`, counted from 1.
class PlaceHolder : public Expr {
public:
    explicit PlaceHolder(unsigned index);
};

/// A value of the type that belongs to T. A float among halves computes as a half: formulas compute in the types of
/// their tensors.
class Const : public Expr {
public:
    template <class T> Const(T value) : Const(poplar::equivalent_device_type<T>::value, static_cast<double>(value)) {}
    Const(double value) : Const(poplar::FLOAT, value) {}

private:
    Const(poplar::Type type, double value);
};

class Cast : public Expr {
public:
    Cast(const Expr& operand, const poplar::Type& type);
};

class UnaryOp : public Expr {
public:
    UnaryOp(UnaryOpType type, const Expr& operand);
};

class BinaryOp : public Expr {
public:
    BinaryOp(BinaryOpType type, const Expr& lhs, const Expr& rhs);
};

/// SELECT: arg0 where arg2, else arg1. CLAMP: arg0 between arg1 and arg2.
class TernaryOp : public Expr {
public:
    TernaryOp(TernaryOpType type, const Expr& arg0, const Expr& arg1, const Expr& arg2);
};

// NOLINTBEGIN(bugprone-macro-parentheses): names of classes and types
#define IPU_EMULATOR_UNARY(TYPE, CLASS)                                  \
    class CLASS : public UnaryOp {                                       \
    public:                                                              \
        explicit CLASS(const Expr& a) : UnaryOp(UnaryOpType::TYPE, a) {} \
    };
#define IPU_EMULATOR_BINARY(TYPE, CLASS)                                            \
    class CLASS : public BinaryOp {                                                 \
    public:                                                                         \
        CLASS(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::TYPE, a, b) {} \
    };
// NOLINTEND(bugprone-macro-parentheses)
IPU_EMULATOR_UNARY_OPERATIONS(IPU_EMULATOR_UNARY)
IPU_EMULATOR_BINARY_OPERATIONS(IPU_EMULATOR_BINARY)
#undef IPU_EMULATOR_BINARY
#undef IPU_EMULATOR_UNARY
class Select : public TernaryOp {
public:
    Select(const Expr& a, const Expr& b, const Expr& condition) : TernaryOp(TernaryOpType::SELECT, a, b, condition) {}
};
class Clamp : public TernaryOp {
public:
    Clamp(const Expr& a, const Expr& low, const Expr& high) : TernaryOp(TernaryOpType::CLAMP, a, low, high) {}
};

inline const PlaceHolder _1(1);
inline const PlaceHolder _2(2);
inline const PlaceHolder _3(3);
inline const PlaceHolder _4(4);
inline const PlaceHolder _5(5);
inline const PlaceHolder _6(6);
inline const PlaceHolder _7(7);
inline const PlaceHolder _8(8);

// NOLINTBEGIN(bugprone-macro-parentheses): names of classes
#define IPU_EMULATOR_OPERATOR(SYMBOL, CLASS)                                     \
    inline CLASS operator SYMBOL(const Expr& a, const Expr& b) {                 \
        return {a, b};                                                           \
    }                                                                            \
    template <class T>                                                           \
    requires std::is_arithmetic_v<T> CLASS operator SYMBOL(const Expr& a, T b) { \
        return {a, Const(b)};                                                    \
    }                                                                            \
    template <class T>                                                           \
    requires std::is_arithmetic_v<T> CLASS operator SYMBOL(T a, const Expr& b) { \
        return {Const(a), b};                                                    \
    }
IPU_EMULATOR_OPERATOR(+, Add)
IPU_EMULATOR_OPERATOR(-, Sub)
IPU_EMULATOR_OPERATOR(*, Mul)
IPU_EMULATOR_OPERATOR(/, Divide)
IPU_EMULATOR_OPERATOR(>>, Shr)
IPU_EMULATOR_OPERATOR(^, BitwiseXor)
IPU_EMULATOR_OPERATOR(&&, And)
IPU_EMULATOR_OPERATOR(||, Or)
IPU_EMULATOR_OPERATOR(==, Equal)
IPU_EMULATOR_OPERATOR(!=, NotEqual)
IPU_EMULATOR_OPERATOR(<, Lt)
IPU_EMULATOR_OPERATOR(>, Gt)
IPU_EMULATOR_OPERATOR(<=, Lte)
IPU_EMULATOR_OPERATOR(>=, Gte)
#undef IPU_EMULATOR_OPERATOR
// NOLINTEND(bugprone-macro-parentheses)

inline Neg operator-(const Expr& a) {
    return Neg(a);
}
inline Not operator!(const Expr& a) {
    return Not(a);
}

}  // namespace popops::expr
