#include "cnntrain/weights/checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/foreign.h"
#include "cnntrain/weights/hugging_face.h"
#include "weights/format.h"

namespace cnntrain::weights {

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

namespace {

using nlohmann::json;

}  // namespace

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

std::vector<std::string> class_names_of(const FileSystem& files, const std::string& restore_path) {
    const std::string path = one_of(files, restore_path).path;
    try {
        if (foreign_format(files, path)) return {};
        return class_names(CheckpointFile(files, path, Edited::ignored).metadata());
    } catch (const Error& error) {
        throw error.within(path);
    }
}

}  // namespace cnntrain::weights
