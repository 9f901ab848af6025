#include "cnntrain/graph/model.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "graph/nn/families.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {
namespace {

constexpr std::string_view kMovingMeanLeaf = "running_mean";

const SourceFormat& format_for(TargetProgram program, Family family) {
    const auto formats = row_of(family).formats;
    // Families without formats of their own share the formats of the residual networks.
    const std::vector<SourceFormat>& all = formats != nullptr ? formats() : residual_formats();
    const auto found =
        std::ranges::find_if(all, [&](const SourceFormat& format) { return format.architectures[index_of(program)]; });
    CNNTRAIN_CHECK(found != all.end(), "no names of " + std::string(name(program)));
    return *found;
}

/// The options in which a network differs from the program's network of that architecture.
struct Differences {
    std::vector<std::string> own;     // "--padding same"
    std::vector<std::string> theirs;  // "--padding symmetric"
};

Differences differences(const NetworkSettings& own, const NetworkSettings& theirs) {
    Differences found;
    const auto words = [](auto rule) { return std::string(spelling(rule)); };
    const auto add = [&](const std::string& option, const std::string& has, const std::string& wanted) {
        if (has == wanted) return;
        found.own.push_back(option + " " + has);
        found.theirs.push_back(option + " " + wanted);
    };
    add("--padding", words(own.padding), words(theirs.padding));
    add("--norm-epsilon", formatted("%g", own.epsilon), formatted("%g", theirs.epsilon));
    if (own.family != Family::efficientnet)
        add("--bottleneck-stride", words(own.bottleneck_stride), words(theirs.bottleneck_stride));
    return found;
}

/// Refuses forms of networks that no architecture of these programs has.
void refuse_own_forms(TargetProgram program, const NetworkSettings& network) {
    const std::string other = std::string(name(program)) + " has no such network: ";
    const EfficientnetSettings& efficientnet = network.efficientnet;
    std::string reason;
    if (network.norm != NormKind::batch) reason = "its norms are batch norms, and these are group norms";
    if (network.form == NetworkForm::small_images) reason = "this one is made for small images (--network-form)";
    if (network.family == Family::efficientnet) {
        if (network.size == "CIFAR") reason = "this one is made for small images";
        if (!efficientnet.squeeze_excite || efficientnet.group_dim != 1 || efficientnet.expand_ratio != 6)
            reason = "it has depthwise convolutions, squeeze-excite and an expansion of 6";
        if (!efficientnet.swish || efficientnet.proxy_norm) reason = "it activates by swish, without proxy norm";
        if (efficientnet.width_coefficient > 0 || efficientnet.depth_coefficient > 0 ||
            efficientnet.depth_divisor != 8 || efficientnet.top_width != 1280)
            reason = "its widths and depths are those of B0 to B7";
    }
    if (!reason.empty()) throw Error(ErrorKind::unsupported, other + reason + "; --to onnx holds any network");
}

HostTensor in_their_order(const SourceFormat& format, const HostTensor& tensor) {
    if (format.kernels != KernelOrder::oihw) return tensor;
    if (tensor.shape().size() == kKernelRank) return with_axes(tensor, {3, 2, 0, 1});
    return tensor.shape().size() == 2 ? with_axes(tensor, {1, 0}) : tensor;
}

}  // namespace

std::string_view name(TargetProgram program) {
    return program == TargetProgram::torchvision ? "torchvision" : "timm";
}

std::string target_architecture(TargetProgram program, const NetworkSettings& network) {
    refuse_own_forms(program, network);
    const SourceFormat& format = format_for(program, network.family);
    const std::vector<std::string> candidates = format.architectures[index_of(program)](network);
    if (candidates.empty()) {
        throw Error(ErrorKind::unsupported, std::string(name(program)) + " has no " +
                                                family_info(network.family).title(network) +
                                                "; --to onnx holds any network");
    }
    std::optional<Differences> first;
    for (const std::string& architecture : candidates) {
        SourceNetwork theirs{.format = std::string(format.name), .settings = network, .pixels = {}};
        theirs.settings.bottleneck_stride = BottleneckStride::spatial;  // unless the format says otherwise
        format.complete(theirs, architecture);
        const Differences found = differences(network, theirs.settings);
        if (found.own.empty()) return architecture;
        if (!first) first = found;
    }
    throw Error(ErrorKind::unsupported, "this network is not " + std::string(name(program)) + "'s " +
                                            candidates.front() + ": it has " + listed(first->own) + "; train with " +
                                            joined(first->theirs, " ") +
                                            ", or convert with --to onnx, which holds any network");
}

std::string why_no_target(const NetworkSettings& network) {
    const std::vector<std::string> sizes = row_of(network.family).sizes(network.form);
    if (std::ranges::find(sizes, network.size) == sizes.end()) return "";
    std::string why;
    for (const TargetProgram program : {TargetProgram::timm, TargetProgram::torchvision}) {
        try {
            target_architecture(program, network);
            return "";
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::unsupported) throw;
            why = error.what();
        }
    }
    return why;
}

TargetWeights in_target_layout(TargetProgram program, const NetworkSettings& network,
                               const std::map<std::string, HostTensor>& variables) {
    TargetWeights result{target_architecture(program, network), {}};
    const SourceFormat& format = format_for(program, network.family);
    for (const auto& [own, tensor] : variables) {
        const std::optional<std::string> theirs = source_name(format, own);
        if (!theirs) {
            throw Error(ErrorKind::unsupported,
                        std::string(name(program)) + " has no place for " + own + "; --to onnx holds any network");
        }
        result.tensors.emplace(*theirs, in_their_order(format, tensor));
        if (!theirs->ends_with(kMovingMeanLeaf)) continue;
        const std::string norm = theirs->substr(0, theirs->size() - kMovingMeanLeaf.size());
        result.tensors.emplace(norm + "num_batches_tracked", HostTensor({DType::i64, {}}));
    }
    return result;
}

}  // namespace cnntrain::nn
