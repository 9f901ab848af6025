#include "cnntrain/checkpoint/weights_file.h"

#include "checkpoint/wrapper.h"
#include "cnntrain/checkpoint/class_names.h"
#include "cnntrain/checkpoint/file.h"
#include "cnntrain/checkpoint/foreign.h"
#include "cnntrain/checkpoint/timm_config.h"

namespace cnntrain::checkpoint {

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

}  // namespace cnntrain::checkpoint
