#include <algorithm>
#include <bit>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"
#include "cnntrain/weights/hugging_face.h"
#include "weights/format.h"

namespace cnntrain::weights {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they stand in memory");

constexpr std::size_t kDataAlignment = 64;  // of the first tensor within the file

std::string_view format_name(DType type) {
    const auto* found = std::ranges::find(kDTypeNames, type, &DTypeName::type);
    CNNTRAIN_CHECK(found != std::end(kDTypeNames), "unknown element type");
    return found->name;
}

/// Gaps are not allowed, so wide elements come first: every tensor is then aligned to its own element.
std::vector<std::string> file_order(const std::map<std::string, TensorDesc>& descs) {
    std::vector<std::string> order;
    order.reserve(descs.size());
    for (const auto& [name, desc] : descs)
        order.push_back(name);
    std::ranges::stable_sort(order, std::greater(),
                             [&](const std::string& name) { return size_bytes(descs.at(name).dtype); });
    return order;
}

nlohmann::ordered_json metadata_of(const Checkpoint& checkpoint, std::uint32_t crc) {
    nlohmann::ordered_json metadata;
    metadata[kHeaderCrc] = kNoDigits;
    metadata[kTensorsCrc] = hex_text(crc);
    if (checkpoint.iteration >= 0) metadata[kIteration] = std::to_string(checkpoint.iteration);
    metadata[kEpoch] = nlohmann::json(checkpoint.epoch).dump();
    for (const auto& [key, value] : checkpoint.metadata) {
        const bool reserved = metadata.contains(key) || key == kIteration || key == kEarlyTensorsCrc;
        CNNTRAIN_CHECK(!reserved, "checkpoint metadata key '" + key + "' is reserved");
        metadata[key] = value;
    }
    return metadata;
}

std::string header_of(const Checkpoint& checkpoint, const TensorSource& tensors,
                      const std::vector<std::string>& order) {
    std::uint32_t crc = 0;
    for (const std::string& name : order)
        crc = crc32c(tensors.tensor(name).bytes(), crc);

    nlohmann::ordered_json header;
    header[kMetadata] = metadata_of(checkpoint, crc);
    std::uint64_t offset = 0;
    for (const std::string& name : order) {
        CNNTRAIN_CHECK(name != kMetadata, "a tensor has a reserved name");
        const TensorDesc& desc = tensors.descs.at(name);
        const std::uint64_t end = offset + desc.bytes();
        header[name] = {{"dtype", format_name(desc.dtype)}, {"shape", desc.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::size_t length = kLengthBytes + text.size();
    text.append((kDataAlignment - length % kDataAlignment) % kDataAlignment, ' ');
    CNNTRAIN_CHECK(text.starts_with(kHeaderBegin), "the header's checksum is not at its place");
    return text.replace(kHeaderBegin.size(), kNoDigits.size(), hex_text(crc32c(std::as_bytes(std::span(text)))));
}

constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 24;

/// Stores the config.json beside the file in the metadata.
void add_config(const FileSystem& files, const std::string& path, Checkpoint& checkpoint) {
    const std::string config = path.substr(0, path.size() - last_part(path).size()) + kConfigFile;
    if (!exists(files, config)) return;
    checkpoint.metadata[kConfigKey] = to_json(parse_bert_config(read_text(files, config, kMostConfigBytes), config));
}

}  // namespace

TensorSource source_of(const std::map<std::string, HostTensor>& tensors) {
    TensorSource source;
    for (const auto& [name, tensor] : tensors)
        source.descs.emplace(name, tensor.desc());
    source.tensor = [&tensors](const std::string& name) { return tensors.at(name); };
    return source;
}

TensorSource in_f32(TensorSource source) {
    std::set<std::string> widened;
    for (auto& [name, desc] : source.descs) {
        if (desc.dtype != DType::bf16 && desc.dtype != DType::f16) continue;
        desc.dtype = DType::f32;
        widened.insert(name);
    }
    source.tensor = [stored = std::move(source.tensor), widened = std::move(widened)](const std::string& name) {
        return widened.contains(name) ? stored(name).cast(DType::f32) : stored(name);
    };
    return source;
}

void save(FileSystem& files, const std::string& path, const Checkpoint& checkpoint) {
    save(files, path, checkpoint, source_of(checkpoint.tensors));
}

void save(FileSystem& files, const std::string& path, const Checkpoint& checkpoint, const TensorSource& tensors) {
    const std::vector<std::string> order = file_order(tensors.descs);
    const std::string header = header_of(checkpoint, tensors, order);
    const std::uint64_t length = header.size();

    const auto file = files.create(path);
    file->write(std::as_bytes(std::span(&length, 1)));
    file->write(std::as_bytes(std::span(header)));
    for (const std::string& name : order)
        file->write(tensors.tensor(name).bytes());
    file->commit();
}

namespace {

/// A safetensors file.
Checkpoint load_own(const FileSystem& files, const std::string& path, Edited edited) {
    const CheckpointFile file(files, path, edited);
    file.check_memory();
    Checkpoint checkpoint;
    checkpoint.iteration = file.iteration();
    checkpoint.epoch = file.epoch();
    checkpoint.metadata = file.metadata();
    std::uint32_t crc = 0;
    for (const std::string& name : file.names()) {
        HostTensor tensor = file.read(name);
        crc = crc32c(tensor.bytes(), crc);
        checkpoint.tensors.emplace(name, std::move(tensor));
    }
    file.check_crc(crc);
    return checkpoint;
}

}  // namespace

Checkpoint load(const FileSystem& files, const std::string& path, Edited edited) {
    Checkpoint checkpoint = foreign_format(files, path) ? load_foreign(files, path) : load_own(files, path, edited);
    take_wrapper_away(checkpoint.tensors);
    if (is_hugging_face(checkpoint)) add_config(files, path, checkpoint);
    return checkpoint;
}

void match(const std::map<std::string, TensorDesc>& expected, const Checkpoint& checkpoint, const std::string& path) {
    std::vector<std::string> differences;
    for (const auto& [name, desc] : expected) {
        const auto found = checkpoint.tensors.find(name);
        if (found == checkpoint.tensors.end()) {
            differences.push_back("missing: " + name + " " + to_string(desc.shape));
        } else if (found->second.shape() != desc.shape) {
            differences.push_back("differs: " + name + " is " + to_string(found->second.shape()) +
                                  ", the model needs " + to_string(desc.shape));
        } else if (is_float(desc.dtype) && !is_float(found->second.dtype())) {
            differences.push_back("differs: " + name + " has elements of type " +
                                  std::string(cnntrain::name(found->second.dtype())) + ", the model needs floats");
        }
    }
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (!expected.contains(name)) differences.push_back("extra:   " + name + " " + to_string(tensor.shape()));
    }
    if (differences.empty()) return;
    constexpr std::size_t kShown = 40;  // another width of BERT changes hundreds of them
    std::string list;
    for (std::size_t i = 0; i < std::min(kShown, differences.size()); ++i)
        list += "\n  " + differences[i];
    if (differences.size() > kShown) list += "\n  and " + std::to_string(differences.size() - kShown) + " more";
    throw Error(ErrorKind::data, "checkpoint '" + path +
                                     "' does not fit the model; give the model flags that it was trained with, or "
                                     "another checkpoint. Tensors:" +
                                     list);
}

}  // namespace cnntrain::weights
