// TFRecord files, and the index that is kept next to them. The first byte says what the rest is: 'r' a file, 'c' a file
// whose checksums are put right first, so that what follows them is reached, 'i' an index, 'k' an index whose checksum
// is put right.
#include <cstdlib>
#include <cstring>
#include <span>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "data/records/tfrecord.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

const std::string kShard = "data/train-00000-of-00001";
const std::string kIndex = "train.cnntrain-index";

std::string records_of(const std::vector<std::string>& payloads) {
    MemoryFiles files;
    data::RecordWriter writer(files, "shard");
    for (const std::string& payload : payloads)
        writer.write(std::as_bytes(std::span(payload)));
    writer.commit();
    return read_text(files, "shard");
}

/// Right checksums for the lengths and payloads as they stand.
void put_checksums_right(std::string& shard) {
    const auto put = [&](std::size_t at, std::span<const std::byte> of) {
        const std::uint32_t crc = mask_crc(crc32c(of));
        std::memcpy(shard.data() + at, &crc, sizeof crc);
    };
    const auto bytes = [&](std::size_t at, std::size_t count) {
        return std::as_bytes(std::span(shard)).subspan(at, count);
    };
    for (std::size_t at = 0; shard.size() - at >= 16;) {
        std::uint64_t length = 0;
        std::memcpy(&length, shard.data() + at, sizeof length);
        put(at + 8, bytes(at, 8));
        if (length > shard.size() - at - 16) return;
        put(at + 12 + length, bytes(at + 12, length));
        at += 16 + length;
    }
}

/// Sets the checksum of an index, which is over all that is before its last four bytes.
void put_checksum_right(std::string& index) {
    if (index.size() < 4) return;
    const std::uint32_t crc = crc32c(std::as_bytes(std::span(index)).first(index.size() - 4));
    std::memcpy(index.data() + index.size() - 4, &crc, sizeof crc);
}

void read_all(MemoryFiles& files, const data::RecordOptions& options) {
    try {
        const data::RecordFiles records({kShard}, options, files);
        std::vector<std::byte> buffer;
        for (std::int64_t i = 0; i < records.size(); ++i) {
            if (records.read(i, buffer).size() != records.payload_bytes(i)) std::abort();
            records.describe(i);
        }
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) std::abort();
    }
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string shard = records_of({"first", "", std::string(300, 'x')});
    std::vector<std::string> result = {"r" + shard, "r" + records_of({}),
                                       "c" + records_of({std::string(70, 'y'), "z"})};
    MemoryFiles files;
    write_text(files, kShard, shard);
    read_all(files, {.index_name = kIndex});
    if (!exists(files, "data/" + kIndex)) std::abort();
    for (const char kind : {'i', 'k'})
        result.push_back(kind + read_text(files, "data/" + kIndex));
    return result;
}

std::vector<std::string> words() {
    return {};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    MemoryFiles files;
    if (data[0] == 'i' || data[0] == 'k') {
        static const std::string shard = fuzz::seeds().front().substr(1);
        write_text(files, fuzz::kShard, shard);
        std::string index(bytes);
        if (data[0] == 'k') fuzz::put_checksum_right(index);
        write_text(files, "data/" + fuzz::kIndex, index);
        fuzz::read_all(files, {.index_name = fuzz::kIndex});
    } else {
        std::string shard(bytes);
        if (data[0] == 'c') fuzz::put_checksums_right(shard);
        write_text(files, fuzz::kShard, shard);
        fuzz::read_all(files, {});
    }
    return 0;
}
