// Checkpoints, and the compiled models of inference, which are files of the same format. The first byte says what the
// rest is: 'c' a file, 'h' and 'x' a header, a zero byte and the tensors, of which a checkpoint and a compiled model
// are made with the right length and checksums in front, so that what follows these is reached.

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/safetensors_parts.h"
#include "run/request_latency.h"

namespace cnntrain::fuzz {
namespace {

using weights::Checkpoint;
using weights::Edited;

constexpr const char* kPath = "run/ckpt-7.safetensors";
const std::map<std::string, std::string> kKey = {{"backend", "cpu"}, {"checkpoint", "12 bytes, crc32c 01234567"}};

void read_checkpoint(MemoryFiles& files) {
    Checkpoint loaded;
    const bool sound = accepted([&] { loaded = weights::load(files, kPath); });
    require(sound == accepted([&] { weights::find_nans(files, kPath); }));
    require(sound == accepted([&] { weights::average(files, {kPath, kPath}, {}, "average"); }));
    const bool trusted = accepted([&] { loaded = weights::load(files, kPath, Edited::trusted); });
    require(trusted || !sound);
    if (!trusted) return;
    weights::save(files, "copy", loaded);
    const Checkpoint copy = weights::load(files, "copy");
    require(copy.iteration == loaded.iteration && copy.epoch == loaded.epoch && copy.metadata == loaded.metadata &&
            copy.tensors.size() == loaded.tensors.size());
}

}  // namespace

std::vector<std::string> seeds() {
    MemoryFiles files;
    Checkpoint checkpoint;
    checkpoint.iteration = 7;
    checkpoint.epoch = 0.5;
    checkpoint.tensors["w"] = HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    checkpoint.tensors["h"] = HostTensor::of<float>({2}, {1, -1}).cast(DType::bf16);
    checkpoint.metadata["seed"] = "3";
    weights::save(files, kPath, checkpoint);
    require(run::write_compiled_model(files, "model", kKey, checkpoint));
    const std::string file = read_text(files, kPath);
    const std::string plain = R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    const std::string early = R"({"__metadata__":{"iteration":"7","epoch":"1","data_crc32c":"00000000"}})";
    return {"c" + file, "h" + parts_of(file), "x" + parts_of(read_text(files, "model")), "h" + plain + '\0' + "x",
            "h" + early};
}

// clang-format off
std::vector<std::string> words() {
    return {
        "{", "}", "[", "]", ",", ":", "\"", "{\"a\":", "\"w\"", "\"shape\"", "\"dtype\"", "\"BF16\"", "\"I64\"",
        "-1", "nan", "1e999", "null", "18446744073709551615", "\\u0000", "0", "[0,4]", "\"__metadata__\":{}",
        "\"data_offsets\"", "\"iteration\":\"5\"", "4611686018427387904"};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    log::set_level(log::Level::error);
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    MemoryFiles files;
    write_text(files, fuzz::kPath, data[0] == 'c' ? std::string(bytes) : fuzz::sound_file(bytes));
    if (data[0] == 'x') {
        run::read_compiled_model(files, fuzz::kPath, fuzz::kKey);
    } else {
        fuzz::read_checkpoint(files);
    }
    return 0;
}
