#include "cnntrain/ops/op_table.h"

#include "cnntrain/base/error.h"
#include "ops/families.h"

namespace cnntrain::ops {

namespace {

/// In the order of OpKind; checked below.
graph::OpTable make_table() {
    graph::OpTable table{
        constant_op(),
        cast_op(),
        add_op(),
        relu_op(),
        relu_grad_op(),
        swish_op(),
        swish_grad_op(),
        sigmoid_op(),
        sigmoid_grad_op(),
        random_scale_op(),
        scale_channels_op(),
        scale_channels_grad_op(),
        normalise_image_op(),
        conv2d_op(),
        conv2d_input_grad_op(),
        conv2d_weight_grad_op(),
        max_pool_op(),
        max_pool_grad_op(),
        global_average_pool_op(),
        global_average_pool_grad_op(),
        shortcut_pad_op(),
        shortcut_pad_grad_op(),
        dense_op(),
        dense_input_grad_op(),
        dense_weight_grad_op(),
        bias_grad_op(),
        batch_norm_op(),
        batch_norm_inference_op(),
        batch_norm_grad_op(),
        group_norm_op(),
        group_norm_grad_op(),
        standardise_op(),
        standardise_grad_op(),
        proxy_norm_rows_op(),
        proxy_norm_rows_grad_op(),
        proxy_norm_gradient_op(),
        proxy_norm_statistics_op(),
        fold_norm_weight_op(),
        fold_norm_bias_op(),
        softmax_cross_entropy_op(),
        softmax_cross_entropy_grad_op(),
        mix_images_op(),
        mixed_cross_entropy_op(),
        mixed_cross_entropy_grad_op(),
        sgd_update_op(),
        momentum_update_op(),
        rmsprop_update_op(),
        lars_update_op(),
        moving_average_update_op(),
        round_copy_op(),
    };
    for (std::size_t i = 0; i < table.size(); ++i) {
        const graph::OpDef& def = table[i];
        CNNTRAIN_CHECK(static_cast<std::size_t>(def.kind) == i && def.infer != nullptr &&
                           (def.evaluate != nullptr || def.evaluate_random != nullptr),
                       "the op table has no complete entry in place " + std::to_string(i));
    }
    return table;
}

}  // namespace

const graph::OpTable& op_table() {
    static const graph::OpTable table = make_table();
    return table;
}

}  // namespace cnntrain::ops
