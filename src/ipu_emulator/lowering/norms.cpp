#include <poplin/Norms.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/LayerNorm.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>

#include "ipu_emulator/lowering/support.h"

namespace ipu_emulator {
namespace {

using namespace popops::expr;
using poplar::Tensor;
using poplar::program::Sequence;
using Pair = std::pair<Tensor, Tensor>;

/// Views of the activations over which a norm's statistics run: [batch][field...][channels], the channels divided into
/// two dimensions.
class NormView {
public:
    /// groups 0: batch norm.
    NormView(const Tensor& acts, unsigned groups, const poplar::OptionFlags& options, const std::string& name)
        : groups_(groups) {
        check_options(name, options, {"groupNormStridedChannelGrouping"});
        strided_ = bool_option(options, "groupNormStridedChannelGrouping", true);
        require(acts.rank() >= 2, name,
                "expected activations [batch][channels][field...], got " + acts.shapeToString());
        batch_ = acts.dim(0);
        channels_ = acts.dim(1);
        rank_ = static_cast<unsigned>(acts.rank());
        require(groups == 0 || channels_ % groups == 0, name,
                std::to_string(channels_) + " channels cannot be divided into " + std::to_string(groups) + " groups");
        elements_ = acts.numElements() / statistics();
    }

    std::size_t statistics() const { return groups_ == 0 ? channels_ : batch_ * groups_; }
    /// Elements of one statistic.
    std::size_t elements() const { return elements_; }

    Tensor of(const Tensor& acts) const {
        const Tensor last = channels_last(acts);
        const unsigned dim = rank_ - 1;
        if (groups_ == 0) return last.reshapePartial(dim, dim + 1, {1, channels_});
        const std::size_t members = channels_ / groups_;
        return strided_ ? last.reshapePartial(dim, dim + 1, {members, groups_})
                        : last.reshapePartial(dim, dim + 1, {groups_, members});
    }
    /// Statistics [statistics()] in a shape that broadcasts to of().
    Tensor statistic(const Tensor& t) const {
        std::vector<std::size_t> shape(rank_ + 1, 1);
        if (groups_ == 0) {
            shape.back() = channels_;
        } else {
            shape.front() = batch_;
            shape[group_dim()] = groups_;
        }
        return t.reshape(shape);
    }
    /// Dimensions of of() over which statistics run; the remaining ones are in the order of statistics.
    std::vector<std::size_t> reduced() const {
        std::vector<std::size_t> dims;
        for (std::size_t dim = 0; dim <= rank_; ++dim) {
            const bool kept = groups_ == 0 ? dim == rank_ : dim == 0 || dim == group_dim();
            if (!kept) dims.push_back(dim);
        }
        return dims;
    }
    /// An element for each channel, in a shape that broadcasts to of().
    Tensor parameter(const Tensor& t) const {
        if (groups_ == 0) return t;
        const std::size_t members = channels_ / groups_;
        return strided_ ? t.reshape({members, groups_}) : t.reshape({groups_, members});
    }

private:
    unsigned group_dim() const { return strided_ ? rank_ : rank_ - 1; }

    unsigned groups_;
    bool strided_ = true;
    std::size_t batch_ = 1;
    std::size_t channels_ = 1;
    std::size_t elements_ = 1;
    unsigned rank_ = 2;
};

/// The place at which a norm is added, and the combination of its sums with the sums of other replicas.
struct Place {
    poplar::Graph& graph;
    Sequence& prog;
    poplar::DebugContext debug;
    poplin::DistributedNormReduceCallback reduce = {};
    unsigned replicas = 1;

    /// Means over all elements of each statistic, from this replica's sums over `elements` elements.
    std::vector<Tensor> means(const std::vector<Tensor>& sums, std::size_t elements) const {
        std::vector<Tensor> result = sums;
        if (reduce && replicas > 1) result = reduce(graph, sums, prog, replicas, debug, {});
        for (Tensor& sum : result)
            sum = popops::mul(graph, sum, 1.0f / static_cast<float>(elements * replicas), prog, debug);
        return result;
    }
    Tensor sum(const Tensor& t, const std::vector<std::size_t>& dims, popops::Operation op) const {
        return popops::reduce(graph, t, poplar::FLOAT, dims, {op}, prog, debug).flatten();
    }
    Tensor map(const Expr& formula, const std::vector<Tensor>& ts) const {
        return popops::map(graph, formula, ts, prog, debug);
    }
};

void check_partials(const poplar::Type& type, const std::string& name) {
    require(is_float(type), name, "partials are half or float, not " + type.toString());
}

Pair statistics(const Place& place, const NormView& view, const Tensor& acts, float eps, bool unbiased, bool stable) {
    const Tensor x = view.of(acts);
    const Tensor mean = place.means({place.sum(x, view.reduced(), popops::Operation::ADD)}, view.elements())[0];
    Tensor variance;
    if (stable) {
        const Tensor difference = place.map(Cast(_1, poplar::FLOAT) - _2, {x, view.statistic(mean)});
        const Tensor squares = place.sum(difference, view.reduced(), popops::Operation::SQUARE_ADD);
        variance = place.means({squares}, view.elements())[0];
    } else {
        const Tensor squares = place.sum(x, view.reduced(), popops::Operation::SQUARE_ADD);
        const Tensor power = place.means({squares}, view.elements())[0];
        variance = place.map(Max(_1 - Square(_2), Const(0.0f)), {power, mean});
    }
    const auto n = static_cast<double>(view.elements() * place.replicas);
    const auto scale = static_cast<float>(unbiased && n > 1 ? n / (n - 1) : 1.0);
    const poplar::Type type = acts.elementType();
    return {place.map(Cast(_1, type), {mean}), place.map(Cast(Rsqrt(_1 * scale + eps), type), {variance})};
}

/// inverse (gamma g - mean(gamma g) - x mean(gamma g x)), x whitened.
Tensor input_gradient(const Place& place, const NormView& view, const Tensor& whitened, const Tensor& gradients,
                      const Tensor& inverse, const Tensor& gamma) {
    const Tensor x = view.of(whitened);
    const Tensor g = view.of(gradients);
    const Any float1 = Cast(_1, poplar::FLOAT);
    const Any float2 = Cast(_2, poplar::FLOAT);
    const Any float3 = Cast(_3, poplar::FLOAT);
    const Tensor scaled = place.map(float1 * float2, {g, view.parameter(gamma)});
    const Tensor product = place.map(float1 * _2, {x, scaled});
    const std::vector<Tensor> means = place.means({place.sum(scaled, view.reduced(), popops::Operation::ADD),
                                                   place.sum(product, view.reduced(), popops::Operation::ADD)},
                                                  view.elements());
    Tensor out = new_tensor_like(place.graph, whitened.elementType(), whitened, op_name(place.debug, "gradient"));
    popops::mapWithOutput(place.graph, Cast(float3 * (_1 - _4 - float2 * _5), whitened.elementType()),
                          {scaled, x, view.statistic(inverse), view.statistic(means[0]), view.statistic(means[1])},
                          view.of(out), place.prog, place.debug);
    return out;
}

/// The groups of a norm whose statistics are [batch groups].
unsigned groups_of(const Tensor& acts, const Tensor& statistics) {
    require(statistics.numElements() != 0 && statistics.numElements() % acts.dim(0) == 0, "popnn::gn",
            "statistics " + statistics.shapeToString() + " are not of activations " + acts.shapeToString());
    return static_cast<unsigned>(statistics.numElements() / acts.dim(0));
}

unsigned group_replicas(const Tensor& acts, unsigned norm_batch, const std::string& name) {
    require(
        norm_batch != 0 && norm_batch % acts.dim(0) == 0, name,
        "a batch of " + std::to_string(norm_batch) + " is no multiple of the replica's " + std::to_string(acts.dim(0)));
    return static_cast<unsigned>(norm_batch / acts.dim(0));
}

}  // namespace
}  // namespace ipu_emulator

using namespace ipu_emulator;

#define NORM_TAIL const poplar::DebugContext &debug, const poplar::OptionFlags &options

namespace popnn::bn {

// NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
Pair distributedBatchNormStatistics(poplar::Graph& graph, const Tensor acts, float eps, Sequence& prog, bool unbiased,
                                    poplin::DistributedNormReduceCallback reduce, unsigned normBatchSize, bool stable,
                                    const poplar::Type& partials, NORM_TAIL) {
    check_partials(partials, "distributedBatchNormStatistics");
    const NormView view(acts, 0, options, "distributedBatchNormStatistics");
    const unsigned replicas = group_replicas(acts, normBatchSize, "distributedBatchNormStatistics");
    return statistics({graph, prog, debug, std::move(reduce), replicas}, view, acts, eps, unbiased, stable);
}

Tensor distributedBatchNormGradients(poplar::Graph& graph, const Tensor& whitened, const Tensor& gradsIn,
                                     const Tensor& inverse, const Tensor& gamma, Sequence& prog,
                                     poplin::DistributedNormReduceCallback reduce, unsigned normBatchSize,
                                     const poplar::Type& partials, NORM_TAIL) {
    check_partials(partials, "distributedBatchNormGradients");
    const NormView view(whitened, 0, options, "distributedBatchNormGradients");
    const unsigned replicas = group_replicas(whitened, normBatchSize, "distributedBatchNormGradients");
    return input_gradient({graph, prog, debug, std::move(reduce), replicas}, view, whitened, gradsIn, inverse, gamma);
}

}  // namespace popnn::bn

namespace popnn::gn {

// NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
Pair groupNormStatistics(poplar::Graph& graph, const Tensor acts, float eps, Sequence& prog, unsigned groups,
                         bool unbiased, bool stable, const poplar::Type& partials, NORM_TAIL) {
    check_partials(partials, "groupNormStatistics");
    const NormView view(acts, groups, options, "groupNormStatistics");
    return statistics({graph, prog, debug}, view, acts, eps, unbiased, stable);
}

Tensor groupNormGradients(poplar::Graph& graph, const Tensor& whitened, const Tensor& gradsIn, const Tensor& inverse,
                          const Tensor& gamma, Sequence& prog, const poplar::Type& partials, NORM_TAIL) {
    check_partials(partials, "groupNormGradients");
    const NormView view(whitened, groups_of(whitened, inverse), options, "groupNormGradients");
    return input_gradient({graph, prog, debug}, view, whitened, gradsIn, inverse, gamma);
}

}  // namespace popnn::gn

namespace popnn::ln {

// NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
Pair layerNormStatistics(poplar::Graph& graph, const Tensor acts, float eps, Sequence& prog, bool unbiased, bool stable,
                         const poplar::Type& partials, NORM_TAIL) {
    check_partials(partials, "layerNormStatistics");
    const NormView view(acts, 1, options, "layerNormStatistics");
    return statistics({graph, prog, debug}, view, acts, eps, unbiased, stable);
}

Tensor layerNormGradients(poplar::Graph& graph, const Tensor& whitened, const Tensor& gradsIn, const Tensor& inverse,
                          const Tensor& gamma, Sequence& prog, const poplar::Type& partials, NORM_TAIL) {
    check_partials(partials, "layerNormGradients");
    const NormView view(whitened, 1, options, "layerNormGradients");
    return input_gradient({graph, prog, debug}, view, whitened, gradsIn, inverse, gamma);
}

}  // namespace popnn::ln

#undef NORM_TAIL
