#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/foreign.h"
#include "weights/foreign/bytes.h"
#include "weights/foreign/pickle.h"

namespace cnntrain::weights {
namespace {

// Reads the tensors in the pickle of torch.save(): their storages, shapes and strides.

/// A run of numbers in the file. Tensors may share one.
struct TorchStorage {
    std::string key;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;  // in bytes; other than 0 for views of storages in old files

    bool operator==(const TorchStorage&) const = default;
};

struct TorchTensor {
    TensorDesc desc;
    TorchStorage storage;
    std::int64_t offset = 0;  // all in elements
    std::vector<std::int64_t> strides;
};

struct TorchPart {
    std::string path;
    std::map<std::string, TorchTensor> tensors;
    std::vector<LeftOut> left_out;
};

struct ElementType {
    std::string_view storage;  // class of storages, in the module torch
    std::string_view dtype;    // the same type as a dtype, in the module torch
    std::uint64_t bytes;
    std::optional<DType> type;  // empty: this program has none
};
constexpr ElementType kElementTypes[] = {
    {"DoubleStorage", "float64", 8, DType::f64},
    {"FloatStorage", "float32", 4, DType::f32},
    {"HalfStorage", "float16", 2, DType::f16},
    {"BFloat16Storage", "bfloat16", 2, DType::bf16},
    {"LongStorage", "int64", 8, DType::i64},
    {"IntStorage", "int32", 4, DType::i32},
    {"ShortStorage", "int16", 2, std::nullopt},
    {"CharStorage", "int8", 1, std::nullopt},
    {"ByteStorage", "uint8", 1, DType::u8},
    {"BoolStorage", "bool", 1, DType::u8},
    {"ComplexFloatStorage", "complex64", 8, std::nullopt},
    {"ComplexDoubleStorage", "complex128", 16, std::nullopt},
    {"UInt16Storage", "uint16", 2, std::nullopt},
    {"UInt32Storage", "uint32", 4, std::nullopt},
    {"UInt64Storage", "uint64", 8, std::nullopt},
    {"Float8_e4m3fnStorage", "float8_e4m3fn", 1, std::nullopt},
    {"Float8_e5m2Storage", "float8_e5m2", 1, std::nullopt},
};
constexpr std::string_view kTorch = "torch.";
/// Bytes without a type, which the call that makes the tensor gives.
constexpr std::string_view kUntyped = "torch.UntypedStorage torch.storage.UntypedStorage";
constexpr std::string_view kNamed =
    "torch._utils._rebuild_tensor torch._utils._rebuild_tensor_v2 torch._utils._rebuild_tensor_v3 "
    "torch._utils._rebuild_parameter torch._utils._rebuild_parameter_with_state torch._tensor._rebuild_from_type_v2 "
    "torch.nn.parameter.Parameter torch.nn.parameter.Buffer torch.Tensor";
constexpr std::string_view kDicts = "collections.OrderedDict collections.defaultdict builtins.dict __builtin__.dict";
/// Values that training programs keep beside the weights.
constexpr std::string_view kOpaque =
    "argparse.Namespace builtins.set __builtin__.set builtins.list builtins.int builtins.float builtins.complex "
    "builtins.bytearray collections.Counter _codecs.encode numpy.core.multiarray.scalar "
    "numpy._core.multiarray.scalar numpy.core.multiarray._reconstruct numpy._core.multiarray._reconstruct "
    "numpy.core.numeric._frombuffer numpy._core.numeric._frombuffer numpy.ndarray numpy.dtype pathlib.Path "
    "pathlib.PosixPath pathlib.WindowsPath datetime.datetime torch.device";

const ElementType* element_type(std::string_view name) {
    if (!name.starts_with(kTorch)) return nullptr;
    name.remove_prefix(kTorch.size());
    const auto* row = std::ranges::find_if(
        kElementTypes, [&](const ElementType& type) { return name == type.storage || name == type.dtype; });
    return row == std::end(kElementTypes) ? nullptr : row;
}

bool is_untyped(std::string_view storage_class) {
    return has_word(kUntyped, storage_class);
}

/// Keys of storages are numbers as texts. A long one is refused, because every tensor keeps its own: Error(data).
const std::string& storage_key(const Pickle& pickle, PickleId id, const std::string& file) {
    constexpr std::size_t kLongest = 128;
    const std::string& key = pickle.at(id).text;
    if (key.size() > kLongest) fail_damaged(file, "the key of a storage has " + std::to_string(key.size()) + " bytes");
    return key;
}

/// Bytes of an element of a storage class, "torch.FloatStorage"; 0: no storage class.
std::uint64_t torch_element_bytes(std::string_view storage_class) {
    if (is_untyped(storage_class)) return 1;
    const ElementType* type = element_type(storage_class);
    return type == nullptr ? 0 : type->bytes;
}

/// Dictionaries of tensors that programs write, in the order of preference.
constexpr std::string_view kWellKnown[] = {
    "state_dict", "model_state_dict", "model", "module", "net", "network", "weights", "params", "params_ema",
};

/// Reads values as tensors; errors name the file and the tensor.
class TensorReader {
public:
    TensorReader(const Pickle& pickle, const std::string& file) : pickle_(pickle), file_(file) {}

    /// Arguments of the call that makes the tensor, without Parameter and other classes around it. Null: no tensor.
    const std::vector<PickleId>* tensor_call(PickleId id) const {
        constexpr std::string_view kMakesTensor = "torch._utils._rebuild_tensor";
        constexpr int kMostWrappers = 4;
        for (int i = 0; i < kMostWrappers && pickle_.at(id).kind == PickleKind::call; ++i) {
            const std::string& callable = pickle_.at(pickle_.at(id).items[0]).text;
            const std::vector<PickleId>& given = pickle_.at(pickle_.at(id).items[1]).items;
            if (callable.starts_with(kMakesTensor)) return &given;
            if (callable == "torch._tensor._rebuild_from_type_v2" && given.size() >= 3) {
                const bool plain = pickle_.at(given[0]).text.starts_with(kMakesTensor);
                return plain ? &pickle_.at(given[2]).items : nullptr;
            }
            if (given.empty()) return nullptr;
            id = given[0];
        }
        return nullptr;
    }

    /// `given`: of tensor_call().
    void read(const std::string& name, const std::vector<PickleId>& given, TorchPart& into) {
        name_ = name;
        if (given.size() < 4) fail("lacks arguments");
        const auto [storage, storage_type] = storage_of(given[0]);
        const ElementType* type = given.size() > 6 ? named_type(given[6]) : nullptr;
        if (type == nullptr) type = storage_type;
        if (type == nullptr) fail("has no element type");
        if (!type->type) {
            into.left_out.push_back({name, "has elements of type " + std::string(type->dtype)});
            return;
        }
        TorchTensor tensor{{*type->type, shape_of(given[2])}, storage, number(given[1], "its offset"), {}};
        for (const PickleId stride : items_of(given[3], "its strides"))
            tensor.strides.push_back(number(stride, "a stride"));
        check_place(tensor);
        into.tensors.emplace(name, std::move(tensor));
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        fail_damaged(file_, "its tensor '" + shown_name(name_) + "' " + what);
    }

    const std::vector<PickleId>& items_of(PickleId id, std::string_view what) const {
        const PickleValue& value = pickle_.at(id);
        if (value.kind != PickleKind::tuple && value.kind != PickleKind::list)
            fail("is described wrongly: " + std::string(what) + " is no tuple");
        return value.items;
    }

    /// A number that is not negative.
    std::int64_t number(PickleId id, std::string_view what) const {
        const PickleValue& value = pickle_.at(id);
        if (value.kind != PickleKind::integer || value.number < 0)
            fail("is described wrongly: " + std::string(what) + " is impossible");
        return value.number;
    }

    Shape shape_of(PickleId id) const {
        Shape shape;
        const std::vector<PickleId>& lengths = items_of(id, "its shape");
        constexpr std::size_t kMostAxes = 64;
        if (lengths.size() > kMostAxes) fail("has more than 64 axes");
        for (const PickleId length : lengths) {
            if (!add_length(shape, static_cast<std::uint64_t>(number(length, "a length")))) fail("is too large");
        }
        return shape;
    }

    const ElementType* named_type(PickleId id) const {
        const PickleValue& value = pickle_.at(id);
        return value.kind == PickleKind::global ? element_type(value.text) : nullptr;
    }

    /// ("storage", class, key, device, elements) and, in old files, (key of the view, offset, elements) or None.
    std::pair<TorchStorage, const ElementType*> storage_of(PickleId id) const {
        const PickleValue& value = pickle_.at(id);
        if (value.kind != PickleKind::persistent) fail("has no storage");
        const std::vector<PickleId>& words = items_of(value.items[0], "its storage");
        if (words.size() < 5 || pickle_.at(words[0]).text != "storage") fail("has a storage of an unknown form");
        const PickleValue& storage_class = pickle_.at(words[1]);
        const PickleValue& key = pickle_.at(words[2]);
        const bool sound = storage_class.kind == PickleKind::global && key.kind == PickleKind::text;
        const std::uint64_t bytes = sound ? torch_element_bytes(storage_class.text) : 0;
        if (bytes == 0) fail("has a storage of an unknown class");
        const auto in_bytes = [&](PickleId count, std::string_view what) {
            const auto result = product(number(count, what), static_cast<std::int64_t>(bytes));
            if (!result) fail("is too large");
            return static_cast<std::uint64_t>(*result);
        };
        TorchStorage storage{storage_key(pickle_, words[2], file_), in_bytes(words[4], "its storage's size")};
        if (words.size() > 5 && pickle_.at(words[5]).kind != PickleKind::none) {
            const std::vector<PickleId>& view = items_of(words[5], "its storage's view");
            if (view.size() != 3) fail("has a storage's view of an unknown form");
            storage.begin = in_bytes(view[1], "its storage's view");
            const std::uint64_t size = in_bytes(view[2], "its storage's view");
            if (storage.begin > storage.bytes || size > storage.bytes - storage.begin)
                fail("has a view beyond its storage");
        }
        return {storage, is_untyped(storage_class.text) ? nullptr : element_type(storage_class.text)};
    }

    /// All elements lie in the storage.
    void check_place(const TorchTensor& tensor) const {
        if (tensor.strides.size() != tensor.desc.shape.size()) fail("has another number of strides than of lengths");
        if (tensor.desc.elements() == 0) return;
        std::optional<std::int64_t> last = tensor.offset;
        for (std::size_t axis = 0; last && axis < tensor.strides.size(); ++axis) {
            const auto way = product(tensor.desc.shape[axis] - 1, tensor.strides[axis]);
            std::int64_t sum = 0;
            last = !way || __builtin_add_overflow(*last, *way, &sum) ? std::nullopt : std::optional(sum);
        }
        const std::uint64_t room = (tensor.storage.bytes - tensor.storage.begin) / size_bytes(tensor.desc.dtype);
        if (!last || static_cast<std::uint64_t>(*last) >= room) fail("has elements beyond its storage");
    }

    const Pickle& pickle_;
    const std::string& file_;
    std::string name_;  // of the tensor that is read
};

/// Visits every dictionary once, by the texts that are its keys.
class PartFinder {
public:
    PartFinder(const Pickle& pickle, const InputFile& file)
        : pickle_(pickle), reader_(pickle, file.path()), paths_(file.path(), file.size_bytes()) {}

    /// The paths of all dictionaries that hold tensors themselves.
    std::vector<std::pair<std::string, PickleId>> find() {
        visit(pickle_.root_id(), "", 0);
        return std::move(found_);
    }

    TorchPart read(const std::string& path, PickleId id) {
        TorchPart part{path, {}, {}};
        std::set<PickleId> keys;  // one long key may stand in front of many values
        std::set<std::string_view> seen;
        const std::vector<PickleId>& items = pickle_.at(id).items;
        for (std::size_t i = items.size(); i > 1; i -= 2) {  // the last of two equal keys counts
            const PickleValue& key = pickle_.at(items[i - 2]);
            if (key.kind != PickleKind::text || !keys.insert(items[i - 2]).second || !seen.insert(key.text).second)
                continue;
            const std::vector<PickleId>* call = reader_.tensor_call(items[i - 1]);
            if (call != nullptr) {
                reader_.read(key.text, *call, part);
            } else if (pickle_.at(items[i - 1]).kind != PickleKind::dict) {
                part.left_out.push_back({key.text, "is no tensor"});
            }
        }
        std::ranges::reverse(part.left_out);
        return part;
    }

private:
    void visit(PickleId id, const std::string& path, int depth) {
        constexpr int kDeepest = 8;
        constexpr std::size_t kLongestPath = 1024;
        const PickleValue& value = pickle_.at(id);
        if (depth > kDeepest) return;
        if (value.kind != PickleKind::dict || !visited_.insert(id).second) return;
        bool holds_tensors = false;
        for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
            const PickleValue& key = pickle_.at(value.items[i]);
            if (key.kind != PickleKind::text) continue;
            holds_tensors = holds_tensors || reader_.tensor_call(value.items[i + 1]) != nullptr;
        }
        if (holds_tensors) {
            paths_.spend(path.size());
            found_.emplace_back(path, id);
        }
        for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
            const PickleValue& key = pickle_.at(value.items[i]);
            if (key.kind != PickleKind::text || key.text.starts_with("optim")) continue;
            if (path.size() + key.text.size() >= kLongestPath || visited_.contains(value.items[i + 1])) continue;
            visit(value.items[i + 1], path.empty() ? key.text : path + "." + key.text, depth + 1);
        }
    }

    const Pickle& pickle_;
    TensorReader reader_;
    NameBudget paths_;
    std::set<PickleId> visited_;
    std::vector<std::pair<std::string, PickleId>> found_;
};

/// The index of the part to take; empty: several could be meant.
std::optional<std::size_t> chosen(const std::vector<std::string>& paths, const std::string& wanted) {
    const auto place_of = [&](std::string_view path) -> std::optional<std::size_t> {
        const auto found = std::ranges::find(paths, path);
        if (found == paths.end()) return std::nullopt;
        return static_cast<std::size_t>(found - paths.begin());
    };
    if (!wanted.empty()) return place_of(wanted);
    if (paths.size() == 1) return 0;
    for (const std::string_view known : kWellKnown) {
        if (const auto place = place_of(known)) return place;
    }
    return place_of("");
}

/// The globals of Python that files of weights name.
PickleGlobal known_torch_global(std::string_view name) {
    if (element_type(name) != nullptr || is_untyped(name) || has_word(kNamed, name)) return PickleGlobal::named;
    if (name == "torch.Size") return PickleGlobal::tuple;
    if (has_word(kDicts, name)) return PickleGlobal::dict;
    return has_word(kOpaque, name) ? PickleGlobal::opaque : PickleGlobal::refused;
}

/// The dictionary of tensors named `part`, or the one that foreign.h describes. `others` gets the paths of the others.
TorchPart find_torch_part(const Pickle& pickle, const InputFile& input, const std::string& part,
                          std::vector<std::string>& others) {
    const std::string& file = input.path();
    PartFinder finder(pickle, input);
    const auto found = finder.find();
    std::vector<std::string> paths;
    paths.reserve(found.size());
    for (const auto& [path, id] : found)
        paths.push_back(path);
    if (paths.empty()) fail_unsupported(file, "it holds no dictionary of tensors by name, as a state_dict is");
    const std::optional<std::size_t> place = chosen(paths, part);
    if (!place) {
        std::vector<std::string> names;
        names.reserve(paths.size());
        for (const std::string& path : paths)
            names.push_back(path.empty() ? "its outermost one" : "'" + path + "'");
        throw Error(ErrorKind::usage, "'" + file + "': " +
                                          (part.empty() ? "several dictionaries of tensors are in it"
                                                        : "no dictionary of tensors '" + part + "' is in it") +
                                          ": " + listed(names) +
                                          "; cnntrain convert --from FILE --part NAME --to FILE takes one");
    }
    for (std::size_t i = 0; i < paths.size(); ++i)
        if (i != *place) others.push_back(paths[i]);
    return finder.read(paths[*place], found[*place].second);
}

/// Storages by key, and a check of each that is made before its first use.
struct Storages {
    std::shared_ptr<const InputFile> file;
    std::map<std::string, FileSlice> slices;
    std::function<void(const std::string& key)> check = {};
    std::set<std::string> checked = {};
};

/// Copies a tensor whose elements are apart. `from` begins with its first element.
void gather(const TorchTensor& tensor, std::span<const std::byte> from, std::span<std::byte> to) {
    const std::size_t size = size_bytes(tensor.desc.dtype);
    const Shape& shape = tensor.desc.shape;
    std::vector<std::int64_t> index(shape.size(), 0);
    std::int64_t at = 0;
    for (std::size_t out = 0; out < to.size(); out += size) {
        std::memcpy(to.data() + out, from.data() + static_cast<std::size_t>(at) * size, size);
        for (std::size_t axis = shape.size(); axis > 0;) {
            --axis;
            at += tensor.strides[axis];
            if (++index[axis] < shape[axis]) break;
            at -= tensor.strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
}

bool is_contiguous(const TorchTensor& tensor) {
    std::int64_t stride = 1;
    for (std::size_t axis = tensor.strides.size(); axis > 0;) {
        --axis;
        const std::int64_t length = tensor.desc.shape[axis];
        if (length != 1 && tensor.strides[axis] != stride) return false;
        stride *= length;
    }
    return true;
}

HostTensor read_tensor(const TorchTensor& tensor, Storages& storages) {
    HostTensor result(tensor.desc);
    if (result.elements() == 0) return result;
    const std::string& key = tensor.storage.key;
    if (storages.check && storages.checked.insert(key).second) storages.check(key);
    const FileSlice& slice = storages.slices.at(key);
    const std::uint64_t size = size_bytes(tensor.desc.dtype);
    const std::uint64_t begin = tensor.storage.begin + static_cast<std::uint64_t>(tensor.offset) * size;
    if (is_contiguous(tensor)) {
        slice.read_into(begin, result.bytes(), "a tensor");
        return result;
    }
    std::uint64_t elements = 1;  // from the first to the last
    for (std::size_t axis = 0; axis < tensor.strides.size(); ++axis)
        elements += static_cast<std::uint64_t>((tensor.desc.shape[axis] - 1) * tensor.strides[axis]);
    gather(tensor, slice.read(begin, elements * size, "a tensor"), result.bytes());
    return result;
}

/// Error(data) unless every storage has the size that the pickle says.
void check_sizes(const TorchPart& part, const Storages& storages) {
    for (const auto& [name, tensor] : part.tensors) {
        const auto found = storages.slices.find(tensor.storage.key);
        const std::string& path = storages.file->path();
        if (found == storages.slices.end()) {
            fail_damaged(
                path, "the storage '" + tensor.storage.key + "' of its tensor '" + shown_name(name) + "' is missing");
        }
        if (found->second.size() != tensor.storage.bytes) {
            fail_damaged(path, "the storage of its tensor '" + shown_name(name) + "' has " +
                                   std::to_string(found->second.size()) + " bytes and not " +
                                   std::to_string(tensor.storage.bytes));
        }
    }
}

ForeignContent content_of(TorchPart part, std::vector<std::string> others, Storages storages) {
    check_sizes(part, storages);
    ForeignContent content;
    content.stored_bytes = storages.file->size_bytes();
    ForeignFile& file = content.file;
    file.format = ForeignFormat::torch;
    file.part = part.path;
    file.other_parts = std::move(others);
    file.left_out = std::move(part.left_out);
    for (const auto& [name, tensor] : part.tensors)
        file.tensors.descs.emplace(name, tensor.desc);
    file.tensors.tensor = [tensors = std::move(part.tensors), shared = std::make_shared<Storages>(std::move(storages))](
                              const std::string& name) { return read_tensor(tensors.at(name), *shared); };
    return content;
}

/// The folder of the archive's entries, with a slash: that of data.pkl.
std::string archive_folder(const ZipArchive& archive, const std::string& path) {
    constexpr std::string_view kPickleEntry = "/data.pkl";
    for (const std::string& name : archive.names()) {
        if (!name.ends_with(kPickleEntry)) continue;
        std::string folder = name.substr(0, name.size() - kPickleEntry.size() + 1);
        if (archive.contains(folder + "constants.pkl"))
            fail_unsupported(path, "it is a TorchScript program; save the state_dict of its model instead");
        return folder;
    }
    fail_unsupported(path, "it is a zip archive without PyTorch's data.pkl");
}

void check_byte_order(const ZipArchive& archive, const std::string& folder, const std::string& path) {
    const auto found = archive.entries().find(folder + "byteorder");
    if (found == archive.entries().end()) return;  // before PyTorch 2.1: little-endian
    constexpr std::uint64_t kLongestOrder = 16;
    const std::vector<std::byte> bytes = found->second.content.read_up_to(0, kLongestOrder);
    if (text_of(bytes) != "little")
        fail_unsupported(path, "its byte order is '" + std::string(text_of(bytes)) + "', not little");
}

constexpr std::uint64_t kMostPickleBytes = std::uint64_t{1} << 28;

// ---- before version 1.6 ----

/// {"protocol_version": 1001, "little_endian": True, ...}
void check_system(const Pickle& system, const std::string& path) {
    const std::vector<PickleId>& items = system.root().items;
    for (std::size_t i = 0; system.root().kind == PickleKind::dict && i + 1 < items.size(); i += 2) {
        if (system.at(items[i]).text != "little_endian") continue;
        if (system.at(items[i + 1]).number == 0) fail_unsupported(path, "its byte order is big, not little");
        return;
    }
    fail_damaged(path, "it does not say its byte order");
}

/// Sizes of storages in bytes an element, by key.
std::map<std::string, std::uint64_t> element_bytes(const Pickle& pickle, const std::string& path) {
    std::map<std::string, std::uint64_t> result;
    for (PickleId id = 0; id < pickle.size(); ++id) {
        if (pickle.at(id).kind != PickleKind::persistent) continue;
        const std::vector<PickleId>& words = pickle.at(pickle.at(id).items[0]).items;
        if (words.size() < 3) continue;
        const std::uint64_t bytes = torch_element_bytes(pickle.at(words[1]).text);
        if (bytes != 0) result.emplace(storage_key(pickle, words[2], path), bytes);
    }
    return result;
}

/// Finds the storages, which follow the pickles: for every key of the list, the number of elements and the elements.
void find_storages(const Pickle& keys, const std::map<std::string, std::uint64_t>& sizes, std::uint64_t begin,
                   Storages& storages) {
    const FileSlice file(*storages.file);
    const std::string& path = file.path();
    if (keys.root().kind != PickleKind::list) fail_damaged(path, "it does not list its storages");
    for (const PickleId id : keys.root().items) {
        const std::string& key = storage_key(keys, id, path);
        const auto size = sizes.find(key);
        if (size == sizes.end()) fail_damaged(path, "it has a storage '" + key + "' that no tensor uses");
        const std::vector<std::byte> bytes = file.read(begin, 8, "the length of a storage");
        const std::uint64_t elements = ByteCursor(bytes, path).u64();
        if (elements > file.size() / size->second) fail_damaged(path, "its storage '" + key + "' is cut short");
        const FileSlice slice = file.part(begin + 8, elements * size->second, "its storage '" + key + "'");
        if (!storages.slices.emplace(key, slice).second) fail_damaged(path, "it has two storages '" + key + "'");
        begin += 8 + slice.size();
    }
}

}  // namespace

ForeignContent open_torch_zip(std::shared_ptr<const InputFile> file, const std::string& part) {
    const std::string& path = file->path();
    const auto archive = std::make_shared<const ZipArchive>(FileSlice(*file));
    const std::string folder = archive_folder(*archive, path);
    check_byte_order(*archive, folder, path);
    const std::string pickle_name = folder + "data.pkl";
    archive->check(pickle_name);
    const FileSlice& slice = archive->entry(pickle_name).content;
    if (slice.size() > kMostPickleBytes) fail_unsupported(path, "its data.pkl is larger than 256 MB");
    const std::vector<std::byte> bytes = slice.read(0, slice.size(), "data.pkl");
    const std::string where = path + ": " + pickle_name;
    ByteCursor cursor(bytes, where);
    const Pickle pickle(cursor, known_torch_global);
    std::vector<std::string> others;
    TorchPart found = find_torch_part(pickle, *file, part, others);

    Storages storages{std::move(file), {}};
    const std::string prefix = folder + "data/";
    for (const auto& [name, entry] : archive->entries()) {
        if (name.starts_with(prefix)) storages.slices.emplace(name.substr(prefix.size()), entry.content);
    }
    for (const auto& [name, tensor] : found.tensors) {
        // Says so if the storage is compressed.
        if (!storages.slices.contains(tensor.storage.key)) archive->entry(prefix + tensor.storage.key);
    }
    storages.check = [archive, prefix](const std::string& key) { archive->check(prefix + key); };
    return content_of(std::move(found), std::move(others), std::move(storages));
}

ForeignContent open_torch_legacy(const std::shared_ptr<const InputFile>& file, const std::string& part) {
    // The pickles stand in front, and their length is not said.
    const std::vector<std::byte> bytes = FileSlice(*file).read_up_to(0, kMostPickleBytes);
    ByteCursor cursor(bytes, file->path());
    cursor.skip(kTorchLegacy.size());
    if (cursor.u8() != '.') cursor.fail("its mark is too long");
    const Pickle version(cursor, known_torch_global);
    constexpr std::int64_t kVersion = 1001;
    if (version.root().number != kVersion) fail_unsupported(file->path(), "it has another version than 1001");
    check_system(Pickle(cursor, known_torch_global), file->path());
    const Pickle pickle(cursor, known_torch_global);
    const Pickle keys(cursor, known_torch_global);
    std::vector<std::string> others;
    TorchPart found = find_torch_part(pickle, *file, part, others);
    Storages storages{file, {}};
    find_storages(keys, element_bytes(pickle, file->path()), cursor.position(), storages);
    return content_of(std::move(found), std::move(others), std::move(storages));
}

}  // namespace cnntrain::weights
