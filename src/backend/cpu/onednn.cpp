#include "backend/cpu/onednn.h"

#include <omp.h>

#include <array>
#include <new>
#include <utility>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"

namespace cnntrain::cpu {
namespace {

using Tag = dnnl::memory::format_tag;

struct NamedTag {
    Tag tag;
    const char* name;
};

constexpr std::array kActivationTags = {
    NamedTag{Tag::nhwc, "nhwc"},
    NamedTag{Tag::nChw16c, "nChw16c"},
    NamedTag{Tag::nChw8c, "nChw8c"},
    NamedTag{Tag::nchw, "nchw"},
};

constexpr std::array kKernelTags = {
    NamedTag{Tag::hwio, "hwio"},
    NamedTag{Tag::OIhw16i16o, "OIhw16i16o"},
    NamedTag{Tag::OIhw16o16i, "OIhw16o16i"},
    NamedTag{Tag::Ohwi16o, "Ohwi16o"},
    NamedTag{Tag::OIhw8i8o, "OIhw8i8o"},
    NamedTag{Tag::OIhw8o8i, "OIhw8o8i"},
    NamedTag{Tag::Ohwi8o, "Ohwi8o"},
    NamedTag{Tag::IOhw16o16i, "IOhw16o16i"},
    NamedTag{Tag::Oihw16o, "Oihw16o"},
    NamedTag{Tag::OIhw8i16o2i, "OIhw8i16o2i"},
    NamedTag{Tag::OIhw8o16i2o, "OIhw8o16i2o"},
    NamedTag{Tag::OIhw16i16o2i, "OIhw16i16o2i"},
    NamedTag{Tag::ohwi, "ohwi"},
    NamedTag{Tag::oihw, "oihw"},
};

constexpr std::array kGroupedKernelTags = {
    NamedTag{Tag::hwigo, "hwigo"},
    NamedTag{Tag::gOIhw16i16o, "gOIhw16i16o"},
    NamedTag{Tag::gOIhw16o16i, "gOIhw16o16i"},
    NamedTag{Tag::gOhwi16o, "gOhwi16o"},
    NamedTag{Tag::gOIhw8i8o, "gOIhw8i8o"},
    NamedTag{Tag::gOIhw4i16o4i, "gOIhw4i16o4i"},
    NamedTag{Tag::Goihw16g, "Goihw16g"},
    NamedTag{Tag::Goihw8g, "Goihw8g"},
    NamedTag{Tag::goihw, "goihw"},
};

/// Panels of right operands of products. 16-bit panels store pairs of rows.
struct PanelTag : NamedTag {
    bool pairs;
    std::int64_t columns;
};
constexpr std::array kPanelTags = {
    PanelTag{{Tag::BA16a64b, "BA16a64b"}, false, 64},    PanelTag{{Tag::BA16a48b, "BA16a48b"}, false, 48},
    PanelTag{{Tag::BA16a32b, "BA16a32b"}, false, 32},    PanelTag{{Tag::BA16a16b, "BA16a16b"}, false, 16},
    PanelTag{{Tag::BA16a64b2a, "BA16a64b2a"}, true, 64}, PanelTag{{Tag::BA16a48b2a, "BA16a48b2a"}, true, 48},
    PanelTag{{Tag::BA16a32b2a, "BA16a32b2a"}, true, 32}, PanelTag{{Tag::BA16a16b2a, "BA16a16b2a"}, true, 16},
};

}  // namespace

Dims dims_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
    return desc.get_dims();
#else
    return desc.dims();
#endif
}

namespace {

#if DNNL_VERSION_MAJOR >= 3
dnnl::memory::data_type type_of(const Desc& desc) {
    return desc.get_data_type();
}
#else
dnnl::memory::data_type type_of(const Desc& desc) {
    return desc.data_type();
}
#endif

template <typename Tags> const typename Tags::value_type* find_tag(const Desc& desc, const Tags& tags) {
    for (const auto& candidate : tags) {
        if (desc == Desc(dims_of(desc), type_of(desc), candidate.tag)) return &candidate;
    }
    return nullptr;
}

/// Returns the name of a layout, or null. For rank 4: the first match among the names of activations and kernels.
const NamedTag* tag_of(const Desc& desc) {
    switch (dims_of(desc).size()) {
        case 4:
            if (const NamedTag* activation = find_tag(desc, kActivationTags)) return activation;
            return find_tag(desc, kKernelTags);
        case 5:
            return find_tag(desc, kGroupedKernelTags);
        case 2:
            return find_tag(desc, kPanelTags);
        default:
            return nullptr;
    }
}

Dims pair_of(std::int64_t value) {
    return {value, value};
}
Dims before(const graph::Padding& padding) {
    return {padding.top, padding.left};
}
Dims after(const graph::Padding& padding) {
    return {padding.bottom, padding.right};
}

/// The caller reserves scratch memory in its arena.
dnnl::primitive_attr user_scratchpad() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

/// oneDNN crashes if there is no memory for the code of a kernel.
void require_room_for_kernel() {
    constexpr std::size_t kKernelBytes = std::size_t{8} << 20;
    require_memory(kKernelBytes, "cpu backend: the code of this network");
}

template <typename PrimitiveType, typename PrimitiveDesc> Primitive finish(const PrimitiveDesc& desc) {
    require_room_for_kernel();
    Primitive result;
    result.primitive = PrimitiveType(desc);
    result.implementation = desc.impl_info_str();
    result.scratchpad = desc.scratchpad_desc();
    result.threads = omp_get_max_threads();
    return result;
}

/// oneDNN's older products, also those of its convolutions, divide the sums of narrow matrices among threads.
void plan_again(Primitive& primitive, std::function<Primitive()> again) {
    const std::string& name = primitive.implementation;
    const bool divides = name.starts_with("gemm") || name.find(":gemm") != std::string::npos;
    if (!divides) primitive.again = std::move(again);
}

/// The problem in the layouts that the primitive has chosen.
ConvProblem planned(const ConvProblem& problem, const Primitive& primitive) {
    return {primitive.src, primitive.weights, primitive.dst, problem.stride, problem.padding};
}

dnnl::convolution_forward::primitive_desc forward_desc(const dnnl::engine& engine, const ConvProblem& p, bool inference,
                                                       bool bias, const dnnl::primitive_attr& attributes) {
    const auto kind = inference ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const Dims stride = pair_of(p.stride);
    const Desc bias_desc({dims_of(p.dst)[1]}, dnnl::memory::data_type::f32, Tag::x);
#if DNNL_VERSION_MAJOR >= 3
    if (bias) {
        return {engine,           kind,      algorithm, p.src, p.weights, bias_desc, p.dst, stride, before(p.padding),
                after(p.padding), attributes};
    }
    return {engine, kind, algorithm, p.src, p.weights, p.dst, stride, before(p.padding), after(p.padding), attributes};
#else
    using Description = dnnl::convolution_forward::desc;
    const Description description =
        bias ? Description(kind, algorithm, p.src, p.weights, bias_desc, p.dst, stride, before(p.padding),
                           after(p.padding))
             : Description(kind, algorithm, p.src, p.weights, p.dst, stride, before(p.padding), after(p.padding));
    return {description, attributes, engine};
#endif
}

dnnl::pooling_forward::primitive_desc pool_desc(const dnnl::engine& engine, const Desc& src, const Desc& dst,
                                                const graph::PoolAttrs& attrs) {
    const bool is_bytes = type_of(src) == dnnl::memory::data_type::u8;
    const auto kind = is_bytes ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::pooling_max;
    const Dims stride = pair_of(attrs.stride);
    const Dims kernel = pair_of(attrs.kernel);
#if DNNL_VERSION_MAJOR >= 3
    return {engine,
            kind,
            algorithm,
            src,
            dst,
            stride,
            kernel,
            Dims{0, 0},
            before(attrs.padding),
            after(attrs.padding),
            user_scratchpad()};
#else
    return {dnnl::pooling_forward::desc(kind, algorithm, src, dst, stride, kernel, before(attrs.padding),
                                        after(attrs.padding)),
            user_scratchpad(), engine};
#endif
}

}  // namespace

dnnl::memory::data_type to_dnnl(DType type) {
    switch (type) {
        case DType::f32:
            return dnnl::memory::data_type::f32;
        case DType::bf16:
            return dnnl::memory::data_type::bf16;
        case DType::f16:
            return dnnl::memory::data_type::f16;
        case DType::u8:
            return dnnl::memory::data_type::u8;
        case DType::i8:
            return dnnl::memory::data_type::s8;
        case DType::i32:
            return dnnl::memory::data_type::s32;
        default:
            break;
    }
    throw Error(ErrorKind::unsupported, "cpu backend: no oneDNN type for " + std::string(name(type)));
}

Desc image_desc(const TensorDesc& desc) {
    const Shape& s = desc.shape;
    if (s.size() != 4) return row_major(desc);
    return Desc({s[0], s[3], s[1], s[2]}, to_dnnl(desc.dtype), Tag::nhwc);
}

Dims strides_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
    return desc.get_strides();
#else
    const auto& strides = desc.data.format_desc.blocking.strides;
    return Dims(strides, strides + desc.data.ndims);
#endif
}

Desc row_major(const TensorDesc& desc) {
    const Shape& s = desc.shape;
    if (s.empty()) return Desc({1}, to_dnnl(desc.dtype), Tag::x);
    Dims strides(s.size(), 1);
    for (std::size_t i = s.size() - 1; i > 0; --i)
        strides[i - 1] = strides[i] * s[i];
    return Desc(Dims(s.begin(), s.end()), to_dnnl(desc.dtype), strides);
}

Desc plain_kernel_desc(const TensorDesc& desc, std::int64_t groups) {
    const Shape& s = desc.shape;
    CNNTRAIN_CHECK(s.size() == 4, "a kernel has four axes, this one is " + to_string(desc));
    if (groups == 1) return Desc({s[3], s[2], s[0], s[1]}, to_dnnl(desc.dtype), Tag::hwio);
    return Desc({groups, s[3] / groups, s[2], s[0], s[1]}, to_dnnl(desc.dtype), Tag::hwigo);
}

Desc tiled_kernel_desc(const TensorDesc& desc, std::int64_t groups) {
    const Desc plain = plain_kernel_desc(desc, groups);
    return Desc(dims_of(plain), type_of(plain), groups == 1 ? Tag::OIhw16o16i : Tag::gOIhw16o16i);
}

Desc pointwise_kernel_desc(const TensorDesc& desc) {
    const Desc plain = plain_kernel_desc(desc, 1);
    return Desc(dims_of(plain), type_of(plain), Tag::Ohwi16o);
}

Desc matrix_desc(std::int64_t rows, std::int64_t columns, DType type, bool transposed) {
    using FormatTag = dnnl::memory::format_tag;
    return Desc({rows, columns}, to_dnnl(type), transposed ? FormatTag::ba : FormatTag::ab);
}

Desc any_layout(const Desc& desc) {
    return Desc(dims_of(desc), type_of(desc), Tag::any);
}

std::optional<Desc> with_type(const Desc& desc, DType type) {
    if (type_of(desc) == to_dnnl(type)) return desc;
    const Dims dims = dims_of(desc);
    if (dims.size() == 4 || dims.size() == 5) {
        const NamedTag* found = tag_of(desc);
        if (found == nullptr) return std::nullopt;
        return Desc(dims, to_dnnl(type), found->tag);
    }
    // Lower ranks are always plain here.
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i)
        strides[i - 1] = strides[i] * dims[i];
    return Desc(dims, to_dnnl(type), strides);
}

std::optional<Desc> with_layout_of(const Desc& desc, const Desc& like) {
    if (dims_of(desc).size() != 4 || dims_of(like).size() != 4) return std::nullopt;
    const NamedTag* found = find_tag(like, kActivationTags);
    if (found == nullptr) return std::nullopt;
    const Desc result(dims_of(desc), type_of(desc), found->tag);
    if (!channel_lanes(result)) return std::nullopt;
    return result;
}

std::optional<std::int64_t> channel_lanes(const Desc& desc) {
    if (dims_of(desc).size() != 4) return std::nullopt;
    const std::int64_t channels = dims_of(desc)[1];
    const NamedTag* found = find_tag(desc, kActivationTags);
    if (found == nullptr) return std::nullopt;
    switch (found->tag) {
        case Tag::nhwc:
            return channels;
        case Tag::nChw16c:
            return channels % 16 == 0 ? std::optional<std::int64_t>(16) : std::nullopt;
        case Tag::nChw8c:
            return channels % 8 == 0 ? std::optional<std::int64_t>(8) : std::nullopt;
        default:
            return 1;
    }
}

std::optional<Panels> panels_of(const Desc& desc) {
    if (dims_of(desc).size() != 2) return std::nullopt;
    const PanelTag* found = find_tag(desc, kPanelTags);
    const bool is_f32 = type_of(desc) == dnnl::memory::data_type::f32;
    const bool is_bf16 = type_of(desc) == dnnl::memory::data_type::bf16;
    if (found == nullptr || !(found->pairs ? is_bf16 : is_f32)) return std::nullopt;
    const Dims dims = dims_of(desc);
    const std::int64_t block = found->pairs ? 32 : 16;
    return Panels{dims[0], dims[1], (dims[0] + block - 1) / block * block, found->columns};
}

bool is_row_major_matrix(const Desc& desc) {
    return dims_of(desc).size() == 2 && desc == Desc(dims_of(desc), type_of(desc), Tag::ab);
}

Desc right_tiles_desc(const Desc& matrix) {
    return Desc(dims_of(matrix), dnnl::memory::data_type::bf16, Tag::BA16a32b2a);
}

Desc turned_right_tiles_desc(const Desc& matrix) {
    return Desc(dims_of(matrix), dnnl::memory::data_type::bf16, Tag::AB16b32a2b);
}

Desc turned_left_tiles_desc(const Desc& matrix) {
    const Dims dims = dims_of(matrix);
    return Desc({dims[1], dims[0]}, dnnl::memory::data_type::bf16, Tag::AB32a32b).permute_axes({1, 0});
}

std::string layout_name(const Desc& desc) {
    const NamedTag* found = tag_of(desc);
    return found == nullptr ? "blocked" : found->name;
}

void require_success(dnnl_status_t status) {
    if (status == dnnl_success) return;
    if (status == dnnl_out_of_memory) throw std::bad_alloc();
    throw Error(ErrorKind::internal,
                "cpu backend: a oneDNN primitive failed with status " + std::to_string(static_cast<int>(status)));
}

bool Primitive::is_naive() const {
    return implementation.starts_with("ref");
}

OneDnn::OneDnn() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

Primitive OneDnn::conv_forward(const ConvProblem& problem) const {
    const auto desc = forward_desc(engine_, problem, false, false, user_scratchpad());
    Primitive result = finish<dnnl::convolution_forward>(desc);
    result.src = desc.src_desc();
    result.weights = desc.weights_desc();
    result.dst = desc.dst_desc();
    plan_again(result, [this, same = planned(problem, result)] { return conv_forward(same); });
    return result;
}

namespace {

/// `six`: the upper bound of relu6.
void append_activation(dnnl::post_ops& post_ops, graph::Activation activation, float six = 6) {
    const auto append = [&](dnnl::algorithm algorithm, float alpha, float beta = 0) {
#if DNNL_VERSION_MAJOR >= 3
        post_ops.append_eltwise(algorithm, alpha, beta);
#else
        post_ops.append_eltwise(1.0F, algorithm, alpha, beta);
#endif
    };
    switch (activation) {
        case graph::Activation::none:
            return;
        case graph::Activation::relu:
            return append(dnnl::algorithm::eltwise_relu, 0);  // alpha: the slope below 0
        case graph::Activation::relu6:
            return append(dnnl::algorithm::eltwise_clip, 0, six);  // alpha, beta: the bounds
        case graph::Activation::swish:
            return append(dnnl::algorithm::eltwise_swish, 1);  // alpha: the factor inside the sigmoid
        case graph::Activation::sigmoid:
            return append(dnnl::algorithm::eltwise_logistic, 0);
        case graph::Activation::gelu:
            return append(dnnl::algorithm::eltwise_gelu_erf, 0);
        case graph::Activation::gelu_tanh:
            return append(dnnl::algorithm::eltwise_gelu_tanh, 0);
        case graph::Activation::tanh:
            return append(dnnl::algorithm::eltwise_tanh, 0);
    }
}

}  // namespace

Primitive OneDnn::conv_inference(const ConvProblem& problem, const ConvEpilogue& epilogue) const {
    dnnl::primitive_attr attributes = user_scratchpad();
    dnnl::post_ops post_ops;
    if (epilogue.residual) post_ops.append_sum(1.0F);
    append_activation(post_ops, epilogue.activation);
    attributes.set_post_ops(post_ops);
    const auto desc = forward_desc(engine_, problem, true, epilogue.bias, attributes);
    Primitive result = finish<dnnl::convolution_forward>(desc);
    result.src = desc.src_desc();
    result.weights = desc.weights_desc();
    result.dst = desc.dst_desc();
    if (epilogue.bias) result.bias = desc.bias_desc();
    plan_again(result, [this, same = planned(problem, result), epilogue] { return conv_inference(same, epilogue); });
    return result;
}

Primitive OneDnn::conv_in_eight_bits(const ConvProblem& problem, const EightBitEpilogue& epilogue) const {
    dnnl::primitive_attr attributes = user_scratchpad();
    if (epilogue.zero) {
#if DNNL_VERSION_MAJOR >= 3
        attributes.set_zero_points_mask(DNNL_ARG_SRC, 0);
#else
        attributes.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
#endif
    }
    dnnl::post_ops post_ops;
    post_ops.append_binary(dnnl::algorithm::binary_mul, image_desc({DType::f32, {1, 1, 1, dims_of(problem.dst)[1]}}));
    if (epilogue.residual != 0) post_ops.append_sum(epilogue.residual);
    append_activation(post_ops, epilogue.activation, epilogue.six);
    if (epilogue.scale != 1 || epilogue.shift != 0) {
#if DNNL_VERSION_MAJOR >= 3
        post_ops.append_eltwise(dnnl::algorithm::eltwise_linear, epilogue.scale, epilogue.shift);
#else
        post_ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_linear, epilogue.scale, epilogue.shift);
#endif
    }
    attributes.set_post_ops(post_ops);
    const auto desc = forward_desc(engine_, problem, true, true, attributes);
    Primitive result = finish<dnnl::convolution_forward>(desc);
    result.src = desc.src_desc();
    result.weights = desc.weights_desc();
    result.dst = desc.dst_desc();
    result.bias = desc.bias_desc();
    plan_again(result,
               [this, same = planned(problem, result), epilogue] { return conv_in_eight_bits(same, epilogue); });
    return result;
}

Primitive OneDnn::conv_input_grad(const ConvProblem& p) const {
    // The hint describes the problem only; its choice of layouts is not used.
    const ConvProblem hint_problem{any_layout(p.src), any_layout(p.weights), any_layout(p.dst), p.stride, p.padding};
    const auto hint = forward_desc(engine_, hint_problem, false, false, user_scratchpad());
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const Dims stride = pair_of(p.stride);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_data::primitive_desc desc(engine_, algorithm, p.src, p.weights, p.dst, stride,
                                                               before(p.padding), after(p.padding), hint,
                                                               user_scratchpad());
#else
    const dnnl::convolution_backward_data::primitive_desc desc(
        dnnl::convolution_backward_data::desc(algorithm, p.src, p.weights, p.dst, stride, before(p.padding),
                                              after(p.padding)),
        user_scratchpad(), engine_, hint);
#endif
    Primitive result = finish<dnnl::convolution_backward_data>(desc);
    result.src = desc.diff_src_desc();
    result.weights = desc.weights_desc();
    result.dst = desc.diff_dst_desc();
    plan_again(result, [this, same = planned(p, result)] { return conv_input_grad(same); });
    return result;
}

Primitive OneDnn::conv_weight_grad(const ConvProblem& p) const {
    const Desc forward_weights(dims_of(p.weights), type_of(p.src), Tag::any);
    const ConvProblem hint_problem{any_layout(p.src), forward_weights, any_layout(p.dst), p.stride, p.padding};
    const auto hint = forward_desc(engine_, hint_problem, false, false, user_scratchpad());
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const Dims stride = pair_of(p.stride);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_backward_weights::primitive_desc desc(engine_, algorithm, p.src, p.weights, p.dst, stride,
                                                                  before(p.padding), after(p.padding), hint,
                                                                  user_scratchpad());
#else
    const dnnl::convolution_backward_weights::primitive_desc desc(
        dnnl::convolution_backward_weights::desc(algorithm, p.src, p.weights, p.dst, stride, before(p.padding),
                                                 after(p.padding)),
        user_scratchpad(), engine_, hint);
#endif
    Primitive result = finish<dnnl::convolution_backward_weights>(desc);
    result.src = desc.src_desc();
    result.weights = desc.diff_weights_desc();
    result.dst = desc.diff_dst_desc();
    return result;
}

Primitive OneDnn::max_pool(const Desc& src, const Desc& dst, const graph::PoolAttrs& attrs) const {
    const auto desc = pool_desc(engine_, src, dst, attrs);
    Primitive result = finish<dnnl::pooling_forward>(desc);
    result.src = desc.src_desc();
    result.dst = desc.dst_desc();
    result.workspace = desc.workspace_desc();
    plan_again(result, [this, result, attrs] { return max_pool(result.src, result.dst, attrs); });
    return result;
}

Primitive OneDnn::max_pool_grad(const Desc& diff_src, const Desc& diff_dst, const graph::PoolAttrs& attrs) const {
    const auto hint = pool_desc(engine_, diff_src, diff_dst, attrs);
    const auto algorithm = dnnl::algorithm::pooling_max;
    const Dims stride = pair_of(attrs.stride);
    const Dims kernel = pair_of(attrs.kernel);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::pooling_backward::primitive_desc desc(engine_, algorithm, diff_src, diff_dst, stride, kernel,
                                                      Dims{0, 0}, before(attrs.padding), after(attrs.padding), hint,
                                                      user_scratchpad());
#else
    const dnnl::pooling_backward::primitive_desc desc(
        dnnl::pooling_backward::desc(algorithm, diff_src, diff_dst, stride, kernel, before(attrs.padding),
                                     after(attrs.padding)),
        user_scratchpad(), engine_, hint);
#endif
    Primitive result = finish<dnnl::pooling_backward>(desc);
    result.src = desc.diff_src_desc();
    result.dst = desc.diff_dst_desc();
    result.workspace = desc.workspace_desc();
    plan_again(result, [this, result, attrs] { return max_pool_grad(result.src, result.dst, attrs); });
    return result;
}

Primitive OneDnn::matmul(const Desc& a, const Desc& b, const Desc& c, bool bias) const {
    return matmul(a, b, c, bias, user_scratchpad());
}

Primitive OneDnn::accumulating_matmul(const Desc& a, const Desc& b, const Desc& c) const {
    dnnl::primitive_attr attributes = user_scratchpad();
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0F);
    attributes.set_post_ops(post_ops);
    return matmul(a, b, c, false, attributes);
}

Primitive OneDnn::matmul(const Desc& a, const Desc& b, const Desc& c, bool bias,
                         const dnnl::primitive_attr& attributes) const {
    const Desc bias_desc({1, dims_of(c)[1]}, dnnl::memory::data_type::f32, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
    const auto desc = bias ? dnnl::matmul::primitive_desc(engine_, a, b, bias_desc, c, attributes)
                           : dnnl::matmul::primitive_desc(engine_, a, b, c, attributes);
#else
    const auto description = bias ? dnnl::matmul::desc(a, b, bias_desc, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc desc(description, attributes, engine_);
#endif
    Primitive result = finish<dnnl::matmul>(desc);
    result.src = desc.src_desc();
    result.weights = desc.weights_desc();
    result.dst = desc.dst_desc();
    if (bias) result.bias = bias_desc;
    // AMX's products divide long sums among many threads.
    if (result.implementation.find("amx") == std::string::npos) {
        plan_again(result, [this, result, bias, attributes] {
            return matmul(result.src, result.weights, result.dst, bias, attributes);
        });
    }
    return result;
}

Primitive OneDnn::reorder(const Desc& from, const Desc& to) const {
    Primitive result = finish<dnnl::reorder>(reorder_desc(from, to, user_scratchpad()));
    result.src = from;
    result.dst = to;
    plan_again(result, [this, from, to] { return reorder(from, to); });
    return result;
}

dnnl::reorder::primitive_desc OneDnn::reorder_desc(const Desc& from, const Desc& to,
                                                   const dnnl::primitive_attr& attributes) const {
    require_room_for_kernel();
    try {
        return {engine_, from, engine_, to, attributes};
    } catch (const dnnl::error&) {
        throw Error(ErrorKind::internal, "cpu backend: oneDNN cannot lay out a tensor from " + layout_name(from) + " " +
                                             to_string(dims_of(from)) + " to " + layout_name(to) + " " +
                                             to_string(dims_of(to)));
    }
}

}  // namespace cnntrain::cpu

namespace cnntrain::backend {
namespace {

/// Keeps oneDNN from starting threads: it takes as many as OpenMP gives the calling thread.
class OnThisThread {
public:
    OnThisThread() { omp_set_num_threads(1); }
    ~OnThisThread() { omp_set_num_threads(before_); }
    OnThisThread(const OnThisThread&) = delete;
    OnThisThread& operator=(const OnThisThread&) = delete;

private:
    int before_ = omp_get_max_threads();
};

}  // namespace

void dot_rows(const float* a, std::int64_t rows, const float* b, std::int64_t columns, std::int64_t width, float* out) {
    const OnThisThread alone;
    cpu::require_success(dnnl_sgemm('N', 'T', rows, columns, width, 1, a, width, b, width, 0, out, columns));
}

void add_weighted_rows(const float* factors, const float* a, std::int64_t rows, std::int64_t columns,
                       std::int64_t width, float* sums) {
    const OnThisThread alone;
    cpu::require_success(dnnl_sgemm('T', 'N', columns, width, rows, 1, factors, columns, a, width, 1, sums, width));
}

}  // namespace cnntrain::backend
