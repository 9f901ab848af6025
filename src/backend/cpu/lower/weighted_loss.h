// The cross entropy with class weights, of mixed samples (labels, shares) and of others (labels).
#pragma once

#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {

/// Inputs: logits, labels (, shares).
void lower_weighted_cross_entropy(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs);
/// Inputs: logits, labels (, shares), dloss.
void lower_weighted_cross_entropy_grad(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs);

}  // namespace cnntrain::cpu
