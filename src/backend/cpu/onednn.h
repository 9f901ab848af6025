// The only place where oneDNN objects are created; hides the differences between oneDNN 2.6 and 3.x.
//
// oneDNN describes tensors with logical dims N,C,H,W and O,I,H,W whatever their order in memory; the graph's shapes
// are NHWC and HWIO. The conversions between the two are here and nowhere else.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <string>

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
/// An image [N,H,W,C]: row-major, with the axes N,C,H,W. Of another rank (rows [N,C] that image ops take too):
/// row_major().
Desc image_desc(const TensorDesc& desc);
/// Of a layout that strides alone describe.
Dims strides_of(const Desc& desc);
/// Row-major HWIO kernel with `groups`; oneDNN dims [O,I,H,W], or [G,O/G,I,H,W] when groups > 1.
Desc plain_kernel_desc(const TensorDesc& desc, std::int64_t groups);
/// The same dims and type, layout left to the primitive.
Desc any_layout(const Desc& desc);
/// The same layout with another element type, where the layout has a name; empty otherwise.
std::optional<Desc> with_type(const Desc& desc, DType type);

/// The named layout of `like` for the dims and type of `desc`; empty when it has no name or does not apply.
std::optional<Desc> with_layout_of(const Desc& desc, const Desc& like);

/// How many neighbouring channels of a [N,C,H,W] tensor lie together: C for NHWC, 16 for nChw16c, 1 for NCHW; empty for
/// layouts that are none of these.
std::optional<std::int64_t> channel_lanes(const Desc& desc);
/// A matrix in panels of neighbouring columns. Empty for all other layouts, and for types other than f32 and bf16.
std::optional<Panels> panels_of(const Desc& desc);
bool is_row_major_matrix(const Desc& desc);

// How a bfloat16 matrix of this desc's shape lies as an operand of tile products (kernels/tiles.h).
Desc right_tiles_desc(const Desc& matrix);
/// The right operand is the transposed matrix.
Desc turned_right_tiles_desc(const Desc& matrix);
/// The left operand is the transposed matrix.
Desc turned_left_tiles_desc(const Desc& matrix);

/// "nhwc", "nChw16c", "OIhw16i16o", ... or "blocked" when it has no name here.
std::string layout_name(const Desc& desc);

/// A primitive with the layouts it settled on. Absent arguments have empty descriptors.
struct Primitive {
    dnnl::primitive primitive;
    std::string implementation;
    Desc src, weights, bias, dst, workspace, scratchpad;

    /// True for the naive implementations that only exist for completeness.
    bool is_naive() const;
};

/// x, w and y of a convolution, whichever of the three is computed; layouts may be `any`.
struct ConvProblem {
    Desc src, weights, dst;
    std::int64_t stride = 1;
    graph::Padding padding;
};

/// Inference only: what is done to the result before it is stored.
struct ConvEpilogue {
    bool bias = false;
    bool residual = false;  // a tensor like dst is added
    graph::Activation activation = graph::Activation::none;
};

/// Throws std::bad_alloc or Error(internal) when a primitive has failed.
void require_success(dnnl_status_t status);

class OneDnn {
public:
    OneDnn();

    const dnnl::engine& engine() const { return engine_; }
    const dnnl::stream& stream() const { return stream_; }

    Primitive conv_forward(const ConvProblem& problem) const;
    Primitive conv_inference(const ConvProblem& problem, const ConvEpilogue& epilogue) const;
    Primitive conv_input_grad(const ConvProblem& problem) const;
    Primitive conv_weight_grad(const ConvProblem& problem) const;
    /// src, dst and workspace; max pooling whose backward reads the workspace.
    Primitive max_pool(const Desc& src, const Desc& dst, const graph::PoolAttrs& attrs) const;
    Primitive max_pool_grad(const Desc& diff_src, const Desc& diff_dst, const graph::PoolAttrs& attrs) const;
    /// a[M,K] * b[K,N] (+ bias[1,N]) -> c[M,N]; operands may be transposed through their strides.
    Primitive matmul(const Desc& a, const Desc& b, const Desc& c, bool bias) const;
    /// c += a * b.
    Primitive accumulating_matmul(const Desc& a, const Desc& b, const Desc& c) const;
    Primitive reorder(const Desc& from, const Desc& to) const;
    /// For a copy outside a program; brings its own scratch memory.
    dnnl::reorder::primitive_desc reorder_desc(const Desc& from, const Desc& to,
                                               const dnnl::primitive_attr& = {}) const;

private:
    Primitive matmul(const Desc& a, const Desc& b, const Desc& c, bool bias, const dnnl::primitive_attr& attr) const;

    dnnl::engine engine_;
    dnnl::stream stream_;
};

}  // namespace cnntrain::cpu
