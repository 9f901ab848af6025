#include <utility>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/file.h"

namespace cnntrain::checkpoint {

Checkpoint load(const FileSystem& files, const std::string& path) {
    const CheckpointFile file(files, path);
    Checkpoint checkpoint;
    checkpoint.iteration = file.iteration();
    checkpoint.epoch = file.epoch();
    checkpoint.metadata = file.metadata();
    std::uint32_t crc = 0;
    for (const std::string& name : file.names()) {
        HostTensor tensor = file.read(name);
        crc = crc32c(tensor.bytes(), crc);
        checkpoint.tensors.emplace(name, std::move(tensor));
    }
    file.check_crc(crc);
    return checkpoint;
}

}  // namespace cnntrain::checkpoint
