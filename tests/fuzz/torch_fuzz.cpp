// Files of torch.save(). The first byte says what the rest is: 'f' a file, 'p' a pickle, which is put into an archive
// with right checksums and the storages of tests/golden/foreign/views.pt.
#include "fuzz/fuzz_target.h"
#include "fuzz/weights_file.h"
#include "support/weight_containers.h"
#include "weights/foreign/bytes.h"

namespace cnntrain::fuzz {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

Entries entries_of(const std::string& name) {
    MemoryFiles files;
    write_text(files, "file", golden_weights(name));
    const auto file = files.open("file");
    const weights::ZipArchive archive{weights::FileSlice(*file)};
    Entries entries;
    for (const auto& [path, entry] : archive.entries()) {
        const auto bytes = entry.content.read_up_to(0, UINT64_MAX);
        entries.emplace_back(path.substr(path.find('/') + 1), weights::text_of(bytes));
    }
    return entries;
}

std::string pickle_of(const std::string& name) {
    for (const auto& [path, content] : entries_of(name))
        if (path == "data.pkl") return content;
    std::abort();
}

std::string with_pickle(const std::string& pickle) {
    static const Entries entries = entries_of("views.pt");
    Entries changed;
    for (const auto& [path, content] : entries)
        changed.emplace_back("a/" + path, path == "data.pkl" ? pickle : content);
    return test::zip_of(changed);
}

}  // namespace

std::vector<std::string> seeds() {
    const Entries small = {{"a/data.pkl", "\x80\x02}."}, {"a/data/0", "abcd"}};
    return {"p" + pickle_of("views.pt"),
            "p" + pickle_of("views.pt"),
            "p" + pickle_of("training.pth"),
            "p" + pickle_of("training_protocol_5.pth"),
            "f" + golden_weights("module_legacy.pth"),
            "f" + golden_weights("views_legacy.pt"),
            "f" + golden_weights("module.pth"),
            "f" + test::zip_of(small),
            "f" + test::zip_of(small, {.zip64 = true})};
}

// clang-format off
std::vector<std::string> words() {
    return {
        "(", ")", "]", "}", "t", "u", "e", "s", "a", "R", "b", "Q", ".", "q\x01", "h\x01", "h\x02", "\x81", "\x85",
        "\x86", "\x87", "\x93", "\x94", std::string("K\0", 2), "K\x01", "J\xff\xff\xff\xff",
        "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "X\x01\x01\x01\x01", "U\x01" "0",
        "ccollections\nOrderedDict\n", "ctorch._utils\n_rebuild_tensor_v2\n", "ctorch._utils\n_rebuild_parameter\n",
        "ctorch._tensor\n_rebuild_from_type_v2\n", "ctorch\nSize\n", "ctorch\nFloatStorage\n",
        "ctorch\nUntypedStorage\n", "ctorch\nfloat64\n", "cargparse\nNamespace\n", "PK\x05\x06", "PK\x01\x02"};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
    MemoryFiles files;
    write_text(files, "./weights.pth", data[0] == 'p' ? fuzz::with_pickle(content) : content);
    fuzz::read_weights(files, "./weights.pth");
    return 0;
}
