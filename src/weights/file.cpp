#include "cnntrain/weights/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/foreign.h"
#include "cnntrain/weights/hugging_face.h"
#include "weights/format.h"

namespace cnntrain::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max() / 8;  // elements of any type
constexpr std::uint64_t kLongestHeader = 100'000'000;                                 // the format's own limit
constexpr double kLongestRun = 1e15;  // iterations or epochs; exact in float64, and sums of them do not overflow

struct TensorEntry {
    std::string name;
    TensorDesc desc;
    std::uint64_t begin = 0;  // within the data
    std::uint64_t end = 0;
};

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::data,
                "checkpoint '" + path + "': " + what + "; the file is damaged or not a checkpoint: use another one");
}

/// About a checksum that does not fit.
void damaged_or_edited(const std::string& path, const std::string& what, Edited edited) {
    if (edited == Edited::ignored) return;
    const std::string text = "checkpoint '" + path + "': " + what;
    if (edited == Edited::refused) {
        throw Error(ErrorKind::data, text +
                                         "; the file is damaged, or another tool edited it: use another one or, if the "
                                         "edit was meant, give " +
                                         std::string(kTrustFlag));
    }
    log::warning(text + "; it is used as it is, as " + std::string(kTrustFlag) + " says");
}

}  // namespace

/// Fills a CheckpointFile; every message names the file.
class HeaderReader {
public:
    explicit HeaderReader(CheckpointFile& into) : into_(into), file_(into.file_.get()) {}

    void read() {
        const json header = read_header();
        into_.crc_ = read_metadata(header);
        for (const TensorEntry& entry : entries_of(header)) {
            into_.names_.push_back(entry.name);
            into_.places_.emplace(entry.name, CheckpointFile::Place{entry.desc, data_begin_ + entry.begin});
        }
    }

private:
    [[noreturn]] void fail(const std::string& what) const { damaged(file_->path(), what); }

    json read_header() {
        std::uint64_t length = 0;
        if (file_->size_bytes() < kLengthBytes) fail("it is cut short, only " + bytes_text(file_->size_bytes()));
        file_->read_at(0, std::as_writable_bytes(std::span(&length, 1)));
        if (length > kLongestHeader) fail("it does not begin like a safetensors file");
        if (length > file_->size_bytes() - kLengthBytes) {
            fail("it is cut short: its header needs " + bytes_text(length) + ", the whole file has " +
                 bytes_text(file_->size_bytes()));
        }
        text_.resize(length);
        file_->read_at(kLengthBytes, std::as_writable_bytes(std::span(text_)));
        data_begin_ = kLengthBytes + length;
        try {
            check_json(text_);
        } catch (const Error& error) {
            fail("its header: " + std::string(error.what()));
        }
        json header = json::parse(text_);
        if (!header.is_object()) fail("its header is not an object of tensors");
        return header;
    }

    /// Moves the keys that this program owns into their members; returns the tensors' checksum, if there is one.
    std::optional<std::uint32_t> read_metadata(const json& header) {
        if (!header.contains(kMetadata)) return std::nullopt;
        const json& metadata = header[kMetadata];
        if (!metadata.is_object()) fail("its __metadata__ is not an object");
        for (const auto& [key, value] : metadata.items()) {
            if (!value.is_string()) fail("its metadata '" + key + "' is not a text");
            const auto& text = value.get_ref<const std::string&>();
            if (key == kIteration) {
                read_iteration(text);
            } else if (key == kEpoch) {
                read_epoch(text);
            } else if (key != kHeaderCrc && key != kTensorsCrc && key != kEarlyTensorsCrc) {
                into_.metadata_[key] = text;
            }
        }
        return read_checksums(metadata);
    }

    void read_iteration(const std::string& text) {
        into_.iteration_ = number<std::int64_t>(kIteration, text);
        // -1 stands in averages of other tools' checkpoints that early versions wrote.
        if (into_.iteration_ < -1 || static_cast<double>(into_.iteration_) > kLongestRun)
            fail("its iteration cannot be " + text);
    }

    void read_epoch(const std::string& text) {
        into_.epoch_ = number<double>(kEpoch, text);
        if (!(into_.epoch_ >= 0 && into_.epoch_ <= kLongestRun)) fail("its epoch cannot be " + text);
    }

    std::optional<std::uint32_t> read_checksums(const json& metadata) const {
        const auto saved = [&](const char* key) -> std::optional<std::uint32_t> {
            if (!metadata.contains(key)) return std::nullopt;
            return number<std::uint32_t>(key, metadata[key].get_ref<const std::string&>(), 16);
        };
        const auto header_crc = saved(kHeaderCrc);
        const auto tensors_crc = saved(kTensorsCrc);
        if (!header_crc && !tensors_crc) return saved(kEarlyTensorsCrc);
        const bool intact = header_crc && tensors_crc && header_is_as_saved();
        if (!intact) damaged_or_edited(file_->path(), "the checksum of its header does not fit", into_.edited_);
        return intact ? tensors_crc : std::nullopt;
    }

    bool header_is_as_saved() const {
        if (!text_.starts_with(kHeaderBegin)) return false;
        std::string without = text_;
        const std::string digits = without.substr(kHeaderBegin.size(), kNoDigits.size());
        without.replace(kHeaderBegin.size(), kNoDigits.size(), kNoDigits);
        return digits == hex_text(crc32c(std::as_bytes(std::span(without))));
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
        if (entry.end < entry.begin || entry.end - entry.begin != entry.desc.bytes())
            fail("tensor '" + name + "' is " + to_string(entry.desc) + ", but its offsets are " + offsets.dump());
        return entry;
    }

    DType dtype_of(const std::string& name, const json& value) const {
        const std::string text = value.is_string() ? value.get<std::string>() : "";
        const auto* found = std::ranges::find(kDTypeNames, text, &DTypeName::name);
        if (found != std::end(kDTypeNames)) return found->type;
        if (std::ranges::find(kOtherDTypes, text) != std::end(kOtherDTypes)) {
            throw Error(ErrorKind::unsupported, "checkpoint '" + file_->path() + "': tensor '" + name +
                                                    "' has elements of type " + text +
                                                    ", which are not read; save it with floats, or without the tensor");
        }
        fail("tensor '" + name + "' has the unknown element type " + value.dump());
    }

    /// Refuses shapes whose size in bytes would overflow.
    Shape shape_of(const std::string& name, const json& value) const {
        bool good = value.is_array();
        Shape shape;
        std::int64_t elements = 1;
        for (std::size_t i = 0; good && i < value.size(); ++i) {
            good = value[i].is_number_unsigned() &&
                   value[i].get<std::uint64_t>() <= static_cast<std::uint64_t>(kMostElements);
            if (!good) break;
            shape.push_back(value[i].get<std::int64_t>());
            good = shape.back() == 0 || elements <= kMostElements / shape.back();
            elements = good ? elements * shape.back() : 0;
        }
        if (!good) fail("tensor '" + name + "' has the impossible shape " + value.dump());
        return shape;
    }

    static std::string bytes_text(std::uint64_t count) { return std::to_string(count) + " bytes"; }

    CheckpointFile& into_;
    const InputFile* file_;
    std::string text_;  // of the header
    std::uint64_t data_begin_ = 0;
};

CheckpointFile::CheckpointFile(const FileSystem& files, const std::string& path, Edited edited)
    : file_(files.open(path)), edited_(edited) {
    if (const auto format = foreign_format(files, path)) {
        throw Error(ErrorKind::unsupported, "'" + path + "' is a file of " + std::string(name(*format)) +
                                                ", and this command reads safetensors files; make one of it first: "
                                                "cnntrain convert --from " +
                                                path + " --to FILE.safetensors");
    }
    HeaderReader(*this).read();
}

const CheckpointFile::Place& CheckpointFile::place(const std::string& name) const {
    const auto found = places_.find(name);
    CNNTRAIN_CHECK(found != places_.end(), path() + " has no tensor " + name);
    return found->second;
}

const TensorDesc& CheckpointFile::desc(const std::string& name) const {
    return place(name).desc;
}

HostTensor CheckpointFile::read(const std::string& name) const {
    const Place& at = place(name);
    const std::uint64_t bytes = at.desc.bytes();
    const std::string needs = "its tensor '" + name + "' needs ";
    if (bytes > machine_memory_bytes()) too_large(path(), needs, bytes);
    try {
        HostTensor tensor(at.desc);
        file_->read_at(at.offset, tensor.bytes());
        return tensor;
    } catch (const std::bad_alloc&) {
        too_large(path(), needs, bytes);
    }
}

void CheckpointFile::check_memory() const {
    std::uint64_t bytes = 0;  // cannot overflow: all of it lies in the file
    for (const auto& [name, at] : places_)
        bytes += at.desc.bytes();
    require_room(path(), "its tensors need ", bytes);
}

void CheckpointFile::check_crc(std::uint32_t crc) const {
    if (crc_ && crc != *crc_) damaged_or_edited(path(), "the checksum of its tensors does not fit", edited_);
}

void CheckpointFile::verify() const {
    std::uint32_t crc = 0;
    for (const std::string& name : names_)
        crc = crc32c(read(name).bytes(), crc);
    check_crc(crc);
}

void too_large(const std::string& path, const std::string& what, std::uint64_t bytes) {
    throw Error(ErrorKind::unsupported, "checkpoint '" + path + "': " + what + size_text(bytes) +
                                            " of memory, more than this machine has; use a larger one, or another "
                                            "checkpoint");
}

void require_room(const std::string& path, const std::string& what, std::uint64_t bytes) {
    if (bytes > machine_memory_bytes()) too_large(path, what, bytes);
    const MemoryLeft left = memory_left();
    if (bytes <= left.bytes) return;
    throw Error(ErrorKind::unsupported, "checkpoint '" + path + "': " + what + size_text(bytes) +
                                            " of memory, and the process has " + size_text(left.bytes) + " more " +
                                            left.limit + "; " + left.remedy);
}

WeightsHeader weights_header(const FileSystem& files, const std::string& path) {
    WeightsHeader header;
    if (foreign_format(files, path)) {
        header.tensors = open_foreign(files, path).tensors.descs;
    } else {
        const CheckpointFile file(files, path, Edited::ignored);
        for (const std::string& name : file.names())
            header.tensors.emplace(name, file.desc(name));
        header.metadata = file.metadata();
    }
    take_wrapper_away(header.tensors);
    return header;
}

Checkpoint load_weights(const FileSystem& files, const std::string& path, Edited edited) {
    Checkpoint checkpoint = load(files, path, edited);
    if (checkpoint.metadata.contains(kClassesKey)) return checkpoint;
    if (const auto config = timm_config_beside(files, path)) set_class_names(checkpoint.metadata, config->class_names);
    return checkpoint;
}

void set_class_names(std::map<std::string, std::string>& metadata, const std::vector<std::string>& names) {
    if (!names.empty()) metadata[kClassesKey] = json(names).dump();
}

std::vector<std::string> class_names(const std::map<std::string, std::string>& metadata) {
    const auto found = metadata.find(kClassesKey);
    if (found == metadata.end()) return {};
    const json list = json::parse(found->second, nullptr, /*allow_exceptions=*/false);
    const bool texts = list.is_array() && std::ranges::all_of(list, [](const json& name) { return name.is_string(); });
    if (!texts) {
        throw Error(ErrorKind::data, std::string("metadata '") + kClassesKey +
                                         "': expected a JSON list of class names, got " + found->second.substr(0, 100));
    }
    return list.get<std::vector<std::string>>();
}

std::map<std::string, std::string> metadata_of(const FileSystem& files, const std::string& path) {
    if (foreign_format(files, path)) return {};
    return CheckpointFile(files, path, Edited::ignored).metadata();
}

std::vector<std::string> class_names_of(const FileSystem& files, const std::string& restore_path) {
    const std::string path = one_of(files, restore_path).path;
    try {
        return class_names(metadata_of(files, path));
    } catch (const Error& error) {
        throw error.within(path);
    }
}

}  // namespace cnntrain::weights
