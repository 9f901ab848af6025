// A format of other programs' weights, as a family describes it.
//
// A rule leads from the name of a variable to the name of a tensor. In the variable's name, {d} is a number, {l} are
// letters, and {n} at the end is a leaf of a batch norm. In the tensor's name, {1}, {2}, ... are these places as they
// are written, {1-} the same counted from 0 (1 -> 0, a -> 0), {1+} the next number, and {n} the format's name of the
// leaf.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/text.h"
#include "cnntrain/graph/model.h"

namespace cnntrain::nn {

inline constexpr std::size_t kKernelRank = 4;

struct NameRule {
    std::string_view own;
    std::string_view source;
};

/// Tensors of networks that this program does not have.
struct ForeignPart {
    std::string_view part;  // of a tensor's name
    std::string_view what;
};

enum class KernelOrder : std::uint8_t {
    oihw,  // PyTorch's: kernels [O,I,K,K], dense weights [O,I]
    hwio,  // as here; a depthwise kernel may be [K,K,C,1]
};

constexpr std::size_t index_of(TargetProgram program) {
    return static_cast<std::size_t>(program);
}

/// The program's names of networks with these tensors, the likeliest first; none: it has no such network.
using Architectures = std::vector<std::string> (*)(const NetworkSettings& network);

struct SourceFormat {
    std::string_view name;
    bool own = false;                     // names and layout are this program's
    std::vector<std::string_view> marks;  // every file has tensors of these names
    /// Maps prefixes of the file's names, up to the second point, to those that the rules have; null: names stay.
    std::map<std::string, std::string> (*prefixes)(const TensorDescs& tensors) = nullptr;
    KernelOrder kernels = KernelOrder::hwio;
    std::array<std::string_view, 4> norm_leaves{};  // of gamma, beta, moving mean, moving variance
    std::vector<NameRule> names = {};               // the first that fits decides
    std::vector<ForeignPart> foreign_parts = {};
    std::vector<std::string_view> ignored = {};  // ends of names of tensors without effect
    bool convolutions_have_biases = false;       // they are subtracted from the moving means after them
    std::string_view blue_first = {};            // the kernel of the first convolution, if it reads images as B, G, R
    /// The conventions of the source; `network.settings` has family, size and classes. Error(unsupported) for an
    /// architecture that computes otherwise.
    void (*complete)(SourceNetwork& network, const std::string& architecture) = nullptr;
    /// Names of architectures, indexed by TargetProgram, for the programs whose weights are written in this format;
    /// null: none.
    std::array<Architectures, enumerator_count<TargetProgram>()> architectures = {};
};

/// The shapes of a file's tensors, asked for by the names of variables.
class SourceShapes {
public:
    SourceShapes(const SourceFormat& format, const TensorDescs& tensors) : format_(format), tensors_(tensors) {}

    /// The shape of a variable's tensor, in the order of axes of this program; empty if there is no such tensor.
    std::optional<Shape> operator()(const std::string& own) const;
    bool has(const std::string& own) const { return (*this)(own).has_value(); }
    /// The same; Error(unsupported) unless the tensor is there with the rank.
    Shape expect(const std::string& own, std::size_t rank) const;
    /// "layer1.0.conv1.weight": what the file calls a variable, for messages.
    std::string name(const std::string& own) const;

private:
    const SourceFormat& format_;
    const TensorDescs& tensors_;
};

/// The name of a variable in the format; empty if no rule fits.
std::optional<std::string> source_name(const SourceFormat& format, const std::string& own);

/// Error(unsupported) for weights of networks that this program does not have, by names of their tensors. `has_format`:
/// a SourceFormat has these names; without one, all tensors are refused.
void refuse_other_networks(const TensorDescs& tensors, bool has_format);

/// "resnet50" of "resnet50.a1_in1k".
std::string_view base_architecture(std::string_view architecture);

/// Facts that follow from the tensors of a ResNet or ResNeXt.
struct ResidualFacts {
    NetworkForm form = NetworkForm::large_images;
    bool bottleneck = false;
    std::array<int, 4> units{};  // per stage; 0: no such stage
    std::int64_t stem_filters = 64;
    std::int64_t width = 64;   // of the 3x3 convolutions of stage 1
    std::int64_t groups = 1;   // of these
    std::int64_t classes = 0;  // 0: no last layer
    NormKind norm = NormKind::batch;
};
/// Empty without the tensors of a residual network.
std::optional<ResidualFacts> residual_facts(const SourceShapes& shapes);
/// Error(unsupported): the family has no size with these units.
[[noreturn]] void refuse_units(const ResidualFacts& facts, const SourceShapes& shapes);

/// Formats of ResNet and ResNeXt, and of EfficientNet.
const std::vector<SourceFormat>& residual_formats();
const std::vector<SourceFormat>& efficientnet_formats();

}  // namespace cnntrain::nn
