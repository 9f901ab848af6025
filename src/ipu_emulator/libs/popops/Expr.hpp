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

/// A value of the type that belongs to T. A float beside halves computes as a half: formulas compute in the types of
/// their tensors.
class Const : public Expr {
public:
    template <class T> Const(T value) : Const(poplar::equivalent_device_type<T>::value, static_cast<double>(value)) {}
    Const(double value) : Const(poplar::FLOAT, value) {}

protected:
    Const(poplar::Type type, double value);
};

/// A value of the type half, rounded to nearest-even.
class ConstHalf : public Const {
public:
    ConstHalf(float value) : Const(poplar::HALF, static_cast<double>(value)) {}
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

class Abs : public UnaryOp {
public:
    explicit Abs(const Expr& a) : UnaryOp(UnaryOpType::ABSOLUTE, a) {}
};
class Asin : public UnaryOp {
public:
    explicit Asin(const Expr& a) : UnaryOp(UnaryOpType::ASIN, a) {}
};
class BitwiseNot : public UnaryOp {
public:
    explicit BitwiseNot(const Expr& a) : UnaryOp(UnaryOpType::BITWISE_NOT, a) {}
};
class Cbrt : public UnaryOp {
public:
    explicit Cbrt(const Expr& a) : UnaryOp(UnaryOpType::CBRT, a) {}
};
class Ceil : public UnaryOp {
public:
    explicit Ceil(const Expr& a) : UnaryOp(UnaryOpType::CEIL, a) {}
};
class Cos : public UnaryOp {
public:
    explicit Cos(const Expr& a) : UnaryOp(UnaryOpType::COS, a) {}
};
class Erf : public UnaryOp {
public:
    explicit Erf(const Expr& a) : UnaryOp(UnaryOpType::ERF, a) {}
};
class Exp : public UnaryOp {
public:
    explicit Exp(const Expr& a) : UnaryOp(UnaryOpType::EXPONENT, a) {}
};
class Exp2 : public UnaryOp {
public:
    explicit Exp2(const Expr& a) : UnaryOp(UnaryOpType::EXPONENT2, a) {}
};
class Expm1 : public UnaryOp {
public:
    explicit Expm1(const Expr& a) : UnaryOp(UnaryOpType::EXPONENT_MINUS_ONE, a) {}
};
class Floor : public UnaryOp {
public:
    explicit Floor(const Expr& a) : UnaryOp(UnaryOpType::FLOOR, a) {}
};
class GeluErf : public UnaryOp {
public:
    explicit GeluErf(const Expr& a) : UnaryOp(UnaryOpType::GELU_ERF, a) {}
};
class Inv : public UnaryOp {
public:
    explicit Inv(const Expr& a) : UnaryOp(UnaryOpType::INVERSE, a) {}
};
class IsFinite : public UnaryOp {
public:
    explicit IsFinite(const Expr& a) : UnaryOp(UnaryOpType::IS_FINITE, a) {}
};
class IsInf : public UnaryOp {
public:
    explicit IsInf(const Expr& a) : UnaryOp(UnaryOpType::IS_INF, a) {}
};
class IsNaN : public UnaryOp {
public:
    explicit IsNaN(const Expr& a) : UnaryOp(UnaryOpType::IS_NAN, a) {}
};
class Log : public UnaryOp {
public:
    explicit Log(const Expr& a) : UnaryOp(UnaryOpType::LOGARITHM, a) {}
};
class Log1p : public UnaryOp {
public:
    explicit Log1p(const Expr& a) : UnaryOp(UnaryOpType::LOGARITHM_ONE_PLUS, a) {}
};
class Not : public UnaryOp {
public:
    explicit Not(const Expr& a) : UnaryOp(UnaryOpType::LOGICAL_NOT, a) {}
};
class Neg : public UnaryOp {
public:
    explicit Neg(const Expr& a) : UnaryOp(UnaryOpType::NEGATE, a) {}
};
class NearbyInt : public UnaryOp {
public:
    explicit NearbyInt(const Expr& a) : UnaryOp(UnaryOpType::NEARBY_INT, a) {}
};
class Relu : public UnaryOp {
public:
    explicit Relu(const Expr& a) : UnaryOp(UnaryOpType::RELU, a) {}
};
class Round : public UnaryOp {
public:
    explicit Round(const Expr& a) : UnaryOp(UnaryOpType::ROUND, a) {}
};
class Rsqrt : public UnaryOp {
public:
    explicit Rsqrt(const Expr& a) : UnaryOp(UnaryOpType::RSQRT, a) {}
};
class Sigmoid : public UnaryOp {
public:
    explicit Sigmoid(const Expr& a) : UnaryOp(UnaryOpType::SIGMOID, a) {}
};
class Signum : public UnaryOp {
public:
    explicit Signum(const Expr& a) : UnaryOp(UnaryOpType::SIGNUM, a) {}
};
class Sin : public UnaryOp {
public:
    explicit Sin(const Expr& a) : UnaryOp(UnaryOpType::SIN, a) {}
};
class Sqrt : public UnaryOp {
public:
    explicit Sqrt(const Expr& a) : UnaryOp(UnaryOpType::SQRT, a) {}
};
class Square : public UnaryOp {
public:
    explicit Square(const Expr& a) : UnaryOp(UnaryOpType::SQUARE, a) {}
};
class Tan : public UnaryOp {
public:
    explicit Tan(const Expr& a) : UnaryOp(UnaryOpType::TAN, a) {}
};
class Tanh : public UnaryOp {
public:
    explicit Tanh(const Expr& a) : UnaryOp(UnaryOpType::TANH, a) {}
};
class Trunc : public UnaryOp {
public:
    explicit Trunc(const Expr& a) : UnaryOp(UnaryOpType::TRUNC, a) {}
};
class Add : public BinaryOp {
public:
    Add(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::ADD, a, b) {}
};
class Atan2 : public BinaryOp {
public:
    Atan2(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::ATAN2, a, b) {}
};
class BitwiseAnd : public BinaryOp {
public:
    BitwiseAnd(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::BITWISE_AND, a, b) {}
};
class BitwiseOr : public BinaryOp {
public:
    BitwiseOr(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::BITWISE_OR, a, b) {}
};
class BitwiseXor : public BinaryOp {
public:
    BitwiseXor(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::BITWISE_XOR, a, b) {}
};
class BitwiseXnor : public BinaryOp {
public:
    BitwiseXnor(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::BITWISE_XNOR, a, b) {}
};
class Divide : public BinaryOp {
public:
    Divide(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::DIVIDE, a, b) {}
};
class Equal : public BinaryOp {
public:
    Equal(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::EQUAL, a, b) {}
};
class Gte : public BinaryOp {
public:
    Gte(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::GREATER_THAN_EQUAL, a, b) {}
};
class Gt : public BinaryOp {
public:
    Gt(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::GREATER_THAN, a, b) {}
};
class InvStdDevToVariance : public BinaryOp {
public:
    InvStdDevToVariance(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::INV_STD_DEV_TO_VARIANCE, a, b) {}
};
class Lte : public BinaryOp {
public:
    Lte(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::LESS_THAN_EQUAL, a, b) {}
};
class And : public BinaryOp {
public:
    And(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::LOGICAL_AND, a, b) {}
};
class Or : public BinaryOp {
public:
    Or(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::LOGICAL_OR, a, b) {}
};
class Lt : public BinaryOp {
public:
    Lt(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::LESS_THAN, a, b) {}
};
class Max : public BinaryOp {
public:
    Max(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::MAXIMUM, a, b) {}
};
class Min : public BinaryOp {
public:
    Min(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::MINIMUM, a, b) {}
};
class Mul : public BinaryOp {
public:
    Mul(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::MULTIPLY, a, b) {}
};
class NotEqual : public BinaryOp {
public:
    NotEqual(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::NOT_EQUAL, a, b) {}
};
class Pow : public BinaryOp {
public:
    Pow(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::POWER, a, b) {}
};
class Rem : public BinaryOp {
public:
    Rem(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::REMAINDER, a, b) {}
};
class Shl : public BinaryOp {
public:
    Shl(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::SHIFT_LEFT, a, b) {}
};
class Shr : public BinaryOp {
public:
    Shr(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::SHIFT_RIGHT, a, b) {}
};
class ShrSE : public BinaryOp {
public:
    ShrSE(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::SHIFT_RIGHT_SIGN_EXTEND, a, b) {}
};
class Sub : public BinaryOp {
public:
    Sub(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::SUBTRACT, a, b) {}
};
class VarianceToInvStdDev : public BinaryOp {
public:
    VarianceToInvStdDev(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::VARIANCE_TO_INV_STD_DEV, a, b) {}
};
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
inline const PlaceHolder _9(9);
inline const PlaceHolder _10(10);
inline const PlaceHolder _11(11);
inline const PlaceHolder _12(12);
inline const PlaceHolder _13(13);
inline const PlaceHolder _14(14);
inline const PlaceHolder _15(15);
inline const PlaceHolder _16(16);
inline const PlaceHolder _17(17);
inline const PlaceHolder _18(18);
inline const PlaceHolder _19(19);
inline const PlaceHolder _20(20);

inline Add operator+(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Add operator+(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Add operator+(T a, const Expr& b) {
    return {Const(a), b};
}
inline Sub operator-(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Sub operator-(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Sub operator-(T a, const Expr& b) {
    return {Const(a), b};
}
inline Mul operator*(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Mul operator*(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Mul operator*(T a, const Expr& b) {
    return {Const(a), b};
}
inline Divide operator/(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Divide operator/(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Divide operator/(T a, const Expr& b) {
    return {Const(a), b};
}
inline Rem operator%(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Rem operator%(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Rem operator%(T a, const Expr& b) {
    return {Const(a), b};
}
inline Shl operator<<(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Shl operator<<(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Shl operator<<(T a, const Expr& b) {
    return {Const(a), b};
}
inline Shr operator>>(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Shr operator>>(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Shr operator>>(T a, const Expr& b) {
    return {Const(a), b};
}
inline BitwiseAnd operator&(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> BitwiseAnd operator&(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> BitwiseAnd operator&(T a, const Expr& b) {
    return {Const(a), b};
}
inline BitwiseOr operator|(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> BitwiseOr operator|(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> BitwiseOr operator|(T a, const Expr& b) {
    return {Const(a), b};
}
inline BitwiseXor operator^(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> BitwiseXor operator^(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> BitwiseXor operator^(T a, const Expr& b) {
    return {Const(a), b};
}
inline And operator&&(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> And operator&&(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> And operator&&(T a, const Expr& b) {
    return {Const(a), b};
}
inline Or operator||(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Or operator||(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Or operator||(T a, const Expr& b) {
    return {Const(a), b};
}
inline Equal operator==(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Equal operator==(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Equal operator==(T a, const Expr& b) {
    return {Const(a), b};
}
inline NotEqual operator!=(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> NotEqual operator!=(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> NotEqual operator!=(T a, const Expr& b) {
    return {Const(a), b};
}
inline Lt operator<(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Lt operator<(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Lt operator<(T a, const Expr& b) {
    return {Const(a), b};
}
inline Gt operator>(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Gt operator>(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Gt operator>(T a, const Expr& b) {
    return {Const(a), b};
}
inline Lte operator<=(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Lte operator<=(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Lte operator<=(T a, const Expr& b) {
    return {Const(a), b};
}
inline Gte operator>=(const Expr& a, const Expr& b) {
    return {a, b};
}
template <class T>
requires std::is_arithmetic_v<T> Gte operator>=(const Expr& a, T b) {
    return {a, Const(b)};
}
template <class T>
requires std::is_arithmetic_v<T> Gte operator>=(T a, const Expr& b) {
    return {Const(a), b};
}
inline Neg operator-(const Expr& a) {
    return Neg(a);
}
inline BitwiseNot operator~(const Expr& a) {
    return BitwiseNot(a);
}
inline Not operator!(const Expr& a) {
    return Not(a);
}

}  // namespace popops::expr
