#include "weights/foreign/hdf5.h"

#include <algorithm>

#include "cnntrain/base/checked.h"

namespace cnntrain::weights {
namespace {

constexpr std::uint64_t kSignatureBytes = 8;
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};  // an undefined address
constexpr std::uint64_t kLongestName = 1024;
constexpr std::uint64_t kLongestText = 4096;              // of attributes; longer ones are not read
constexpr std::string_view kTexts[] = {"name", "dtype"};  // attributes that are read
constexpr int kDeepestTree = 16;
constexpr std::uint32_t kMostHeapIndex = 0xffff;
constexpr std::uint64_t kMostBlock = std::uint64_t{1} << 20;  // of a header's messages

// Types of a header's messages.
constexpr std::uint16_t kDataspace = 1;
constexpr std::uint16_t kLinkInfo = 2;
constexpr std::uint16_t kDatatype = 3;
constexpr std::uint16_t kLink = 6;
constexpr std::uint16_t kExternalFiles = 7;
constexpr std::uint16_t kLayout = 8;
constexpr std::uint16_t kFilters = 11;
constexpr std::uint16_t kAttribute = 12;
constexpr std::uint16_t kContinuation = 16;
constexpr std::uint16_t kSymbolTable = 17;
constexpr std::uint8_t kShared = 2;  // flag of a message: its content is elsewhere

constexpr std::string_view kTypeNames[] = {"integers",    "floats",         "times",     "texts",
                                           "bit fields",  "opaque bytes",   "compounds", "references",
                                           "enumerators", "variable lists", "arrays"};

bool is_plain_integer(std::uint64_t bytes, ByteCursor properties) {
    const std::uint16_t offset = properties.u16();
    return offset == 0 && properties.u16() == 8 * bytes;
}

/// Sign, exponent and mantissa follow each other without gaps, as in IEEE 754.
void read_float(std::uint64_t flags, ByteCursor properties, Hdf5Type& type) {
    constexpr std::uint64_t kImpliedBit = 2;  // the mantissa's first bit is not stored
    const std::uint64_t offset = properties.u16();
    const std::uint64_t precision = properties.u16();
    const std::uint64_t exponent_place = properties.u8();
    const std::uint64_t exponent_bits = properties.u8();
    const std::uint64_t mantissa_place = properties.u8();
    const std::uint64_t mantissa_bits = properties.u8();
    const std::uint64_t bias = properties.u32();
    const std::uint64_t sign_place = flags >> 8 & 0xff;
    const bool of_vax = (flags & 0x40) != 0;
    const bool packed = offset == 0 && precision == 8 * type.bytes && sign_place + 1 == precision &&
                        mantissa_place == 0 && exponent_place == mantissa_bits &&
                        exponent_place + exponent_bits == sign_place;
    const bool biased = exponent_bits > 0 && exponent_bits < 16 && bias + 1 == std::uint64_t{1} << (exponent_bits - 1);
    type.is_plain = packed && biased && !of_vax && (flags >> 4 & 3) == kImpliedBit;
    type.exponent_bits = static_cast<int>(exponent_bits);
}

Hdf5Type type_of(ByteCursor message) {
    const std::uint8_t first = message.u8();
    const std::uint64_t bits = message.number(3);
    Hdf5Type type;
    type.bytes = message.u32();
    type.name = (first & 15) < std::size(kTypeNames) ? kTypeNames[first & 15] : "an unknown type";
    switch (first & 15) {
        case 0:
            type.kind = Hdf5Type::Kind::integer;
            type.big_endian = (bits & 1) != 0;
            type.is_signed = (bits & 8) != 0;
            type.is_plain = is_plain_integer(type.bytes, message);
            break;
        case 1:
            type.kind = Hdf5Type::Kind::real;
            type.big_endian = (bits & 1) != 0;
            read_float(bits, message, type);
            break;
        case 3:
            type.kind = Hdf5Type::Kind::text;
            break;
        case 5:
            type.kind = Hdf5Type::Kind::opaque;
            break;
        case 9:
            type.is_variable = (bits & 15) == 1;
            if (type.is_variable) type.kind = Hdf5Type::Kind::text;
            break;
        default:
            break;
    }
    return type;
}

/// Empty: of no elements.
std::optional<Shape> shape_of(ByteCursor message) {
    const std::uint8_t version = message.u8();
    const std::uint8_t axes = message.u8();
    message.skip(1);  // flags
    const std::uint8_t kind = message.u8();
    if (version == 1) {
        message.skip(4);
    } else if (version != 2) {
        message.fail("a shape has an unknown version");
    } else if (kind == 2) {
        return std::nullopt;
    }
    Shape shape;
    for (int axis = 0; axis < axes; ++axis) {
        if (!add_length(shape, message.u64())) message.fail("a shape is too large");
    }
    return shape;
}

std::uint64_t padded(std::uint64_t size, bool to_8) {
    return to_8 ? (size + 7) / 8 * 8 : size;
}

}  // namespace

/// Reads one object header; all addresses are within the file.
class Hdf5ObjectReader {
public:
    explicit Hdf5ObjectReader(Hdf5File& file) : file_(file), path_(file.file_.path()) {}

    Hdf5Object read(std::uint64_t address) {
        const std::vector<std::byte> begin = block_up_to(address, 64);
        if (text_of(begin).starts_with("OHDR")) {
            read_new_header(address, begin);
        } else {
            read_old_header(address, begin);
        }
        if (is_dataset_) finish_dataset();
        return std::move(object_);
    }

private:
    std::uint64_t place_of(std::uint64_t address) const {
        if (address == kNowhere || address > file_.file_.size() || file_.base_ > file_.file_.size() - address)
            fail_damaged(path_, "an address lies beyond its end");
        return file_.base_ + address;
    }
    std::vector<std::byte> block(std::uint64_t address, std::uint64_t size, std::string_view what) {
        return file_.file_.read(place_of(address), size, what);
    }
    std::vector<std::byte> block_up_to(std::uint64_t address, std::uint64_t most) {
        return file_.file_.read_up_to(place_of(address), most);
    }
    /// A block of a header, a group's tables or a heap. No two of them overlap, so together they are smaller than the
    /// file.
    std::vector<std::byte> table(std::uint64_t address, std::uint64_t size, std::string_view what) {
        file_.visited_bytes_ += size;
        if (file_.visited_bytes_ > file_.file_.size()) fail_damaged(path_, "its headers and tables overlap");
        return block(address, size, what);
    }

    // ---- headers ----

    void read_old_header(std::uint64_t address, const std::vector<std::byte>& begin) {
        ByteCursor header(begin, path_);
        if (header.u8() != 1) header.fail("an object header has an unknown version");
        header.skip(1);
        header.skip(2);  // number of messages
        header.skip(4);  // references
        const std::uint32_t size = header.u32();
        read_blocks(address + 16, size, [this](ByteCursor& bytes) {
            while (bytes.left() >= 8) {
                const std::uint16_t type = bytes.u16();
                const std::uint16_t length = bytes.u16();
                const std::uint8_t flags = bytes.u8();
                bytes.skip(3);
                read_message(type, flags, bytes.take(length));
            }
        });
    }

    void read_new_header(std::uint64_t address, const std::vector<std::byte>& begin) {
        ByteCursor header(begin, path_);
        header.skip(4);
        if (header.u8() != 2) header.fail("an object header has an unknown version");
        const std::uint8_t flags = header.u8();
        if ((flags & 0x20) != 0) header.skip(16);  // times
        if ((flags & 0x10) != 0) header.skip(4);   // limits of attributes
        const std::uint64_t size = header.number(std::size_t{1} << (flags & 3));
        is_new_ = true;
        const std::uint64_t order_bytes = (flags & 4) != 0 ? 2 : 0;
        read_blocks(address + header.position(), size, [this, order_bytes](ByteCursor& bytes) {
            while (bytes.left() >= 4 + order_bytes) {
                const std::uint8_t type = bytes.u8();
                const std::uint16_t length = bytes.u16();
                const std::uint8_t message_flags = bytes.u8();
                bytes.skip(order_bytes);
                read_message(type, message_flags, bytes.take(length));
            }
        });
    }

    /// The first block of messages, and those that continue it.
    template <typename Visit> void read_blocks(std::uint64_t address, std::uint64_t size, const Visit& visit) {
        std::uint64_t sum = 0;
        continuations_ = {{address, size}};
        for (std::size_t i = 0; i < continuations_.size(); ++i) {
            const auto [at, length] = continuations_[i];
            sum += length;
            if (length > kMostBlock || sum > kMostBlock || i > 1000)
                fail_damaged(path_, "an object header is too long");
            const std::vector<std::byte> content = table(at, length, "an object header");
            std::span<const std::byte> messages(content);
            if (is_new_ && i > 0) {
                if (messages.size() < 8 || !text_of(messages).starts_with("OCHK"))
                    fail_damaged(path_, "an object header's continuation has a wrong mark");
                messages = messages.subspan(4, messages.size() - 8);  // mark and checksum
            }
            ByteCursor bytes(messages, path_);
            visit(bytes);
        }
    }

    void read_message(std::uint16_t type, std::uint8_t flags, std::span<const std::byte> content) {
        ByteCursor message(content, path_);
        const bool shared = (flags & kShared) != 0;
        switch (type) {
            case kContinuation: {
                const std::uint64_t address = message.u64();
                continuations_.emplace_back(address, message.u64());
                break;
            }
            case kSymbolTable: {
                const std::uint64_t tree = message.u64();
                read_tree(tree, message.u64(), 0);
                break;
            }
            case kLinkInfo:
                read_link_info(message);
                break;
            case kLink:
                read_link(message);
                break;
            case kAttribute:
                if (!shared) read_attribute(message);
                break;
            default:
                read_dataset_message(type, shared, message);
        }
    }

    // ---- groups ----

    void add_member(const std::string& name, std::uint64_t address) {
        if (name.empty() || name.find('/') != std::string::npos)
            fail_damaged(path_, "an object has an impossible name");
        file_.names_.spend(name.size());
        object_.members.emplace(name, address);
    }

    void read_tree(std::uint64_t address, std::uint64_t heap, int depth) {
        constexpr std::uint64_t kHead = 24;
        if (depth > kDeepestTree) fail_damaged(path_, "a group's tree is too deep");
        const std::vector<std::byte> head = block(address, kHead, "a group's tree");
        ByteCursor node(head, path_);
        if (node.text(4) != "TREE" || node.u8() != 0) fail_damaged(path_, "a group's tree has a wrong mark");
        const std::uint8_t level = node.u8();
        const std::uint64_t entries = node.u16();
        const std::vector<std::byte> content = table(address + kHead, entries * 16, "a group's tree");
        ByteCursor children(content, path_);
        for (std::uint64_t i = 0; i < entries; ++i) {
            children.skip(8);  // key
            const std::uint64_t child = children.u64();
            if (level == 0) {
                read_symbols(child, heap);
            } else {
                read_tree(child, heap, depth + 1);
            }
        }
    }

    void read_symbols(std::uint64_t address, std::uint64_t heap) {
        const std::vector<std::byte> head = block(address, 8, "a group's table");
        ByteCursor table_head(head, path_);
        if (table_head.text(4) != "SNOD") fail_damaged(path_, "a group's table has a wrong mark");
        table_head.skip(2);
        constexpr std::uint64_t kEntry = 40;
        const std::uint64_t count = table_head.u16();
        const std::vector<std::byte> content = table(address + 8, count * kEntry, "a group's table");
        ByteCursor entries(content, path_);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t name = entries.u64();
            const std::uint64_t object = entries.u64();
            constexpr std::uint32_t kSoftLink = 2;
            const bool is_link = entries.u32() == kSoftLink;
            entries.skip(20);
            if (!is_link) add_member(heap_name(heap, name), object);
        }
    }

    std::string heap_name(std::uint64_t heap, std::uint64_t offset) {
        const std::vector<std::byte> head = block(heap, 32, "a heap of names");
        ByteCursor fields(head, path_);
        if (fields.text(4) != "HEAP") fail_damaged(path_, "a heap of names has a wrong mark");
        fields.skip(4);
        const std::uint64_t size = fields.u64();
        fields.skip(8);
        const std::uint64_t data = fields.u64();
        if (offset >= size) fail_damaged(path_, "a name lies beyond its heap");
        if (offset > kNowhere - data) fail_damaged(path_, "an address lies beyond its end");
        const std::vector<std::byte> bytes = block_up_to(data + offset, std::min(size - offset, kLongestName));
        const std::string_view text = text_of(bytes);
        const std::size_t end = text.find('\0');
        if (end == std::string_view::npos) fail_damaged(path_, "a name has no end or is too long");
        return std::string(text.substr(0, end));
    }

    void read_link_info(ByteCursor message) {
        message.skip(1);
        if ((message.u8() & 1) != 0) message.skip(8);  // greatest creation index
        if (message.u64() != kNowhere) {
            fail_unsupported(path_,
                             "a group of it has an index of links, which is not read; write the file with "
                             "h5py's default libver, or repack it with h5repack --low=0 --high=0");
        }
    }

    void read_link(ByteCursor message) {
        message.skip(1);  // version
        const std::uint8_t flags = message.u8();
        const std::uint8_t type = (flags & 8) != 0 ? message.u8() : 0;
        if ((flags & 4) != 0) message.skip(8);   // creation order
        if ((flags & 16) != 0) message.skip(1);  // character set
        const std::uint64_t length = message.number(std::size_t{1} << (flags & 3));
        if (length > kLongestName) fail_damaged(path_, "a name is too long");
        const std::string name(message.text(length));
        if (type == 0) add_member(name, message.u64());  // else a soft or an external link
    }

    // ---- attributes ----

    void read_attribute(ByteCursor message) {
        const std::uint8_t version = message.u8();
        if (version < 1 || version > 3) message.fail("an attribute has an unknown version");
        const std::uint8_t flags = message.u8();
        const bool has_shared_parts = version > 1 && (flags & 3) != 0;
        const std::uint64_t name_bytes = message.u16();
        const std::uint64_t type_bytes = message.u16();
        const std::uint64_t space_bytes = message.u16();
        if (version == 3) message.skip(1);  // character set
        const bool pads = version == 1;
        std::string_view name = message.text(padded(name_bytes, pads));
        name = name.substr(0, name.find('\0'));
        if (has_shared_parts || std::ranges::find(kTexts, name) == std::end(kTexts)) return;
        if (object_.texts.contains(std::string(name))) return;
        const Hdf5Type type = type_of(ByteCursor(message.take(padded(type_bytes, pads)), path_));
        const auto shape = shape_of(ByteCursor(message.take(padded(space_bytes, pads)), path_));
        if (type.kind != Hdf5Type::Kind::text || !shape || !shape->empty()) return;
        const std::string text = type.is_variable ? heap_text(message) : std::string(message.text(type.bytes));
        object_.texts.emplace(name, text.substr(0, text.find('\0')));
    }

    /// A text in a heap; "" for a longer one than is needed.
    std::string heap_text(ByteCursor message) {
        const std::uint64_t length = message.u32();
        const std::uint64_t collection = message.u64();
        const std::uint32_t index = message.u32();
        if (length == 0 || length > kLongestText) return "";
        auto heap = file_.heaps_.find(collection);
        if (heap == file_.heaps_.end()) heap = file_.heaps_.emplace(collection, heap_objects(collection)).first;
        const auto found = heap->second.find(static_cast<std::uint16_t>(index));
        if (index > kMostHeapIndex || found == heap->second.end() || length > found->second.bytes)
            fail_damaged(path_, "a text is missing in its heap");
        const std::vector<std::byte> text = block(found->second.address, length, "a heap");
        return std::string(text_of(text));
    }

    std::map<std::uint16_t, Hdf5File::HeapObject> heap_objects(std::uint64_t collection) {
        const std::vector<std::byte> head = table(collection, 16, "a heap");
        ByteCursor fields(head, path_);
        if (fields.text(4) != "GCOL") fail_damaged(path_, "a heap has a wrong mark");
        fields.skip(4);
        const std::uint64_t end = fields.u64();
        std::map<std::uint16_t, Hdf5File::HeapObject> objects;
        std::uint64_t at = 16;
        while (at + 16 <= end && end <= file_.file_.size()) {
            const std::vector<std::byte> bytes = table(collection + at, 16, "a heap");
            ByteCursor object(bytes, path_);
            const std::uint16_t index = object.u16();
            object.skip(6);
            const std::uint64_t size = object.u64();
            if (index == 0 || size > end - at) break;  // the free space after the last one
            objects.try_emplace(index, Hdf5File::HeapObject{collection + at + 16, size});
            at += 16 + padded(size, true);
        }
        return objects;
    }

    // ---- data sets ----

    void read_dataset_message(std::uint16_t type, bool shared, ByteCursor message) {
        switch (type) {
            case kDataspace:
                if (shared) return refuse("has a shape that is stored elsewhere");
                shape_ = shape_of(message);
                has_shape_ = true;
                return;
            case kDatatype:
                if (shared) return refuse("has a named element type");
                dataset_.type = type_of(message);
                return;
            case kExternalFiles:
                return refuse("has its data in another file");
            case kFilters:
                return refuse("is compressed");
            case kLayout:
                is_dataset_ = true;
                return read_layout(message);
            default:
                return;
        }
    }

    void refuse(const std::string& why) {
        if (dataset_.refused.empty()) dataset_.refused = why;
    }

    void read_layout(ByteCursor message) {
        const std::uint8_t version = message.u8();
        if (version != 3 && version != 4) return refuse("has a layout of version " + std::to_string(version));
        const std::uint8_t layout = message.u8();
        if (layout == 0) return refuse("is stored in its header");
        if (layout != 1) return refuse("is stored in chunks");
        dataset_.begin = message.u64();
        dataset_.bytes = message.u64();
    }

    void finish_dataset() {
        if (!has_shape_) fail_damaged(path_, "a data set has no shape");
        if (!shape_) refuse("has no elements");
        if (shape_) dataset_.shape = *shape_;
        const bool is_empty = shape_ && element_count(*shape_) == 0;
        if (dataset_.refused.empty() && !is_empty) {
            if (dataset_.begin == kNowhere) {
                refuse("was never written");
            } else {
                dataset_.begin = place_of(dataset_.begin);
                if (!file_.file_.holds(dataset_.begin, dataset_.bytes))
                    fail_damaged(path_, "a data set lies beyond its end");
            }
        }
        object_.dataset = std::move(dataset_);
    }

    Hdf5File& file_;
    const std::string& path_;
    Hdf5Object object_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> continuations_;
    bool is_new_ = false;
    bool is_dataset_ = false;
    bool has_shape_ = false;
    std::optional<Shape> shape_;
    Hdf5Dataset dataset_;
};

Hdf5File::Hdf5File(FileSlice file) : file_(file), names_(file.path(), file.size()) {
    read_superblock();
}

void Hdf5File::read_superblock() {
    const std::vector<std::byte> bytes = file_.read_up_to(0, 128);
    ByteCursor fields(bytes, file_.path());
    fields.skip(kSignatureBytes);
    const std::uint8_t version = fields.u8();
    if (version > 3) fail_unsupported(file_.path(), "its HDF5 superblock has version " + std::to_string(version));
    const bool is_old = version < 2;
    if (is_old) fields.skip(4);
    const std::uint8_t address_bytes = fields.u8();
    const std::uint8_t length_bytes = fields.u8();
    if (address_bytes != 8 || length_bytes != 8) fail_unsupported(file_.path(), "its HDF5 addresses have no 64 bits");
    fields.skip(is_old ? 9 : 1);  // reserved, K of groups, flags
    if (version == 1) fields.skip(4);
    base_ = fields.u64();
    fields.skip(is_old ? 24 : 16);  // free space or extension, end of file, and driver
    if (is_old) fields.skip(8);     // the root group's name
    root_ = fields.u64();
}

Hdf5Object Hdf5File::object(std::uint64_t address) {
    return Hdf5ObjectReader(*this).read(address);
}

}  // namespace cnntrain::weights
