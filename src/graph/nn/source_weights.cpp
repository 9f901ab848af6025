#include "cnntrain/graph/model.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "graph/nn/families.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {
namespace {

constexpr std::array<std::string_view, 4> kNormLeaves = {"gamma", "beta", "moving_mean", "moving_variance"};
constexpr std::size_t kMovingMean = 2;
bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
    return std::islower(static_cast<unsigned char>(c)) != 0;
}

/// The texts at the places of a rule.
struct Places {
    std::vector<std::string> texts;
    std::size_t leaf = kNormLeaves.size();  // of a batch norm; no leaf
};

std::optional<Places> places_of(std::string_view pattern, std::string_view name) {
    Places places;
    std::size_t at = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '{') {
            if (at == name.size() || name[at++] != pattern[i]) return std::nullopt;
            continue;
        }
        const char kind = pattern[i + 1];
        i += 2;
        if (kind == 'n') {
            const auto* leaf = std::ranges::find(kNormLeaves, name.substr(at));
            if (leaf == kNormLeaves.end()) return std::nullopt;
            places.leaf = static_cast<std::size_t>(leaf - kNormLeaves.begin());
            at = name.size();
            continue;
        }
        const std::size_t begin = at;
        while (at < name.size() && (kind == 'd' ? is_digit(name[at]) : is_letter(name[at])))
            ++at;
        if (at == begin) return std::nullopt;
        places.texts.emplace_back(name.substr(begin, at - begin));
    }
    return at == name.size() ? std::optional(places) : std::nullopt;
}

/// "3" -> 3; "a" -> 1, "z" -> 26, "aa" -> 27.
std::int64_t ordinal(const std::string& text) {
    constexpr std::int64_t kLetters = 26;
    if (is_digit(text.front())) return std::stoll(text);
    std::int64_t value = 0;
    for (const char c : text)
        value = value * kLetters + (c - 'a' + 1);
    return value;
}

std::string filled_in(std::string_view pattern, const Places& places, const SourceFormat& format) {
    std::string result;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '{') {
            result += pattern[i];
            continue;
        }
        const char place = pattern[++i];
        const char change = pattern[++i];
        if (change != '}') ++i;
        if (place == 'n') {
            result += format.norm_leaves.at(places.leaf);
            continue;
        }
        const std::string& text = places.texts.at(static_cast<std::size_t>(place - '1'));
        result += change == '}' ? text : std::to_string(ordinal(text) + (change == '+' ? 1 : -1));
    }
    return result;
}

/// The shape of a tensor in this program's order of axes.
Shape own_shape(const SourceFormat& format, const Shape& shape) {
    const bool reversed = format.kernels == KernelOrder::oihw;
    if (reversed && shape.size() == kKernelRank) return {shape[2], shape[3], shape[1], shape[0]};
    if (reversed && shape.size() == 2) return {shape[1], shape[0]};
    return shape;
}

/// A depthwise kernel [K,K,C,1] is [K,K,1,C] here; the elements have the same order.
bool is_other_depthwise(const Shape& shape, const Shape& wanted) {
    return shape.size() == kKernelRank && shape[3] == 1 && wanted == Shape{shape[0], shape[1], 1, shape[2]};
}

HostTensor in_own_order(const SourceFormat& format, HostTensor tensor, const Shape& wanted) {
    const std::size_t rank = tensor.shape().size();
    if (format.kernels == KernelOrder::oihw && rank == kKernelRank) return with_axes(tensor, {2, 3, 1, 0});
    if (format.kernels == KernelOrder::oihw && rank == 2) return with_axes(tensor, {1, 0});
    if (is_other_depthwise(tensor.shape(), wanted)) return reshaped(tensor, wanted);
    return tensor;
}

constexpr std::array<Family, enumerator_count<Family>()> kFamilies = {Family::resnet, Family::resnext,
                                                                      Family::efficientnet};

template <typename Tensors> const SourceFormat* format_of(const Tensors& tensors) {
    for (const Family family : kFamilies) {
        const auto formats = row_of(family).formats;
        if (formats == nullptr) continue;
        for (const SourceFormat& format : formats()) {
            const bool fits = std::ranges::all_of(
                format.marks, [&](std::string_view mark) { return tensors.contains(std::string(mark)); });
            if (fits) return &format;
        }
    }
    return nullptr;
}

/// The tensors with the names that the format's rules have.
template <typename Tensors> Tensors with_rule_names(const SourceFormat& format, Tensors tensors) {
    if (format.prefixes == nullptr) return tensors;
    TensorDescs descs;
    for (const auto& [name, tensor] : tensors) {
        if constexpr (std::is_same_v<Tensors, TensorDescs>) {
            descs.emplace(name, tensor);
        } else {
            descs.emplace(name, tensor.desc());
        }
    }
    const std::map<std::string, std::string> prefixes = format.prefixes(descs);
    Tensors renamed;
    for (auto& [name, tensor] : tensors) {
        const std::size_t length = name.find('.', name.find('.') + 1) + 1;
        const auto found = prefixes.find(name.substr(0, length));
        renamed.emplace(found == prefixes.end() ? name : found->second + name.substr(length), std::move(tensor));
    }
    return renamed;
}

bool is_ignored(const SourceFormat& format, const std::string& name) {
    return std::ranges::any_of(format.ignored, [&](std::string_view end) { return name.ends_with(end); });
}

const ForeignPart* foreign_part(const SourceFormat& format, const std::string& name) {
    const auto found = std::ranges::find_if(
        format.foreign_parts, [&](const ForeignPart& row) { return name.find(row.part) != std::string::npos; });
    return found == format.foreign_parts.end() ? nullptr : &*found;
}

/// Takes a format's tensors apart into the network's variables.
class Conversion {
public:
    Conversion(const SourceFormat& format, std::map<std::string, HostTensor> tensors, const TensorDescs& own)
        : format_(format), tensors_(std::move(tensors)), own_(own) {}

    std::map<std::string, HostTensor> run() {
        for (const auto& [name, desc] : own_)
            take(name, desc);
        if (format_.convolutions_have_biases) fold_biases();
        for (const auto& [name, tensor] : tensors_)
            check_left(name, tensor);
        report();
        return std::move(result_);
    }

private:
    static bool is_of_head(const std::string& own) {
        return std::ranges::any_of(kFamilies, [&](Family family) { return own.starts_with(head_scope(family)); });
    }

    void take(const std::string& name, const TensorDesc& desc) {
        const std::optional<std::string> source = source_name(format_, name);
        const auto found = source ? tensors_.find(*source) : tensors_.end();
        if (found == tensors_.end()) {
            if (!is_of_head(name)) {
                differences_.push_back("missing: " + source.value_or(name) + ", which becomes " + name + " " +
                                       to_string(desc.shape));
            }
            return;
        }
        HostTensor tensor = in_own_order(format_, std::move(found->second), desc.shape);
        const bool fits = tensor.shape() == desc.shape || is_of_head(name);
        if (!fits) {
            differences_.push_back("differs: " + *source + ", in the order of " + name + ", is " +
                                   to_string(tensor.shape()) + "; the network needs " + to_string(desc.shape));
        }
        tensors_.erase(found);
        if (fits && name == format_.blue_first) tensor = with_channels_reversed(tensor);
        result_.emplace(name, std::move(tensor));
    }

    /// w[K,K,3,O] for images in the order R, G, B.
    static HostTensor with_channels_reversed(const HostTensor& weight) {
        HostTensor result(weight.desc());
        const std::int64_t outputs = weight.shape()[3];
        const std::int64_t pixels = weight.elements() / (3 * outputs);
        for (std::int64_t p = 0; p < pixels; ++p) {
            for (std::int64_t c = 0; c < 3; ++c) {
                for (std::int64_t o = 0; o < outputs; ++o)
                    result.set((p * 3 + c) * outputs + o, weight.at((p * 3 + 2 - c) * outputs + o));
            }
        }
        return result;
    }

    /// norm(conv + bias) with a moving mean m is norm(conv) with m - bias, and in training the norm removes any bias.
    void fold_biases() {
        for (auto& [name, tensor] : result_) {
            if (!name.ends_with(kNormLeaves[kMovingMean])) continue;
            const std::optional<std::string> bias = source_name(format_, name + "/conv_bias");
            const auto found = bias ? tensors_.find(*bias) : tensors_.end();
            if (found == tensors_.end()) continue;
            if (found->second.shape() != tensor.shape()) {
                differences_.push_back("differs: " + *bias + " is " + to_string(found->second.shape()) +
                                       "; the network needs " + to_string(tensor.shape()));
                continue;
            }
            HostTensor folded({DType::f32, tensor.shape()});
            for (std::int64_t i = 0; i < tensor.elements(); ++i)
                folded.set(i, tensor.at(i) - found->second.at(i));
            tensor = std::move(folded);
            tensors_.erase(found);
        }
    }

    void check_left(const std::string& name, const HostTensor& tensor) {
        if (is_ignored(format_, name)) return;
        const ForeignPart* const part = foreign_part(format_, name);
        differences_.push_back("extra:   " + name + " " + to_string(tensor.shape()) +
                               (part != nullptr ? " (" + std::string(part->what) + ")" : ""));
    }

    void report() const {
        if (differences_.empty()) return;
        constexpr std::size_t kShown = 20;
        std::string list;
        for (std::size_t i = 0; i < std::min(kShown, differences_.size()); ++i)
            list += "\n  " + differences_[i];
        if (differences_.size() > kShown) list += "\n  and " + std::to_string(differences_.size() - kShown) + " more";
        throw Error(ErrorKind::data, "weights in the format of " + std::string(format_.name) +
                                         " do not fit the network. Tensors:" + list);
    }

    const SourceFormat& format_;
    std::map<std::string, HostTensor> tensors_;
    const TensorDescs& own_;
    std::map<std::string, HostTensor> result_;
    std::vector<std::string> differences_;
};

void refuse_foreign_parts(const SourceFormat& format, const TensorDescs& tensors) {
    for (const auto& [name, desc] : tensors) {
        const ForeignPart* const part = foreign_part(format, name);
        if (part == nullptr) continue;
        throw Error(ErrorKind::unsupported, std::string(format.name) + ": tensor " + name + " " +
                                                to_string(desc.shape) + ": " + std::string(part->what) +
                                                ", which the networks of this program do not have");
    }
}

NetworkSettings settings_of(const SourceFormat& format, const TensorDescs& tensors) {
    const SourceShapes shapes(format, tensors);
    for (const Family family : kFamilies) {
        if (auto told = row_of(family).network_of(shapes)) return *std::move(told);
    }
    throw Error(ErrorKind::unsupported, std::string(format.name) + ": no network of this program has such tensors");
}

}  // namespace

std::optional<std::string> source_name(const SourceFormat& format, const std::string& own) {
    if (format.own) return own;
    for (const NameRule& rule : format.names) {
        if (const auto places = places_of(rule.own, own)) return filled_in(rule.source, *places, format);
    }
    return std::nullopt;
}

std::string_view base_architecture(std::string_view architecture) {
    return architecture.substr(0, architecture.find('.'));
}

std::string SourceShapes::name(const std::string& own) const {
    return source_name(format_, own).value_or(own);
}

std::optional<Shape> SourceShapes::operator()(const std::string& own) const {
    const auto found = tensors_.find(name(own));
    if (found == tensors_.end()) return std::nullopt;
    return own_shape(format_, found->second.shape);
}

Shape SourceShapes::expect(const std::string& own, std::size_t rank) const {
    const std::optional<Shape> shape = (*this)(own);
    if (shape && shape->size() == rank) return *shape;
    throw Error(ErrorKind::unsupported,
                std::string(format_.name) + ": expected a tensor " + name(own) + " with " + std::to_string(rank) +
                    (rank == 1 ? " axis" : " axes") +
                    (shape ? ", got the shape " + to_string(tensors_.at(name(own)).shape) : ", there is none"));
}

void take_inner_normalisation(SourcePixels& pixels, const std::map<std::string, HostTensor>& tensors) {
    const auto three = [&](std::string_view leaf) -> const HostTensor* {
        const auto found = std::ranges::find_if(
            tensors, [&](const auto& entry) { return entry.first.ends_with(leaf) && entry.second.elements() == 3; });
        return found == tensors.end() ? nullptr : &found->second;
    };
    const HostTensor* const mean = three("/mean");
    const HostTensor* const variance = three("/variance");
    if (mean == nullptr || variance == nullptr) return;
    constexpr double kRounding = 1e-4;
    const SourcePixels imagenet;
    bool published = true;
    SourcePixels own = pixels;
    for (std::size_t c = 0; c < own.mean.size(); ++c) {
        const auto i = static_cast<std::int64_t>(c);
        own.mean[c] = mean->at(i);
        own.deviation[c] = std::sqrt(variance->at(i));
        published = published && std::abs(mean->at(i) - imagenet.mean[c]) < kRounding &&
                    std::abs(variance->at(i) - imagenet.deviation[c]) < kRounding;
    }
    if (!published) pixels = own;
}

std::optional<SourceNetwork> source_network(const TensorDescs& tensors, const std::string& architecture) {
    const SourceFormat* const format = format_of(tensors);
    if (format == nullptr || !format->own) refuse_other_networks(tensors, format != nullptr);
    SourceNetwork network;
    network.format = format->name;
    network.own = format->own;
    try {
        refuse_foreign_parts(*format, tensors);
        network.settings = settings_of(*format, with_rule_names(*format, tensors));
    } catch (const Error&) {
        if (format->own) return std::nullopt;  // some options of this program change shapes
        throw;
    }
    if (format->complete != nullptr) format->complete(network, architecture);
    return network;
}

std::map<std::string, HostTensor> in_own_layout(std::map<std::string, HostTensor> tensors, const TensorDescs& own) {
    const SourceFormat* const format = format_of(tensors);
    if (format == nullptr || format->own) return tensors;
    return Conversion(*format, with_rule_names(*format, std::move(tensors)), own).run();
}

std::string_view head_scope(Family family) {
    return row_of(family).head_scope;
}

namespace {

constexpr std::string_view kMovingMeanLeaf = "running_mean";

/// The format of the program's network, with the names of its architectures; null: the program has none.
const SourceFormat* format_for(TargetProgram program, const NetworkSettings& network) {
    const auto formats = row_of(network.family).formats;
    // Families without formats of their own share the formats of the residual networks.
    for (const SourceFormat& format : formats != nullptr ? formats() : residual_formats()) {
        const Architectures names = format.architectures[index_of(program)];
        if (names != nullptr && !names(network).empty()) return &format;
    }
    return nullptr;
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
            reason = "this one has --no-se, --group-dim or --expand-ratio";
        if (!efficientnet.swish || efficientnet.proxy_norm) reason = "this one has --use-relu or --proxy-norm";
        if (efficientnet.width_coefficient > 0 || efficientnet.depth_coefficient > 0 ||
            efficientnet.depth_divisor != 8 || efficientnet.top_width != 1280)
            reason = "this one has widths or depths of its own";
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
    const SourceFormat* const format = format_for(program, network);
    if (format == nullptr) {
        throw Error(ErrorKind::unsupported, std::string(name(program)) + " has no " +
                                                family_info(network.family).title(network) +
                                                "; --to onnx holds any network");
    }
    std::optional<Differences> first;
    const std::vector<std::string> candidates = format->architectures[index_of(program)](network);
    for (const std::string& architecture : candidates) {
        SourceNetwork theirs{.format = std::string(format->name), .settings = network, .pixels = {}};
        theirs.settings.bottleneck_stride = BottleneckStride::spatial;  // unless the format says otherwise
        format->complete(theirs, architecture);
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
    const SourceFormat& format = *format_for(program, network);
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
