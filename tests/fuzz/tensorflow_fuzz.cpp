// The index of a TensorFlow checkpoint. The first byte says what the rest is: 'f' a file, 'b' the content of a block
// and 's' a block that Snappy has compressed, of which a table with right checksums is made.
#include "fuzz/fuzz_target.h"
#include "fuzz/weights_file.h"
#include "support/weight_containers.h"
#include "weights/foreign/bytes.h"

namespace cnntrain::fuzz {
namespace {

/// The block of an index with its keys written out.
std::string block_of(const std::string& name) {
    MemoryFiles files;
    write_text(files, "file", golden_weights(name));
    const auto file = files.open("file");
    std::vector<std::pair<std::string, std::string>> entries;
    weights::for_each_entry(weights::FileSlice(*file),
                            [&](std::string_view key, std::string_view value) { entries.emplace_back(key, value); });
    return test::table_block(entries);
}

/// Literals of 40 bytes, and copies where the 8 bytes before are repeated.
std::string compressed(const std::string& block) {
    std::string result;
    test::append_varint(result, block.size());
    for (std::size_t at = 0; at < block.size();) {
        if (at >= 8 && at + 8 <= block.size() && block.compare(at, 8, block, at - 8, 8) == 0) {
            result += static_cast<char>((4 << 2) | 1);  // 8 bytes, from 8 before
            result += '\x08';
            at += 8;
            continue;
        }
        const std::size_t length = std::min<std::size_t>(40, block.size() - at);
        result += static_cast<char>((length - 1) << 2);
        result += block.substr(at, length);
        at += length;
    }
    return result;
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string block = block_of("v1.ckpt-7.index");
    const std::string zeros = test::table_block({{"", std::string("\x08\x01", 2)}, {"w", std::string(200, '\x08')}});
    return {"b" + block,
            "b" + block_of("v2.index"),
            "s" + compressed(block),
            "s" + compressed(zeros),
            "f" + golden_weights("v1.ckpt-7.index"),
            "f" + golden_weights("two_files.index")};
}

// clang-format off
std::vector<std::string> words() {
    return {
        "\x08\x01", "\x12\x04\x12\x02\x08\x02", "\x18\x01", "\x20\x7f", "\x28\x08", "\x3a\x02",
        "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", std::string("\0\x01\x02", 3), "\x35", "\xfe\x01\x01"};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
    static const std::string numbers = fuzz::golden_weights("v1.ckpt-7.data-00000-of-00001");
    MemoryFiles files;
    write_text(
        files, "./p.index",
        data[0] == 'f' ? content : test::table_of({content}, data[0] == 's' ? std::uint8_t{1} : std::uint8_t{0}));
    write_text(files, "./p.data-00000-of-00001", numbers);
    write_text(files, "./p.data-00001-of-00002", numbers);
    fuzz::read_weights(files, "./p.index");
    return 0;
}
