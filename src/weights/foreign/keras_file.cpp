#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "weights/foreign/bytes.h"
#include "weights/foreign/hdf5.h"

namespace cnntrain::weights {
namespace {

constexpr std::string_view kModelWeights = "model_weights/";  // in files of whole models
constexpr std::string_view kOptimizers[] = {"optimizer_weights/", "optimizer/"};

std::optional<DType> keras_element_type(const Hdf5Type& type, const std::map<std::string, std::string>& texts) {
    using Kind = Hdf5Type::Kind;
    if (type.big_endian || !type.is_plain) return std::nullopt;
    if (type.kind == Kind::real && type.bytes == 8 && type.exponent_bits == 11) return DType::f64;
    if (type.kind == Kind::real && type.bytes == 4 && type.exponent_bits == 8) return DType::f32;
    if (type.kind == Kind::real && type.bytes == 2 && type.exponent_bits == 5) return DType::f16;
    if (type.kind == Kind::real && type.bytes == 2 && type.exponent_bits == 8) return DType::bf16;
    if (type.kind == Kind::integer && type.bytes == 8 && type.is_signed) return DType::i64;
    if (type.kind == Kind::integer && type.bytes == 4 && type.is_signed) return DType::i32;
    if (type.kind == Kind::integer && type.bytes == 1 && !type.is_signed) return DType::u8;
    // HDF5 has no bfloat16: Keras writes its bytes.
    const auto dtype = texts.find("dtype");
    const bool says_bfloat16 = dtype != texts.end() && dtype->second == "bfloat16";
    if (says_bfloat16 && type.bytes == 2 && (type.kind == Kind::opaque || type.kind == Kind::integer))
        return DType::bf16;
    return std::nullopt;
}

std::string type_text(const Hdf5Type& type) {
    return (type.big_endian ? "big-endian " : "") + std::string(type.name) + " of " + std::to_string(type.bytes) +
           " bytes" + (type.is_plain ? "" : " in an unusual layout");
}

struct KerasPlace {
    TensorDesc desc;
    std::uint64_t begin = 0;
};

/// A group or data set with its content.
struct KerasNode {
    Hdf5Object object;
    std::map<std::string, KerasNode> members;
};

/// Variables of Keras 3's layers in their order. Files of it have numbers instead of names.
struct LayerRow {
    std::string_view layer;  // the class's name, as Keras names groups
    std::vector<std::string_view> variables;
};
const std::vector<LayerRow>& layer_rows() {
    static const std::vector<LayerRow> rows = {
        {"conv1d", {"kernel", "bias"}},
        {"conv2d", {"kernel", "bias"}},
        {"conv3d", {"kernel", "bias"}},
        {"depthwise_conv2d", {"kernel", "bias"}},
        {"separable_conv2d", {"depthwise_kernel", "pointwise_kernel", "bias"}},
        {"dense", {"kernel", "bias"}},
        {"embedding", {"embeddings"}},
        {"layer_normalization", {"gamma", "beta"}},
        {"group_normalization", {"gamma", "beta"}},
        {"batch_normalization", {"gamma", "beta", "moving_mean", "moving_variance"}},
        {"normalization", {"mean", "variance", "count"}},
    };
    return rows;
}

/// "conv2d_3" -> "conv2d"
std::string_view without_number(std::string_view group) {
    const std::size_t end = group.find_last_not_of("0123456789");
    const bool numbered = end != std::string_view::npos && end + 1 < group.size() && group[end] == '_';
    return numbered ? group.substr(0, end) : group;
}

/// The name of variable `number` of `count`, or the number. Only biases may be missing without moving the others.
std::string variable_name(std::string_view group, const std::string& number, std::size_t count) {
    const auto row = std::ranges::find(layer_rows(), without_number(group), &LayerRow::layer);
    if (row == layer_rows().end()) return number;
    const bool may_lack_bias = row->variables.back() == "bias" && count + 1 == row->variables.size();
    if (count != row->variables.size() && !may_lack_bias) return number;
    for (std::size_t i = 0; i < count; ++i)
        if (std::to_string(i) == number) return std::string(row->variables[i]);
    return number;
}

/// "conv1/kernel" of "model_weights/conv1/model/conv1/kernel:0": the layer is the first group, and variables have paths
/// below it that repeat it.
std::string legacy_name(std::string path) {
    if (path.starts_with(kModelWeights)) path.erase(0, kModelWeights.size());
    if (path.ends_with(":0")) path.resize(path.size() - 2);
    const std::string layer = "/" + path.substr(0, path.find('/')) + "/";
    const std::size_t repeated = path.find(layer);
    return repeated == std::string::npos ? path : path.substr(repeated + 1);
}

/// All data sets of a file, by path and by layer.
class KerasWalk {
public:
    explicit KerasWalk(FileSlice bytes) : file_(bytes), paths_(bytes.path(), bytes.size()) {
        KerasNode root;
        read(file_.root(), "", 0, root);
        collect(root, "", "", "");
    }

    /// The data sets, named by layers if this distinguishes all of them; else by paths.
    ForeignFile content(std::map<std::string, KerasPlace>& places) {
        std::set<std::string> named;
        for (const Found& one : found_)
            named.insert(one.name);
        const bool by_layers = named.size() == found_.size();
        ForeignFile file;
        file.format = ForeignFormat::keras;
        file.left_out = std::move(second_names_);
        for (const Found& one : found_)
            add(one, by_layers ? one.name : one.path, file, places);
        return file;
    }

private:
    struct Found {
        std::string path;
        std::string name;
        Hdf5Dataset dataset;
        std::map<std::string, std::string> texts;
    };

    static std::string below(const std::string& path, const std::string& member) {
        return path.empty() ? member : path + "/" + member;
    }

    void read(std::uint64_t address, const std::string& path, int depth, KerasNode& into) {
        constexpr int kDeepest = 32;
        constexpr std::size_t kLongestPath = 4096;
        if (depth > kDeepest || path.size() > kLongestPath)
            fail_damaged(file_.bytes().path(), "its groups are nested too deeply");
        paths_.spend(path.size());
        if (!visited_.insert(address).second) {
            second_names_.push_back({path, "is a second name of an object"});
            return;
        }
        into.object = file_.object(address);
        if (into.object.dataset) return;
        for (const auto& [member, at] : into.object.members)
            read(at, below(path, member), depth + 1, into.members[member]);
    }

    /// Keras 3 names the group of a layer after its class, and its group "vars" says the layer's own name.
    static std::string layer_name(const std::string& group, const KerasNode& node) {
        const auto variables = node.members.find("vars");
        if (variables == node.members.end()) return group;
        const auto own = variables->second.object.texts.find("name");
        const bool usable = own != variables->second.object.texts.end() && !own->second.empty() &&
                            own->second.find('/') == std::string::npos;
        return usable ? own->second : group;
    }

    /// `layers`: names of the layers around the node. `group`: the group that contains it.
    void collect(const KerasNode& node, const std::string& path, const std::string& layers, const std::string& group) {
        for (const auto& [member, child] : node.members) {
            const std::string child_path = below(path, member);
            if (member == "vars") {
                for (const auto& [number, variable] : child.members) {
                    found(variable, below(child_path, number),
                          below(layers, variable_name(group, number, child.members.size())));
                }
            } else if (child.object.dataset) {
                found(child, child_path, legacy_name(child_path));
            } else {
                const bool is_list = member == "layers";
                collect(child, child_path, is_list ? layers : below(layers, layer_name(member, child)), member);
            }
        }
    }

    void found(const KerasNode& node, const std::string& path, const std::string& name) {
        if (node.object.dataset) found_.push_back({path, name, *node.object.dataset, node.object.texts});
    }

    void add(const Found& one, const std::string& name, ForeignFile& file,
             std::map<std::string, KerasPlace>& places) const {
        for (const std::string_view optimizer : kOptimizers) {
            if (!one.path.starts_with(optimizer)) continue;
            file.left_out.push_back({one.path, "is state of the optimiser"});
            return;
        }
        const Hdf5Dataset& dataset = one.dataset;
        const std::optional<DType> type = keras_element_type(dataset.type, one.texts);
        if (!dataset.refused.empty()) {
            file.left_out.push_back({name, dataset.refused});
        } else if (!type) {
            file.left_out.push_back({name, "has " + type_text(dataset.type)});
        } else {
            const TensorDesc desc{*type, dataset.shape};
            if (desc.elements() > 0 && desc.bytes() != dataset.bytes) {
                fail_damaged(file_.bytes().path(), "its data set '" + one.path + "' is " + to_string(desc) +
                                                       " and has " + std::to_string(dataset.bytes) + " bytes");
            }
            file.tensors.descs.emplace(name, desc);
            places.emplace(name, KerasPlace{desc, dataset.begin});
        }
    }

    Hdf5File file_;
    NameBudget paths_;
    std::set<std::uint64_t> visited_;
    std::vector<LeftOut> second_names_;
    std::vector<Found> found_;
};

ForeignContent keras_content(std::shared_ptr<const InputFile> file, FileSlice bytes) {
    std::map<std::string, KerasPlace> places;
    ForeignContent content{KerasWalk(bytes).content(places), bytes.size()};
    if (content.file.tensors.descs.empty()) {
        const std::vector<LeftOut>& left_out = content.file.left_out;
        const std::string first = left_out.empty() ? "" : ": '" + left_out[0].name + "' " + left_out[0].reason;
        fail_unsupported(file->path(), "no data set of it can be read as weights" + first);
    }
    content.file.tensors.tensor = [file = std::move(file), bytes, places = std::move(places)](const std::string& name) {
        const KerasPlace& place = places.at(name);
        HostTensor tensor(place.desc);
        if (tensor.elements() > 0) bytes.read_into(place.begin, tensor.bytes(), "a data set");
        return tensor;
    };
    return content;
}

}  // namespace

ForeignContent open_hdf5(std::shared_ptr<const InputFile> file) {
    const FileSlice bytes(*file);
    return keras_content(std::move(file), bytes);
}

ForeignContent open_keras_zip(std::shared_ptr<const InputFile> file) {
    const ZipArchive archive{FileSlice(*file)};
    archive.check(kKerasWeights);
    const FileSlice bytes = archive.entry(kKerasWeights).content;
    if (text_of(bytes.read_up_to(0, kHdf5.size())) != kHdf5)
        fail_damaged(file->path(), "its model.weights.h5 is no HDF5 file");
    return keras_content(std::move(file), bytes);
}

}  // namespace cnntrain::weights
