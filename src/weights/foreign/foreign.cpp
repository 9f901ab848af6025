#include "cnntrain/weights/foreign.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "weights/foreign/bytes.h"
#include "weights/format.h"

namespace cnntrain::weights {
namespace {

constexpr std::string_view kZip("PK\x03\x04", 4);
constexpr std::string_view kPickle("\x80", 1);  // of protocol 2 and above

enum class Container { none, torch_zip, torch_legacy, hdf5, keras_zip, tensorflow };

struct FormatRow {
    Container container;
    ForeignFormat format;
};
constexpr FormatRow kFormats[] = {
    {Container::torch_zip, ForeignFormat::torch},
    {Container::torch_legacy, ForeignFormat::torch},
    {Container::hdf5, ForeignFormat::keras},
    {Container::keras_zip, ForeignFormat::keras},
    {Container::tensorflow, ForeignFormat::tensorflow},
};

Container zip_container(const InputFile& file) {
    const ZipArchive archive{FileSlice(file)};
    if (archive.contains(kKerasWeights)) return Container::keras_zip;
    const std::vector<std::string> names = archive.names();
    const bool is_torch =
        std::ranges::any_of(names, [](const std::string& entry) { return entry.ends_with("/data.pkl"); });
    if (!is_torch) {
        fail_unsupported(file.path(), "it is a zip archive of neither PyTorch (data.pkl) nor Keras (" +
                                          std::string(kKerasWeights) + "); it holds " +
                                          (names.empty() ? "nothing" : names.front()));
    }
    return Container::torch_zip;
}

/// Detects the container from the file's first and last bytes.
Container container_of(const InputFile& file) {
    const FileSlice bytes(file);
    const std::vector<std::byte> head = bytes.read_up_to(0, 16);
    const std::string_view begin = text_of(head);
    if (begin.starts_with(kZip)) return zip_container(file);
    if (begin.starts_with(kHdf5)) return Container::hdf5;
    if (begin.starts_with(kTorchLegacy)) return Container::torch_legacy;
    // A safetensors file's 8 bytes of length end with zeros, and a brace follows.
    const bool is_safetensors = begin.size() > 8 && begin[8] == '{' && begin.substr(4, 4) == std::string(4, '\0');
    if (is_safetensors || bytes.size() < kTableEnd.size()) return Container::none;
    if (begin.starts_with(kPickle) && begin[1] >= 2 && begin[1] <= 5)
        fail_unsupported(file.path(), "it is a pickle of Python, and not one that torch.save() wrote");
    const std::vector<std::byte> tail = bytes.read_up_to(bytes.size() - kTableEnd.size(), kTableEnd.size());
    return text_of(tail) == kTableEnd ? Container::tensorflow : Container::none;
}

ForeignContent open_container(const FileSystem& files, std::shared_ptr<const InputFile> file, const std::string& part) {
    switch (container_of(*file)) {
        case Container::torch_zip:
            return open_torch_zip(std::move(file), part);
        case Container::torch_legacy:
            return open_torch_legacy(file, part);
        case Container::hdf5:
            return open_hdf5(std::move(file));
        case Container::keras_zip:
            return open_keras_zip(std::move(file));
        case Container::tensorflow:
            return open_tensorflow(files, file->path());
        case Container::none:
            break;
    }
    throw Error(ErrorKind::data, "'" + file->path() + "': expected a file of PyTorch, Keras or TensorFlow");
}

/// Leaves out names that a safetensors file cannot have.
void drop_impossible_names(ForeignFile& file) {
    std::erase_if(file.tensors.descs, [&](const auto& entry) {
        const bool is_reserved = entry.first == kMetadata;
        const bool drops = is_reserved || !is_utf8(entry.first);
        if (drops) file.left_out.push_back({is_reserved ? entry.first : "a tensor", "has an impossible name"});
        return drops;
    });
}

std::uint64_t bytes_of(const TensorSource& tensors) {
    std::uint64_t sum = 0;
    for (const auto& [name, desc] : tensors.descs) {
        if (__builtin_add_overflow(sum, desc.bytes(), &sum)) return UINT64_MAX;
    }
    return sum;
}

}  // namespace

std::string_view name(ForeignFormat format) {
    constexpr std::array<std::string_view, 3> kNames = {"PyTorch", "Keras", "TensorFlow"};
    return kNames[static_cast<std::size_t>(format)];
}

std::optional<ForeignFormat> foreign_format(const FileSystem& files, const std::string& path) {
    if (files.kind(path) != FileKind::file) return std::nullopt;
    const Container container = container_of(*files.open(path));
    const auto* row = std::ranges::find(kFormats, container, &FormatRow::container);
    return row == std::end(kFormats) ? std::nullopt : std::optional(row->format);
}

ForeignFile open_foreign(const FileSystem& files, const std::string& path, const std::string& part) {
    ForeignContent content = open_container(files, files.open(path), part);
    if (!part.empty() && content.file.format != ForeignFormat::torch)
        throw Error(ErrorKind::usage, "'" + path + "': parts are of PyTorch's files, and this is none");
    // Several tensors may share numbers, as tied weights do.
    constexpr std::uint64_t kMostShared = 16;
    if (bytes_of(content.file.tensors) / kMostShared > content.stored_bytes)
        fail_damaged(path, "its tensors need more than 16 times its own size");
    content.file.paths.insert(content.file.paths.begin(), path);
    drop_impossible_names(content.file);
    return std::move(content.file);
}

Checkpoint load_foreign(const FileSystem& files, const std::string& path) {
    const ForeignFile file = open_foreign(files, path);
    require_room(path, "its tensors need ", bytes_of(file.tensors));
    if (!file.other_parts.empty())
        log::info("'" + path + "': its tensors '" + file.part + "' are taken, not " + joined(file.other_parts));
    Checkpoint checkpoint;
    for (const auto& [name, desc] : file.tensors.descs)
        checkpoint.tensors.emplace(name, file.tensors.tensor(name));
    return checkpoint;
}

}  // namespace cnntrain::weights
