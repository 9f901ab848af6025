// Batch, group and layer norm by popnn, with statistics in float.
//
// popnn's statistics, and its gradients of gamma and beta, have the type of the activations. The graph's statistics and
// gradients are f32, so popnn computes statistics from activations in float, and the gradients of gamma and beta are
// sums in float.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

enum class NormKind : std::uint8_t {
    batch,  // x[N,H,W,C], statistics [C] over the micro-batches of Replicas::norm_span replicas
    group,  // x[N,H,W,C], statistics [N,G], each of C/G channels that follow each other
    layer,  // x[R,C], statistics [R]
};

class Norm {
public:
    /// `x` gives the shape and type of the activations; `groups` is read by NormKind::group only.
    Norm(const NodeContext& node, NormKind kind, const poplar::Tensor& x, std::size_t groups, double epsilon);

    struct Moments {
        poplar::Tensor mean;               // FLOAT
        poplar::Tensor variance;           // FLOAT, biased
        poplar::Tensor inverse_deviation;  // FLOAT, 1 / sqrt(variance + epsilon)
    };
    Moments moments(const poplar::Tensor& x) const;
    /// Moments from given statistics in any floating type.
    Moments moments(const poplar::Tensor& mean, const poplar::Tensor& variance) const;

    /// gamma * (x - mean) * inverse deviation + beta + addend, rounded once. The addend may be invalid: none.
    poplar::Tensor normalised(const poplar::Tensor& x, const Moments& moments, const poplar::Tensor& gamma,
                              const poplar::Tensor& beta, const poplar::Tensor& addend) const;
    /// (x - mean) * inverse deviation.
    poplar::Tensor whitened(const poplar::Tensor& x, const Moments& moments) const;
    /// gamma * whitened + beta.
    poplar::Tensor scaled(const poplar::Tensor& whitened, const poplar::Tensor& gamma,
                          const poplar::Tensor& beta) const;

    poplar::Tensor input_gradient(const poplar::Tensor& whitened, const poplar::Tensor& dy, const Moments& moments,
                                  const poplar::Tensor& gamma) const;
    /// The same if the moments do not depend on x.
    poplar::Tensor input_gradient_of_given(const poplar::Tensor& dy, const Moments& moments,
                                           const poplar::Tensor& gamma) const;
    struct ParameterGradients {
        poplar::Tensor gamma, beta;  // FLOAT [C]
    };
    ParameterGradients parameter_gradients(const poplar::Tensor& whitened, const poplar::Tensor& dy) const;

private:
    // Views that broadcast to each other: elements, statistics and parameters.
    poplar::Tensor elements(const poplar::Tensor& x) const;
    poplar::Tensor statistic(const poplar::Tensor& t) const;
    poplar::Tensor parameter(const poplar::Tensor& t) const;
    /// x[N,H,W,C] as popnn's activations [N][C][H][W]; x[R,C] as it is.
    poplar::Tensor activations(const poplar::Tensor& x) const;
    /// Samples that share batch statistics.
    unsigned shared_samples() const { return static_cast<unsigned>(shape_[0]) * node_.replicas.norm_span; }

    const NodeContext& node_;
    NormKind kind_;
    poplar::Type type_;  // of the activations
    std::vector<std::size_t> shape_;
    std::size_t groups_;
    float epsilon_;
};

/// Operand `first`, plus the operand after it where the gradient is given as two summands.
poplar::Tensor arriving_gradient(const NodeContext& node, std::size_t first, bool summed_gradient);

}  // namespace cnntrain::ipu
