#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "checkpoint/format.h"
#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/checkpoint.h"

namespace cnntrain::checkpoint {
namespace {

using nlohmann::json;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;  // elements of any type
constexpr std::uint64_t kLongestHeader = 100'000'000;                         // the format's own limit

struct TensorEntry {
    std::string name;
    TensorDesc desc;
    std::uint64_t begin = 0;  // within the data
    std::uint64_t end = 0;
};

/// Reads one file; every message names it.
class Reader {
public:
    Reader(const FileSystem& files, const std::string& path) : file_(files.open(path)) {}

    Checkpoint read() {
        const json header = read_header();
        Checkpoint checkpoint;
        const std::optional<std::uint32_t> expected_crc = read_metadata(header, checkpoint);
        const std::uint32_t crc = read_tensors(entries_of(header), checkpoint);
        if (expected_crc && crc != *expected_crc) fail("the checksum of its tensors is not the one that was saved");
        return checkpoint;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(ErrorKind::data, "checkpoint '" + file_->path() + "': " + what +
                                         "; the file is damaged or not a checkpoint: use another one");
    }

    json read_header() {
        std::uint64_t length = 0;
        if (file_->size_bytes() < kLengthBytes) fail("it is cut short, only " + bytes_text(file_->size_bytes()));
        file_->read_at(0, std::as_writable_bytes(std::span(&length, 1)));
        if (length > kLongestHeader) fail("it does not begin like a safetensors file");
        if (length > file_->size_bytes() - kLengthBytes) {
            fail("it is cut short: its header needs " + bytes_text(length) + ", the whole file has " +
                 bytes_text(file_->size_bytes()));
        }
        std::string text(length, '\0');
        file_->read_at(kLengthBytes, std::as_writable_bytes(std::span(text)));
        data_begin_ = kLengthBytes + length;
        json header = json::parse(text, nullptr, false);
        if (!header.is_object()) fail("its header is not valid JSON");
        return header;
    }

    /// Moves the keys that this program owns into their members; returns the checksum, if there is one.
    std::optional<std::uint32_t> read_metadata(const json& header, Checkpoint& checkpoint) const {
        if (!header.contains(kMetadata)) return std::nullopt;
        std::optional<std::uint32_t> crc;
        const json& metadata = header[kMetadata];
        if (!metadata.is_object()) fail("its __metadata__ is not an object");
        for (const auto& [key, value] : metadata.items()) {
            if (!value.is_string()) fail("its metadata '" + key + "' is not a text");
            const auto& text = value.get_ref<const std::string&>();
            if (key == kIteration) {
                checkpoint.iteration = number<std::int64_t>(key, text);
            } else if (key == kEpoch) {
                checkpoint.epoch = number<double>(key, text);
            } else if (key == kDataCrc) {
                crc = number<std::uint32_t>(key, text, 16);
            } else {
                checkpoint.metadata[key] = text;
            }
        }
        return crc;
    }

    template <typename T> T number(const std::string& key, const std::string& text, auto... base) const {
        T value{};
        const char* end = text.data() + text.size();
        const auto result = std::from_chars(text.data(), end, value, base...);
        if (result.ec != std::errc() || result.ptr != end) fail("its metadata '" + key + "' is not a number: " + text);
        return value;
    }

    std::vector<TensorEntry> entries_of(const json& header) const {
        std::vector<TensorEntry> entries;
        for (const auto& [name, value] : header.items()) {
            if (name != kMetadata) entries.push_back(entry_of(name, value));
        }
        std::ranges::sort(entries, [](const TensorEntry& a, const TensorEntry& b) {
            return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
        });
        std::uint64_t position = 0;
        for (const TensorEntry& entry : entries) {
            if (entry.begin < position) fail("tensor '" + entry.name + "' overlaps the one before it");
            if (entry.begin > position) fail("there is a gap before tensor '" + entry.name + "'");
            position = entry.end;
        }
        const std::uint64_t available = file_->size_bytes() - data_begin_;
        if (position > available) {
            fail("it is cut short: its tensors need " + bytes_text(position) + ", " + bytes_text(available) +
                 " are there");
        }
        if (position < available) fail(bytes_text(available - position) + " follow its last tensor");
        return entries;
    }

    TensorEntry entry_of(const std::string& name, const json& value) const {
        const auto field = [&](const char* key) -> const json& {
            if (!value.is_object() || !value.contains(key)) fail("tensor '" + name + "' has no " + key);
            return value[key];
        };
        const json& offsets = field("data_offsets");
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned()) {
            fail("tensor '" + name + "' has bad data_offsets");
        }
        TensorEntry entry{
            name, {dtype_of(name, field("dtype")), shape_of(name, field("shape"))}, offsets[0], offsets[1]};
        if (entry.end < entry.begin || entry.end - entry.begin != entry.desc.bytes()) {
            fail("tensor '" + name + "' is " + to_string(entry.desc) + ", but its offsets are " + offsets.dump());
        }
        return entry;
    }

    DType dtype_of(const std::string& name, const json& value) const {
        const auto* found = std::ranges::find_if(kDTypeNames, [&](const DTypeName& row) {
            return value.is_string() && value.get<std::string>() == row.name;
        });
        if (found == std::end(kDTypeNames)) fail("tensor '" + name + "' has the unknown element type " + value.dump());
        return found->type;
    }

    /// Refuses shapes whose size in bytes would overflow.
    Shape shape_of(const std::string& name, const json& value) const {
        bool good = value.is_array();
        Shape shape;
        std::int64_t elements = 1;
        for (std::size_t i = 0; good && i < value.size(); ++i) {
            good = value[i].is_number_unsigned() && value[i].get<std::uint64_t>() <= static_cast<std::uint64_t>(kMost);
            if (!good) break;
            shape.push_back(value[i].get<std::int64_t>());
            good = shape.back() == 0 || elements <= kMost / shape.back();
            elements = good ? elements * shape.back() : 0;
        }
        if (!good) fail("tensor '" + name + "' has the impossible shape " + value.dump());
        return shape;
    }

    /// Returns the checksum of all data, which is read in the order of the file.
    std::uint32_t read_tensors(const std::vector<TensorEntry>& entries, Checkpoint& checkpoint) const {
        std::uint32_t crc = 0;
        for (const TensorEntry& entry : entries) {
            HostTensor tensor(entry.desc);
            file_->read_at(data_begin_ + entry.begin, tensor.bytes());
            crc = crc32c(tensor.bytes(), crc);
            checkpoint.tensors.emplace(entry.name, std::move(tensor));
        }
        return crc;
    }

    static std::string bytes_text(std::uint64_t count) { return std::to_string(count) + " bytes"; }

    std::unique_ptr<InputFile> file_;
    std::uint64_t data_begin_ = 0;
};

}  // namespace

Checkpoint load(const FileSystem& files, const std::string& path) {
    return Reader(files, path).read();
}

}  // namespace cnntrain::checkpoint
