// HDF5 files, as Keras and h5py write them. The first byte says what the rest is: 'f' a file, 'k' one that is put into
// an archive of Keras with a right checksum.
#include "fuzz/fuzz_target.h"
#include "fuzz/weights_file.h"
#include "support/weight_containers.h"

namespace cnntrain::fuzz {

std::vector<std::string> seeds() {
    return {"f" + golden_weights("latest.h5"), "f" + golden_weights("latest.h5"),
            "f" + golden_weights("bfloat16.weights.h5"), "k" + golden_weights("bfloat16.weights.h5"),
            "f" + golden_weights("keras2.h5")};
}

// clang-format off
std::vector<std::string> words() {
    return {
        "TREE", "SNOD", "HEAP", "GCOL", "OHDR", "OCHK", "vars", "layers", "name", "dtype", "bfloat16",
        std::string("\x10\0", 2), std::string("\x11\0", 2), std::string("\x08\0", 2), std::string("\x0c\0", 2),
        std::string("\x60\0\0\0\0\0\0\0", 8), std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8),
        std::string("\0\x01\0\0\0\0\0\0", 8), std::string("\0\0\0\0\0\0\0\x80", 8)};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
    MemoryFiles files;
    write_text(files, "./model.h5",
               data[0] == 'k' ? test::zip_of({{"config.json", "{}"}, {"model.weights.h5", content}}) : content);
    fuzz::read_weights(files, "./model.h5");
    return 0;
}
