#include <poplar/exceptions.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/NaN.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "ipu_emulator/lowering/expression.h"
#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/model/elements.h"

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

namespace {

/// A number, or a scalar tensor.
struct Scale {
    float number = 1;
    std::vector<Tensor> tensor = {};
};

/// A = a A + b B in float, rounded once.
void add_scaled(poplar::Graph& graph, const Tensor& A, const Scale& a, const Tensor& B, const Scale& b, Sequence& prog,
                const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "scaledAddTo");
    check_options("popops::scaledAddTo", options, {});
    require(B.shape() == A.shape(), name, "the shapes " + A.shapeToString() + " and " + B.shapeToString() + " differ");
    require(is_float(A.elementType()) && is_float(B.elementType()), name, "expected tensors of half or float");
    std::vector<Tensor> operands{A, B};
    const auto in_float = [](unsigned operand) { return expr::Cast(expr::PlaceHolder(operand), poplar::FLOAT); };
    const auto scaled = [&](const Scale& scale, unsigned operand) -> expr::Any {
        if (scale.tensor.empty() && scale.number == 1.0f) return in_float(operand);
        if (scale.tensor.empty()) return in_float(operand) * scale.number;
        const Tensor& t = scale.tensor.front();
        require(t.numElements() == 1 && is_float(t.elementType()), name, "a scale is a scalar of half or float");
        operands.push_back(t.reshape({}));
        return in_float(operand) * in_float(static_cast<unsigned>(operands.size()));
    };
    const expr::Any scaled_a = scaled(a, 1);
    const expr::Any scaled_b = scaled(b, 2);
    add_map(graph, make_formula(expr::Cast(scaled_a + scaled_b, A.elementType()), operands), operands, A, prog, name);
}

}  // namespace

void scaledAddTo(poplar::Graph& graph, const Tensor& A, const Tensor& B, float scaleB, Sequence& prog,
                 const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    add_scaled(graph, A, {}, B, {scaleB}, prog, debugContext, options);
}

void scaledAddTo(poplar::Graph& graph, const Tensor& A, const Tensor& B, const Tensor& scaleB, Sequence& prog,
                 const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    add_scaled(graph, A, {}, B, {.tensor = {scaleB}}, prog, debugContext, options);
}

void scaledAddTo(poplar::Graph& graph, const Tensor& A, const Tensor& scaleA, const Tensor& B, const Tensor& scaleB,
                 Sequence& prog, const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    add_scaled(graph, A, {.tensor = {scaleA}}, B, {.tensor = {scaleB}}, prog, debugContext, options);
}

void scaledAddTo(poplar::Graph& graph, const Tensor& A, float scaleA, const Tensor& B, float scaleB, Sequence& prog,
                 const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    add_scaled(graph, A, {scaleA}, B, {scaleB}, prog, debugContext, options);
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

Tensor hasNaNOrInf(poplar::Graph& graph, const Tensor& src, Sequence& prog, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "hasNaNOrInf");
    require(is_float(src.elementType()), name, "expected a tensor of half or float");
    Tensor out = new_tensor(graph, poplar::BOOL, {}, name);
    add_op(prog,
           {.name = name, .reads = {src}, .writes = {out}, .run = [](OpRun& run) {
                std::atomic<bool> found{false};
                run.in_pieces(run.read(0).count(), kChunk, [&](std::size_t begin, std::size_t count) {
                    float values[kChunk];
                    run.read(0).load(begin, count, values);
                    if (!std::all_of(values, values + count, [](float x) { return magnitude_bits(x) < kInfinityBits; }))
                        found = true;
                });
                const std::int32_t result = found ? 1 : 0;
                run.write().store(0, 1, &result);
            }});
    return out;
}

}  // namespace popops
