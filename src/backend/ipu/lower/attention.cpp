// Scaled dot-product attention: grouped matrix products, one group per sample and head, with the scores in float.
#include <poplin/MatMul.hpp>
#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using graph::AttentionAttrs;

namespace pe = popops::expr;

namespace {

// ---- the mask ----

void lower_attention_mask(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::AttentionMaskAttrs>();
    constexpr auto kMasked = static_cast<float>(graph::kMaskedScore);
    if (attrs.sequence == 0) {
        const auto score = (1.0F - pe::Cast(pe::_1, poplar::FLOAT)) * kMasked;
        node.set_output(0, node.map(score, {node.input(0)}));
        return;
    }
    const poplar::Tensor keys = numbers_up_to(node, static_cast<std::size_t>(attrs.sequence));
    const auto is_token = (pe::_1 < pe::_2) || (pe::_1 >= pe::Const(static_cast<int>(attrs.predictions)));
    const auto score = pe::Select(pe::Const(0.0F), pe::Const(kMasked), is_token && (pe::_1 < pe::_3));
    node.set_output(0, node.map(score, {keys, node.input(0), node.input(1)}));
}

// ---- attention ----

/// The operands of a node that reads `others` tensors besides q, k and v, which may come as one, and the mask.
/// Matrices of heads are [B,h,S,...].
class Heads {
public:
    Heads(const NodeContext& node, std::size_t others)
        : node_(node), attrs_(node.attrs<AttentionAttrs>()), packed_(node.inputs() == others + 2) {}

    bool packed() const { return packed_; }
    /// 0: q, 1: k, 2: v.
    poplar::Tensor part(std::size_t i) const {
        if (!packed_) return split(node_.input(i));
        const std::size_t features = node_.input(0).dim(2) / 3;
        return split(node_.input(0).slice(i * features, (i + 1) * features, 2));
    }
    /// The i-th tensor after the mask.
    const poplar::Tensor& behind_mask(std::size_t i) const { return node_.input((packed_ ? 2 : 4) + i); }

    /// [B,S,H] as [B,h,S,d].
    poplar::Tensor split(const poplar::Tensor& x) const {
        const auto heads = static_cast<std::size_t>(attrs_.heads);
        return x.reshapePartial(2, 3, {heads, x.dim(2) / heads}).dimShuffle({0, 2, 1, 3});
    }
    /// [B,h,S,d] as [B,S,H].
    static poplar::Tensor joined(const poplar::Tensor& heads) { return heads.dimShuffle({0, 2, 1, 3}).flatten(2, 4); }
    static poplar::Tensor transposed(const poplar::Tensor& heads) { return heads.dimShuffle({0, 1, 3, 2}); }

    /// The matrix products of all heads.
    poplar::Tensor product(const poplar::Tensor& a, const poplar::Tensor& b, const poplar::Type& type) const {
        const poplar::Tensor y =
            poplin::matMulGrouped(node_.device, a.flatten(0, 2), b.flatten(0, 2), node_.program, type, node_.debug(),
                                  node_.options.product("NONE"), &node_.plans);
        return y.reshapePartial(0, 1, {a.dim(0), a.dim(1)});
    }

    /// scale * q * k^T + mask, FLOAT. By numbers of tokens, keys with another number are masked.
    poplar::Tensor scores() const {
        const poplar::Tensor& mask = node_.input(packed_ ? 1 : 3);
        const poplar::Tensor of_keys = mask.expand({1, 1});
        poplar::Tensor scores = product(part(0), transposed(part(1)), poplar::FLOAT);
        if (mask.elementType() != poplar::INT) {
            popops::mapInPlace(node_.device, pe::_1 * scale() + pe::_2, {scores, of_keys}, node_.program,
                               node_.debug());
            return scores;
        }
        const auto masked =
            pe::Select(pe::Const(0.0F), pe::Const(static_cast<float>(graph::kMaskedScore)), pe::_2 == pe::_3);
        popops::mapInPlace(node_.device, pe::_1 * scale() + masked, {scores, mask.expand({1, 2}), of_keys},
                           node_.program, node_.debug());
        return scores;
    }

    poplar::Tensor dropped_out(const poplar::Tensor& x) const {
        return attrs_.keep < 1 ? randomly_scaled(node_, attrs_.site, attrs_.keep, x) : x;
    }
    /// The scores that dropout keeps; invalid without dropout.
    poplar::Tensor kept(const poplar::Tensor& scores) const {
        return attrs_.keep < 1 ? randomly_kept(node_, attrs_.site, attrs_.keep, scores) : poplar::Tensor();
    }
    poplar::Tensor dropped_out(const poplar::Tensor& x, const poplar::Tensor& kept) const {
        return kept.valid() ? scaled_where_kept(node_, kept, attrs_.keep, x) : x;
    }

    float scale() const { return static_cast<float>(attrs_.scale); }

private:
    const NodeContext& node_;
    const AttentionAttrs& attrs_;
    bool packed_;
};

void lower_attention(const NodeContext& node) {
    const Heads heads(node, 0);
    const Exponentials exponential = exponentials(node, heads.scores());
    const poplar::Tensor probabilities =
        node.map(pe::Cast(pe::_1 / pe::_2, node.output_type()), {exponential.values, exponential.sums.expand({3})});
    const poplar::Tensor y = heads.product(heads.dropped_out(probabilities), heads.part(2), node.output_type());
    node.set_output(0, Heads::joined(y));
    node.set_output(1, exponential.log_sums);
}

/// Computes ds = p * (dp - sum over the features of dy * y), where p = softmax(s) and dp = random_scale(dy * v^T).
void lower_attention_grad(const NodeContext& node) {
    const Heads heads(node, 3);
    const poplar::Type type = node.output_type();
    const poplar::Tensor y = heads.split(heads.behind_mask(0));
    const poplar::Tensor log_sums = heads.behind_mask(1).expand({3});
    const poplar::Tensor dy = heads.split(heads.behind_mask(2));

    const poplar::Tensor p = heads.scores();
    popops::mapInPlace(node.device, pe::Exp(pe::_1 - pe::_2), {p, log_sums}, node.program, node.debug());
    const poplar::Tensor kept = heads.kept(p);
    const poplar::Tensor dv = heads.product(Heads::transposed(heads.dropped_out(node.cast(p, type), kept)), dy, type);

    const poplar::Tensor products =
        node.map(pe::Cast(pe::_1, poplar::FLOAT) * pe::Cast(pe::_2, poplar::FLOAT), {dy, y});
    const poplar::Tensor sums = node.sum(products, {3}, poplar::FLOAT);
    const poplar::Tensor dp =
        heads.dropped_out(heads.product(dy, Heads::transposed(heads.part(2)), poplar::FLOAT), kept);
    // The scale of q * k^T, which dq and dk take over, is applied once, to ds.
    const poplar::Tensor ds =
        node.map(pe::Cast(heads.scale() * pe::_1 * (pe::_2 - pe::_3), type), {p, dp, sums.expand({3})});
    const poplar::Tensor gradients[] = {Heads::joined(heads.product(ds, heads.part(1), type)),
                                        Heads::joined(heads.product(Heads::transposed(ds), heads.part(0), type)),
                                        Heads::joined(dv)};
    if (heads.packed()) {
        node.set_output(0, poplar::concat({gradients[0], gradients[1], gradients[2]}, 2));
        return;
    }
    for (std::size_t i = 0; i < 3; ++i)
        node.set_output(i, gradients[i]);
}

}  // namespace

std::span<const LoweringEntry> attention_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::attention_mask, lower_attention_mask},
        {OpKind::attention, lower_attention},
        {OpKind::attention_grad, lower_attention_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
