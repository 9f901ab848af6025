#include "tasks/recorded.h"

#include <filesystem>

#include "cnntrain/base/error.h"
#include "cnntrain/config/parse.h"

namespace cnntrain::tasks {

std::string file_beside(const FileSystem& files, const std::string& checkpoint, const char* name) {
    const std::filesystem::path place(checkpoint);
    for (const auto& folder : {place, place.parent_path()}) {
        const std::string path = (folder / name).string();
        if (!folder.empty() && exists(files, path)) return path;
    }
    return {};
}

Layer recorded_options(const FileSystem& files, const std::string& path, const OptionSet& options) {
    if (path.empty()) return {};
    try {
        return config::layer_from_json(options, read_text(files, path));
    } catch (const Error& error) {
        throw error.within(path);
    }
}

void take(Resolution& run, const Layer& layer, Source source, bool (*wanted)(const Option&)) {
    for (const auto& [option, value] : layer) {
        const std::string name = key(*option);
        if (wanted(*option) && run.values.has(name) && !run.values.given(name)) run.values.set(name, value, source);
    }
}

}  // namespace cnntrain::tasks
