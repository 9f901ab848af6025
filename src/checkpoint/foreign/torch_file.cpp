#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "checkpoint/foreign/readers.h"
#include "checkpoint/foreign/torch_values.h"
#include "checkpoint/foreign/zip.h"

namespace cnntrain::checkpoint {
namespace {

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
        if (found == storages.slices.end())
            fail_damaged(
                path, "the storage '" + tensor.storage.key + "' of its tensor '" + shown_name(name) + "' is missing");
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

/// Behind the pickles: for every key of the list, the number of elements and the elements.
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

}  // namespace cnntrain::checkpoint
