// Format: tensorflow/core/protobuf/tensor_bundle.proto and tensorflow/core/util/tensor_bundle.
#include <snappy.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "cnntrain/base/wire.h"
#include "cnntrain/weights/foreign.h"
#include "weights/foreign/bytes.h"

namespace cnntrain::weights {
namespace {

/// Error(data) for bytes that are no block of Snappy. They are checked before they are decompressed, because a block
/// that claims 4 GB would otherwise get them.
std::string decompress_snappy(std::string_view block, const std::string& path) {
    std::string content;
    const bool is_sound = snappy::IsValidCompressedBuffer(block.data(), block.size()) &&
                          snappy::Uncompress(block.data(), block.size(), &content);
    if (!is_sound) fail_damaged(path, "a compressed block of its table cannot be decompressed");
    return content;
}

constexpr std::uint64_t kFooterBytes = 48;
constexpr std::uint64_t kTrailerBytes = 5;  // of a block: compression and checksum
constexpr std::uint64_t kLongestKey = 4096;

/// Place of a block, without its trailer.
struct Handle {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

Handle read_handle(ByteCursor& in) {
    const std::uint64_t offset = in.varint();
    return {offset, in.varint()};
}

std::string read_block(const FileSlice& table, const Handle& handle) {
    constexpr std::string_view kWhat = "a block of its table";
    table.part(handle.offset, handle.size, kWhat);
    const std::vector<std::byte> bytes = table.read(handle.offset, handle.size + kTrailerBytes, kWhat);
    const std::span<const std::byte> content = std::span(bytes).first(static_cast<std::size_t>(handle.size));
    const std::span<const std::byte> behind = std::span(bytes).subspan(content.size());
    ByteCursor trailer(behind, table.path());
    const std::uint8_t compression = trailer.u8();
    if (trailer.u32() != mask_crc(crc32c(std::span(bytes).first(content.size() + 1))))
        fail_damaged(table.path(), "the checksum of a block of its table does not fit");
    constexpr std::uint8_t kNone = 0;
    constexpr std::uint8_t kSnappy = 1;
    if (compression == kSnappy) return decompress_snappy(text_of(content), table.path());
    if (compression != kNone)
        fail_unsupported(table.path(), "its table has compression " + std::to_string(compression));
    return std::string(text_of(content));
}

/// Visits the entries of a block, which share the beginning of their keys with the entry before. Positions of whole
/// keys follow the entries.
template <typename Visit> void visit_block(const std::string& block, const FileSlice& table, const Visit& visit) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(block));
    if (bytes.size() < 4) fail_damaged(table.path(), "a block of its table is too short");
    const std::uint64_t positions = ByteCursor(bytes.last(4), table.path()).u32();
    if (positions > (bytes.size() - 4) / 4) fail_damaged(table.path(), "a block of its table is too short");
    ByteCursor in(bytes.first(bytes.size() - 4 - static_cast<std::size_t>(positions) * 4), table.path());
    std::string key;
    while (!in.at_end()) {
        const std::uint64_t shared = in.varint();
        const std::uint64_t rest = in.varint();
        const std::uint64_t value = in.varint();
        if (shared > key.size() || rest > kLongestKey || shared + rest > kLongestKey)
            in.fail("a key of its table has an impossible length");
        key.resize(static_cast<std::size_t>(shared));
        key += in.text(rest);
        visit(key, in.text(value));
    }
}

}  // namespace

void for_each_entry(const FileSlice& table,
                    const std::function<void(std::string_view key, std::string_view value)>& visit) {
    if (table.size() < kFooterBytes) fail_damaged(table.path(), "its table has no end");
    const std::vector<std::byte> footer = table.read(table.size() - kFooterBytes, kFooterBytes, "its table's end");
    ByteCursor in(footer, table.path());
    read_handle(in);  // of the blocks' metadata
    const Handle index = read_handle(in);
    std::uint64_t end = 0;  // of the last block: blocks that overlap could make the work any amount
    visit_block(read_block(table, index), table, [&](std::string_view, std::string_view value) {
        ByteCursor place(std::as_bytes(std::span(value)), table.path());
        const Handle handle = read_handle(place);
        if (handle.offset < end) fail_damaged(table.path(), "blocks of its table overlap");
        visit_block(read_block(table, handle), table, visit);
        end = handle.offset + handle.size;
    });
}

namespace {

struct TypeRow {
    std::uint64_t number;  // tensorflow.DataType
    std::string_view name;
    std::optional<DType> type;
};
constexpr TypeRow kTypes[] = {
    {1, "float", DType::f32},         {2, "double", DType::f64},      {3, "int32", DType::i32},
    {4, "uint8", DType::u8},          {5, "int16", std::nullopt},     {6, "int8", std::nullopt},
    {7, "string", std::nullopt},      {8, "complex64", std::nullopt}, {9, "int64", DType::i64},
    {10, "bool", DType::u8},          {14, "bfloat16", DType::bf16},  {17, "uint16", std::nullopt},
    {18, "complex128", std::nullopt}, {19, "half", DType::f16},       {22, "uint32", std::nullopt},
    {23, "uint64", std::nullopt},
};

/// BundleEntryProto
struct Entry {
    std::uint64_t type = 0;
    Shape shape;
    std::uint64_t shard = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;
    bool is_sliced = false;
};

std::span<const std::byte> text_bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// Visits the fields of a message; Error(data) unless it is one.
template <typename Visit>
void for_each_field(std::span<const std::byte> message, const std::string& path, const Visit& visit) {
    WireReader reader(message);
    while (reader.next())
        visit(reader);
    if (!reader.ok()) fail_damaged(path, "a message of its index is malformed");
}

/// TensorShapeProto
Shape bundle_shape(std::span<const std::byte> message, const std::string& path) {
    constexpr std::size_t kMostAxes = 64;
    Shape shape;
    for_each_field(message, path, [&](const WireReader& field) {
        if (field.field() != 2 || field.type() != WireType::bytes) return;
        std::uint64_t length = 0;
        for_each_field(field.bytes(), path, [&](const WireReader& part) {
            if (part.field() == 1 && part.type() == WireType::varint) length = part.number();
        });
        if (shape.size() == kMostAxes || !add_length(shape, length))
            fail_damaged(path, "a tensor of it has an impossible shape");
    });
    return shape;
}

Entry entry_of(std::string_view message, const std::string& path) {
    Entry entry;
    for_each_field(text_bytes(message), path, [&](const WireReader& field) {
        const bool is_number = field.type() == WireType::varint;
        if (field.field() == 1 && is_number) entry.type = field.number();
        if (field.field() == 2 && field.type() == WireType::bytes) entry.shape = bundle_shape(field.bytes(), path);
        if (field.field() == 3 && is_number) entry.shard = field.number();
        if (field.field() == 4 && is_number) entry.offset = field.number();
        if (field.field() == 5 && is_number) entry.bytes = field.number();
        if (field.field() == 6 && field.type() == WireType::fixed32)
            entry.crc = static_cast<std::uint32_t>(field.number());
        if (field.field() == 7) entry.is_sliced = true;
    });
    return entry;
}

/// BundleHeaderProto: the number of data files.
std::uint64_t shards_of(std::string_view message, const std::string& path) {
    constexpr std::uint64_t kMostShards = 100'000;  // that the names of files can count
    std::uint64_t shards = 0;
    for_each_field(text_bytes(message), path, [&](const WireReader& field) {
        if (field.field() == 1 && field.type() == WireType::bytes) {
            fail_unsupported(path,
                             "it is a checkpoint of TensorFlow's first format (V1); load it with TensorFlow and "
                             "save it with tf.train.Saver, which writes PREFIX.index");
        }
        if (field.field() == 1 && field.type() == WireType::varint) shards = field.number();
        if (field.field() == 2 && field.number() != 0) fail_unsupported(path, "its byte order is big, not little");
    });
    if (shards == 0 || shards >= kMostShards) fail_damaged(path, "its number of data files is impossible");
    return shards;
}

std::string data_path(const std::string& prefix, std::uint64_t shard, std::uint64_t shards) {
    return prefix + formatted(".data-%05u-of-%05u", static_cast<unsigned>(shard), static_cast<unsigned>(shards));
}

/// The data files of a checkpoint, opened when they are first used.
class Shards {
public:
    Shards(const FileSystem& files, std::string prefix, std::uint64_t count)
        : files_(files), prefix_(std::move(prefix)), count_(count) {}

    const InputFile& at(std::uint64_t shard, const std::string& index) {
        if (shard >= count_) fail_damaged(index, "a tensor of it is in a data file that it does not have");
        const auto found = opened_.find(shard);
        if (found != opened_.end()) return *found->second;
        return *opened_.emplace(shard, files_.open(data_path(prefix_, shard, count_))).first->second;
    }
    void add_paths(std::vector<std::string>& paths) const {
        for (const auto& [shard, file] : opened_)
            paths.push_back(file->path());
    }
    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const auto& [shard, file] : opened_)
            sum += file->size_bytes();
        return sum;
    }

private:
    const FileSystem& files_;
    std::string prefix_;
    std::uint64_t count_;
    std::map<std::uint64_t, std::unique_ptr<InputFile>> opened_;
};

struct BundlePlace {
    TensorDesc desc;
    const InputFile* file = nullptr;
    std::uint64_t offset = 0;
    std::uint32_t crc = 0;
};

HostTensor read_bundle_tensor(const std::string& name, const BundlePlace& place) {
    HostTensor tensor(place.desc);
    FileSlice(*place.file).read_into(place.offset, tensor.bytes(), "the tensor '" + name + "'");
    if (mask_crc(crc32c(tensor.bytes())) != place.crc)
        fail_damaged(place.file->path(), "the checksum of its tensor '" + name + "' does not fit");
    return tensor;
}

class BundleReader {
public:
    BundleReader(const FileSystem& files, const std::string& index)
        : files_(files), file_(files.open(index)), names_(index, file_->size_bytes()) {}

    ForeignContent read() {
        const std::string& path = file_->path();
        const std::string prefix = path.substr(0, path.size() - kTensorFlowIndex.size());
        for_each_entry(FileSlice(*file_), [&](std::string_view key, std::string_view value) {
            names_.spend(key.size());
            if (key.empty()) {
                if (shards_) fail_damaged(path, "its index has two headers");
                shards_ = std::make_shared<Shards>(files_, prefix, shards_of(value, path));
            } else if (key.front() != '\0') {  // else a slice of a tensor
                add(std::string(key), entry_of(value, path));
            }
        });
        if (!shards_) fail_damaged(path, "its index has no header");
        content_.stored_bytes = file_->size_bytes() + shards_->bytes();
        content_.file.format = ForeignFormat::tensorflow;
        shards_->add_paths(content_.file.paths);
        content_.file.tensors.tensor = [shards = shards_, places = std::move(places_)](const std::string& name) {
            return read_bundle_tensor(name, places.at(name));
        };
        return std::move(content_);
    }

private:
    void add(const std::string& name, Entry entry) {
        const std::string& path = file_->path();
        if (!shards_) fail_damaged(path, "its index has no header");
        const auto* row = std::ranges::find(kTypes, entry.type, &TypeRow::number);
        const bool is_known = row != std::end(kTypes);
        if (entry.is_sliced || !is_known || !row->type) {
            const std::string type = is_known ? std::string(row->name) : "number " + std::to_string(entry.type);
            content_.file.left_out.push_back(
                {name, entry.is_sliced ? "is stored in slices" : "has elements of type " + type});
            return;
        }
        const TensorDesc desc{*row->type, std::move(entry.shape)};
        if (desc.bytes() != entry.bytes) {
            fail_damaged(path, "its tensor '" + name + "' is " + to_string(desc) + " and has " +
                                   std::to_string(entry.bytes) + " bytes");
        }
        const InputFile& shard = shards_->at(entry.shard, path);
        FileSlice(shard).part(entry.offset, entry.bytes, "the tensor '" + name + "'");
        if (!places_.emplace(name, BundlePlace{desc, &shard, entry.offset, entry.crc}).second)
            fail_damaged(path, "it has two tensors '" + name + "'");
        content_.file.tensors.descs.emplace(name, desc);
    }

    const FileSystem& files_;
    std::unique_ptr<InputFile> file_;
    std::shared_ptr<Shards> shards_;
    std::map<std::string, BundlePlace> places_;
    NameBudget names_;
    ForeignContent content_;
};

}  // namespace

ForeignContent open_tensorflow(const FileSystem& files, const std::string& index) {
    if (!index.ends_with(kTensorFlowIndex)) {
        fail_unsupported(index,
                         "a TensorFlow checkpoint needs its name, PREFIX.index, beside PREFIX.data-00000-of-00001");
    }
    return BundleReader(files, index).read();
}

// ---- writing ----

namespace {

/// Entries of a block. Keys share the beginnings of the keys before them.
class BlockWriter {
public:
    void add(std::string_view key, std::string_view value) {
        constexpr std::size_t kWholeKeyEvery = 16;
        std::size_t shared = 0;
        if (entries_ % kWholeKeyEvery == 0) {
            whole_keys_ += fixed_width(static_cast<std::uint32_t>(bytes_.size()));
        } else {
            shared = static_cast<std::size_t>(std::ranges::mismatch(last_key_, key).in1 - last_key_.begin());
        }
        append_varint(shared, bytes_);
        append_varint(key.size() - shared, bytes_);
        append_varint(value.size(), bytes_);
        bytes_ += key.substr(shared);
        bytes_ += value;
        last_key_ = key;
        ++entries_;
    }

    bool empty() const { return entries_ == 0; }
    std::size_t bytes() const { return bytes_.size(); }
    const std::string& last_key() const { return last_key_; }

    /// The block's content. The writer is empty then.
    std::string finish() {
        if (empty()) whole_keys_ = fixed_width(std::uint32_t{0});
        const auto positions = static_cast<std::uint32_t>(whole_keys_.size() / sizeof(std::uint32_t));
        std::string content = bytes_ + whole_keys_ + fixed_width(positions);
        *this = {};
        return content;
    }

private:
    std::string bytes_;
    std::string last_key_;
    std::string whole_keys_;  // positions of entries that share nothing
    std::size_t entries_ = 0;
};

/// A table without compression.
class TableWriter {
public:
    /// Adds an entry. Keys must come in ascending order of their bytes.
    void add(std::string_view key, std::string_view value) {
        constexpr std::size_t kBlockBytes = 4096;
        block_.add(key, value);
        if (block_.bytes() >= kBlockBytes) finish_block();
    }

    /// The content of the file.
    std::string finish() {
        finish_block();
        std::string footer = append(BlockWriter().finish());
        footer += append(index_.finish());
        footer.resize(kFooterBytes - kTableEnd.size());
        return std::move(file_) + footer + std::string(kTableEnd);
    }

private:
    /// Returns the handle.
    std::string append(const std::string& block) {
        std::string handle;
        append_varint(file_.size(), handle);
        append_varint(block.size(), handle);
        const std::string stored = block + '\0';  // no compression
        file_ += stored + fixed_width(mask_crc(crc32c(std::as_bytes(std::span(stored)))));
        return handle;
    }

    void finish_block() {
        if (block_.empty()) return;
        const std::string last_key = block_.last_key();
        index_.add(last_key, append(block_.finish()));
    }

    std::string file_;
    BlockWriter block_;
    BlockWriter index_;
};

std::string header_message() {
    const WireMessage version = WireMessage().add(1, std::int64_t{1});  // VersionDef.producer
    return WireMessage().add(1, std::int64_t{1}).add(3, version).bytes();
}

std::string entry_message(const TensorDesc& desc, std::uint64_t offset, std::uint32_t crc) {
    const auto* row = std::ranges::find(kTypes, std::optional(desc.dtype), &TypeRow::type);
    CNNTRAIN_CHECK(row != std::end(kTypes), "an element type without a number in TensorFlow");
    WireMessage shape;
    for (const std::int64_t length : desc.shape)
        shape.add(2, WireMessage().add(1, length));
    WireMessage entry;
    entry.add(1, static_cast<std::int64_t>(row->number)).add(2, shape);
    entry.add(4, static_cast<std::int64_t>(offset)).add(5, static_cast<std::int64_t>(desc.bytes()));
    return entry.add_fixed32(6, mask_crc(crc)).bytes();
}

/// A string of protobuf's text format.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
        result += plain ? std::string(1, c) : formatted("\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return result + "\"";
}

}  // namespace

std::vector<std::string> tensorflow_paths(const std::string& prefix) {
    const std::string folder = folder_part(prefix);
    return {data_path(prefix, 0, 1), folder + "checkpoint", prefix + std::string(kTensorFlowIndex)};
}

void save_tensorflow(FileSystem& files, const std::string& prefix, const TensorSource& tensors) {
    const std::vector<std::string> paths = tensorflow_paths(prefix);
    const auto data = files.create(paths[0]);
    TableWriter table;
    table.add("", header_message());
    std::uint64_t offset = 0;
    for (const auto& [name, desc] : tensors.descs) {
        const HostTensor tensor = tensors.tensor(name);
        data->write(tensor.bytes());
        table.add(name, entry_message(desc, offset, crc32c(tensor.bytes())));
        offset += desc.bytes();
    }
    files.remove(paths[2]);  // an older index would not fit the new numbers
    data->commit();
    const std::string name = quoted(last_part(prefix));
    write_text(files, paths[1], "model_checkpoint_path: " + name + "\nall_model_checkpoint_paths: " + name + "\n");
    write_text(files, paths[2], table.finish());
}

}  // namespace cnntrain::weights
