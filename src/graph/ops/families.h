// The tables that op_table.cpp joins, one per family file.
#pragma once

#include <vector>

#include "cnntrain/graph/op.h"

namespace cnntrain::ops {

std::vector<graph::OpDef> activation_ops();  // activation.cpp
std::vector<graph::OpDef> attention_ops();   // attention.cpp
std::vector<graph::OpDef> conv_ops();        // conv.cpp
std::vector<graph::OpDef> dense_ops();       // dense.cpp
std::vector<graph::OpDef> embedding_ops();   // embedding.cpp
std::vector<graph::OpDef> fold_ops();        // fold.cpp
std::vector<graph::OpDef> gate_ops();        // gate.cpp
std::vector<graph::OpDef> layer_norm_ops();  // layer_norm.cpp
std::vector<graph::OpDef> loss_ops();        // loss.cpp
std::vector<graph::OpDef> matmul_ops();      // matmul.cpp
std::vector<graph::OpDef> mixing_ops();      // mixing.cpp
std::vector<graph::OpDef> norm_ops();        // norm.cpp
std::vector<graph::OpDef> pointwise_ops();   // pointwise.cpp
std::vector<graph::OpDef> pool_ops();        // pool.cpp
std::vector<graph::OpDef> proxy_norm_ops();  // proxy_norm.cpp
std::vector<graph::OpDef> random_ops();      // random.cpp
std::vector<graph::OpDef> token_loss_ops();  // token_loss.cpp
std::vector<graph::OpDef> update_ops();      // update.cpp
std::vector<graph::OpDef> view_ops();        // view.cpp

}  // namespace cnntrain::ops
