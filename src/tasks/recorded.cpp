#include "tasks/recorded.h"

#include <filesystem>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::tasks {
RecordedRun arguments_beside(const FileSystem& files, const std::string& place) {
    std::string path = file_beside(files, place, kArguments);
    const std::filesystem::path folder = std::filesystem::path(place).parent_path();
    if (path.empty() && folder.filename() == "ckpt") path = file_beside(files, folder.string(), kArguments);  // average
    if (path.empty()) return {};
    return {path, read_text(files, path)};
}

RecordedRun recorded_run(const FileSystem& files, const std::string& restore_path) {
    if (restore_path.empty()) return {};
    const std::string given = without_trailing_slashes(restore_path);
    if (RecordedRun run = arguments_beside(files, given); !run.source.empty()) return run;
    try {
        const std::string checkpoint = weights::one_of(files, given).path;
        if (RecordedRun run = arguments_beside(files, checkpoint); !run.source.empty()) return run;
        return {checkpoint, weights::run_options_of(files, checkpoint)};
    } catch (const Error&) {
        return {};  // the command reports what is wrong with the checkpoint
    }
}

std::string file_beside(const FileSystem& files, const std::string& checkpoint, const char* name) {
    const std::filesystem::path place(checkpoint);
    for (const auto& folder : {place, place.parent_path()}) {
        std::string path = (folder / name).string();
        if (!folder.empty() && exists(files, path)) return path;
    }
    return {};
}

Layer recorded_options(const RecordedRun& run, const OptionSet& options) {
    if (run.text.empty()) return {};
    try {
        return options::layer_from_json(options, run.text);
    } catch (const Error& error) {
        throw error.within(run.source);
    }
}

void take(Resolution& run, const Layer& layer, Source source, bool (*wanted)(const Option&)) {
    for (const auto& [option, value] : layer) {
        const std::string name = key(*option);
        if (wanted(*option) && run.values.has(name) && !run.values.given(name)) run.values.set(name, value, source);
    }
}

}  // namespace cnntrain::tasks
