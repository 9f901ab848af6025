// The definitions that op_table.cpp lists, by the file of their family.
#pragma once

#include "cnntrain/graph/op.h"

namespace cnntrain::ops {

// pointwise.cpp
graph::OpDef constant_op();
graph::OpDef cast_op();
graph::OpDef add_op();
graph::OpDef relu_op();
graph::OpDef relu_grad_op();
graph::OpDef normalise_image_op();
graph::OpDef shortcut_pad_op();
graph::OpDef shortcut_pad_grad_op();

// gate.cpp
graph::OpDef swish_op();
graph::OpDef swish_grad_op();
graph::OpDef sigmoid_op();
graph::OpDef sigmoid_grad_op();
graph::OpDef scale_channels_op();
graph::OpDef scale_channels_grad_op();

// random.cpp
graph::OpDef random_scale_op();

// conv.cpp
graph::OpDef conv2d_op();
graph::OpDef conv2d_input_grad_op();
graph::OpDef conv2d_weight_grad_op();

// pool.cpp
graph::OpDef max_pool_op();
graph::OpDef max_pool_grad_op();
graph::OpDef global_average_pool_op();
graph::OpDef global_average_pool_grad_op();

// dense.cpp
graph::OpDef dense_op();
graph::OpDef dense_input_grad_op();
graph::OpDef dense_weight_grad_op();
graph::OpDef bias_grad_op();

// norm.cpp
graph::OpDef batch_norm_op();
graph::OpDef batch_norm_inference_op();
graph::OpDef batch_norm_grad_op();
graph::OpDef group_norm_op();
graph::OpDef group_norm_grad_op();

// proxy_norm.cpp
graph::OpDef standardise_op();
graph::OpDef standardise_grad_op();
graph::OpDef proxy_norm_rows_op();
graph::OpDef proxy_norm_rows_grad_op();
graph::OpDef proxy_norm_gradient_op();
graph::OpDef proxy_norm_statistics_op();

// fold.cpp
graph::OpDef fold_norm_weight_op();
graph::OpDef fold_norm_bias_op();

// loss.cpp
graph::OpDef softmax_cross_entropy_op();
graph::OpDef softmax_cross_entropy_grad_op();

// mixing.cpp
graph::OpDef mix_images_op();
graph::OpDef mixed_cross_entropy_op();
graph::OpDef mixed_cross_entropy_grad_op();

// update.cpp
graph::OpDef sgd_update_op();
graph::OpDef momentum_update_op();
graph::OpDef rmsprop_update_op();
graph::OpDef lars_update_op();
graph::OpDef moving_average_update_op();
graph::OpDef round_copy_op();

}  // namespace cnntrain::ops
