// Creates all oneDNN objects and hides the differences between oneDNN 2.6 and 3.x.
//
// oneDNN describes tensors by logical dims N,C,H,W and O,I,H,W, independent of the order in memory; the graph's shapes
// are NHWC and HWIO. All conversions between the two are here.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <dnnl.hpp>

#include "backend/cpu/kernels/kernels.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/op.h"

namespace cnntrain::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

dnnl::memory::data_type to_dnnl(DType type);

Dims dims_of(const Desc& desc);
/// Row-major, with the axes of the shape; a scalar has one axis of one element.
Desc row_major(const TensorDesc& desc);
/// An image [N,H,W,C]: row-major, with the axes N,C,H,W. For another rank, such as rows [N,C], the same as row_major().
Desc image_desc(const TensorDesc& desc);
/// Strides of a layout; if it has blocks, the strides from block to block.
Dims strides_of(const Desc& desc);
/// Row-major HWIO kernel with `groups`; oneDNN dims [O,I,H,W], or [G,O/G,I,H,W] when groups > 1.
Desc plain_kernel_desc(const TensorDesc& desc, std::int64_t groups);
/// The same dims in blocks of 16 x 16 channels: OIhw16o16i.
Desc tiled_kernel_desc(const TensorDesc& desc, std::int64_t groups);
/// The same dims of a kernel without groups, in blocks of 16 outputs: Ohwi16o.
Desc pointwise_kernel_desc(const TensorDesc& desc);
/// A matrix stored row by row; if `transposed`, column by column.
Desc matrix_desc(std::int64_t rows, std::int64_t columns, DType type, bool transposed = false);
/// The same dims and type; the primitive chooses the layout.
Desc any_layout(const Desc& desc);
/// The same layout with another element type; empty if the layout has no name.
std::optional<Desc> with_type(const Desc& desc, DType type);

/// The layout of `like` for the dims and type of `desc`; empty if it has no name or does not apply.
std::optional<Desc> with_layout_of(const Desc& desc, const Desc& like);

/// Number of contiguous channels of a [N,C,H,W] tensor: C for NHWC, 16 for nChw16c, 1 for NCHW; empty for other
/// layouts.
std::optional<std::int64_t> channel_lanes(const Desc& desc);
/// A matrix in panels of neighbouring columns. Empty for all other layouts, and for types other than f32 and bf16.
std::optional<Panels> panels_of(const Desc& desc);
bool is_row_major_matrix(const Desc& desc);

// Layouts of a bfloat16 matrix of this desc's shape as an operand of tile products (kernels/tiles.h).
Desc right_tiles_desc(const Desc& matrix);
/// The right operand is the transposed matrix.
Desc turned_right_tiles_desc(const Desc& matrix);
/// The left operand is the transposed matrix.
Desc turned_left_tiles_desc(const Desc& matrix);

/// "nhwc", "nChw16c", "OIhw16i16o", ... or "blocked" for a layout without a name here.
std::string layout_name(const Desc& desc);

/// A primitive with its chosen layouts. Absent arguments have empty descriptors.
struct Primitive {
    dnnl::primitive primitive;
    std::string implementation;
    Desc src, weights, bias, dst, workspace, scratchpad;
    int threads = 1;  // for which it is planned; it must run with as many
    /// Plans the same primitive for the threads that the calling thread has then, in the same layouts and with the same
    /// results. Null: sums are divided among the threads. The OneDnn must live.
    std::function<Primitive()> again = {};

    /// True for oneDNN's naive implementations.
    bool is_naive() const;
};

/// x, w and y of a convolution, one of which is computed; layouts may be `any`.
struct ConvProblem {
    Desc src, weights, dst;
    std::int64_t stride = 1;
    graph::Padding padding;
};

/// Operations on the result before it is stored, in inference only.
struct ConvEpilogue {
    bool bias = false;
    bool residual = false;  // adds a tensor like dst
    graph::Activation activation = graph::Activation::none;
};

/// The same in 8 bits. The biased sums are multiplied by a factor for each output, which is an argument, and the
/// residual's numbers times `residual` are added; the activation's result times `scale` plus `shift` is stored.
struct EightBitEpilogue {
    float residual = 0;  // 0: none
    graph::Activation activation = graph::Activation::none;
    float six = 6;  // of relu6, in the unit of the sums
    float scale = 1, shift = 0;
    bool zero = false;  // the input's number of 0 is an argument, too
};
/// These arguments: f32[1,1,1,O], i32[1].
inline constexpr int kEightBitFactors = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
inline constexpr int kEightBitZero = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC;

/// Throws std::bad_alloc or Error(internal) if a primitive has failed.
void require_success(dnnl_status_t status);

class OneDnn {
public:
    OneDnn();

    const dnnl::engine& engine() const { return engine_; }
    const dnnl::stream& stream() const { return stream_; }

    Primitive conv_forward(const ConvProblem& problem) const;
    Primitive conv_inference(const ConvProblem& problem, const ConvEpilogue& epilogue) const;
    Primitive conv_in_eight_bits(const ConvProblem& problem, const EightBitEpilogue& epilogue) const;
    Primitive conv_input_grad(const ConvProblem& problem) const;
    Primitive conv_weight_grad(const ConvProblem& problem) const;
    /// Max pooling with src, dst and workspace, which the backward pass reads; of bytes without a workspace.
    Primitive max_pool(const Desc& src, const Desc& dst, const graph::PoolAttrs& attrs) const;
    Primitive max_pool_grad(const Desc& diff_src, const Desc& diff_dst, const graph::PoolAttrs& attrs) const;
    /// a[M,K] * b[K,N] (+ bias[1,N]) -> c[M,N]; strides may transpose operands.
    Primitive matmul(const Desc& a, const Desc& b, const Desc& c, bool bias) const;
    /// c += a * b.
    Primitive accumulating_matmul(const Desc& a, const Desc& b, const Desc& c) const;
    Primitive reorder(const Desc& from, const Desc& to) const;
    /// Describes a copy outside a program, with its own scratch memory.
    dnnl::reorder::primitive_desc reorder_desc(const Desc& from, const Desc& to,
                                               const dnnl::primitive_attr& = {}) const;

private:
    Primitive matmul(const Desc& a, const Desc& b, const Desc& c, bool bias, const dnnl::primitive_attr& attr) const;

    dnnl::engine engine_;
    dnnl::stream stream_;
};

}  // namespace cnntrain::cpu
