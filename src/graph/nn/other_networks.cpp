// Networks of other programs that this program does not have, recognised by names of their tensors.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {
namespace {

struct OtherNetwork {
    Patterns mark;  // of a tensor's name
    std::string_view title;
};

/// The first row with a mark in the file decides.
const std::vector<OtherNetwork>& other_networks() {
    static const std::vector<OtherNetwork> rows = {
        {Patterns({R"(^_blocks\.\d+\._depthwise_conv\.)"}), "an EfficientNet with the names of efficientnet_pytorch"},
        {Patterns({R"(^(features|layers)\.\d+\.(blocks\.)?\d+\.attn\.relative_position_bias_table$)"}), "a Swin"},
        {Patterns({R"(^features\.\d+\.\d+\.layer_scale$)", R"(^stages\.\d+\.blocks\.\d+\.(gamma|conv_dw\.weight)$)",
                   R"(^convnext(v2)?\.)"}),
         "a ConvNeXt"},
        {Patterns({R"(^(class_token|cls_token)$)", R"(^encoder\.layers\.encoder_layer_0\.)", R"(^(vit|deit)\.)",
                   R"(^patch_embed\.proj\.weight$)"}),
         "a vision transformer"},
        {Patterns({R"(^trunk_output\.block1\.)", R"(^s1\.b1\.conv1\.)"}), "a RegNet"},
        {Patterns({R"(^stage2\.0\.branch2\.)"}), "a ShuffleNet"},
        {Patterns(
             {R"(^blocks\.\d+\.\d+\.conv_exp\.)", R"(^features\.6\.(1[3-9]|2\d)\.block\.)", R"(^block4a_dwconv2/)"}),
         "an EfficientNetV2 or EfficientNet-EdgeTPU"},
        {Patterns({R"(^features\.\d+\.block\.\d+\.)", R"(^features\.\d+\.conv\.\d+\.)", R"(^conv_head\.bias$)",
                   R"(^expanded_conv(_|/))", R"(^conv_dw_1/)", R"(^mobilenet_v[12]\.)"}),
         "a MobileNet"},
        {Patterns({R"(^layers\.8\.0\.layers\.)"}), "an MNASNet"},
        {Patterns({R"(^blocks\.\d+\.layers\.\d+\.layers\.MBconv\.)"}), "a MaxViT"},
        {Patterns({R"(^features\.denseblock1\.)"}), "a DenseNet"},
        {Patterns({R"(^features\.3\.squeeze\.)"}), "a SqueezeNet"},
        {Patterns({R"(^features\.0\.weight$)", R"(^block1_conv1/kernel$)"}), "a VGG or AlexNet"},
        {Patterns({R"(^Conv2d_1a_3x3\.)", R"(^inception3a\.)"}), "an Inception network"},
        {Patterns({R"(^stages\.\d+\.blocks\.\d+\.norm1\.weight$)"}), "a ResNetV2"},
        {Patterns({R"(^resnet\.embedder\.)"}), "a ResNet with the names of transformers"},
        {Patterns({R"(^efficientnet\.(embeddings|encoder)\.)"}), "an EfficientNet with the names of transformers"},
        {Patterns({R"(^(visual|vision_model)\.)"}), "a CLIP model"},
        {Patterns({R"(^(bert|distilbert|roberta|cls)[./])"}), "a BERT"},
    };
    return rows;
}

}  // namespace

void refuse_other_networks(const TensorDescs& tensors, bool has_format) {
    const auto refuse = [](const std::string& what) {
        throw Error(ErrorKind::unsupported,
                    what +
                        "; this program has ResNet, ResNeXt and EfficientNet B0 to B7 with the tensors of "
                        "torchvision, timm and Keras (`cnntrain help weights`)");
    };
    for (const OtherNetwork& row : other_networks()) {
        const auto found =
            std::ranges::find_if(tensors, [&](const auto& entry) { return row.mark.match(entry.first); });
        if (found != tensors.end())
            refuse("the weights are of " + std::string(row.title) + ", as the tensor " + found->first + " shows");
    }
    if (has_format) return;
    refuse(tensors.empty()
               ? "there is no tensor in it"
               : "the weights are of no network that is known here: the first tensor is " + tensors.begin()->first);
}

}  // namespace cnntrain::nn
