// Convolutions in f32 that own kernels compute: depthwise ones, 1x1 ones of inference or of few channels.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/run/lanes.h"

namespace cnntrain::cpu {

// Work of oneDNN primitives that does not depend on the number of threads. oneDNN chooses blocks, and with them the
// order of additions, by the number of threads. So each primitive is made for one thread and for a part of the first
// axis that follows from its length alone, and threads take the parts in turn.

/// An argument of which each part of the work has its own piece.
struct DividedArgument {
    int argument = 0;
    Desc piece;
    std::int64_t apart = 0;  // elements from one piece to the next; 0: the pieces follow each other on the first axis
};

/// A whole with one part, planned for all threads, unless the request asks for independence of the threads.
class Division {
public:
    /// `length`: of the first axis of what is divided.
    Division(const NodeContext& lower, std::int64_t length);

    bool is_on() const { return is_on_; }
    std::int64_t count() const { return count_; }

    TensorDesc part_of(TensorDesc whole) const;
    Desc part_of(const Desc& whole) const;

    /// make() returns a primitive for a part.
    template <typename Make> Primitive plan(const Make& make) const {
        if (!is_on_) return make();
        const Threads one(1);
        return make();
    }

    /// Adds the node's step: the primitive on all parts. `arguments` are whole.
    void add(const NodeContext& lower, const Primitive& primitive, const Arguments& arguments,
             const std::vector<DividedArgument>& divided, const std::vector<int>& written) const;

private:
    bool is_on_;
    std::int64_t count_ = 1;
};

/// The kernel as the primitive reads it. Vectors span sixteen channels, so narrower groups are merged into one group
/// whose kernel is zero between inputs and outputs of different groups. oneDNN's own path for groups of four needs
/// layouts that no other kernel reads, and computes the weight gradient as one small product per group: whole steps
/// of ResNeXt-50 took 1.27 times as long in f32, 1.07 times in bf16 (Zen 4).
struct GroupedKernel {
    GroupedKernel(const TensorDesc& kernel, const graph::ConvAttrs& attrs) : desc(kernel), groups(attrs.groups) {
        constexpr std::int64_t kLanes = 16;
        const std::int64_t in = desc.shape[2];
        const std::int64_t out = desc.shape[3] / groups;
        const bool narrow = groups > 1 && in > 1 && in == out && in < kLanes && kLanes % in == 0;
        if (!narrow || groups % (kLanes / in) != 0) return;
        merged = kLanes / in;
        groups /= merged;
        desc.shape[2] *= merged;
    }

    TensorDesc desc;
    std::int64_t groups;
    std::int64_t merged = 1;
};

/// Memory for the result of the current node, a convolution. oneDNN's primitive adds to what is in its output, so the
/// residual, unless it is null, is placed there first.
Placed place_result(const NodeContext& lower, const Desc& desc, const graph::ValueId* residual, const char* reason);

bool is_depthwise(const graph::ConvAttrs& attrs, const Shape& kernel);

/// Lowers the current node, a conv2d, if an own kernel is the faster implementation.
bool lower_own_conv(const NodeContext& lower);
/// The same for a conv2d_input_grad.
bool lower_own_input_grad(const NodeContext& lower);
/// The same for a conv2d_weight_grad of a 1x1 convolution.
bool lower_own_weight_grad(const NodeContext& lower);

/// Is the current node, a scale_channels, computed by the convolution that alone reads its result?
bool is_left_to_conv(const NodeContext& lower);

// Convolutions by Winograd's filtering, where it is faster than a direct convolution.

// Each adds the node's steps and returns true if Winograd's filtering is the faster implementation.
bool lower_winograd_conv(const NodeContext& lower);
bool lower_winograd_input_grad(const NodeContext& lower);
bool lower_winograd_weight_grad(const NodeContext& lower);

}  // namespace cnntrain::cpu
