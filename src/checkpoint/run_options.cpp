#include "cnntrain/checkpoint/run_options.h"

#include "cnntrain/checkpoint/file.h"

namespace cnntrain::checkpoint {

std::string run_options(const std::map<std::string, std::string>& metadata) {
    const auto found = metadata.find(kRunOptionsKey);
    return found == metadata.end() ? "" : found->second;
}

std::string run_options_of(const FileSystem& files, const std::string& path) {
    return run_options(CheckpointFile(files, path, Edited::ignored).metadata());
}

}  // namespace cnntrain::checkpoint
