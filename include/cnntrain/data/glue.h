// The eleven tasks of GLUE (Wang et al. 2018): their files, as settings for open_labelled_text().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/sets.h"

namespace cnntrain::data {

enum class GluePhase : std::uint8_t { training, evaluation, prediction };

struct GlueTask {
    std::string name;                  // "mnli-mm"
    std::string folder;                // "MNLI"
    std::array<std::string, 3> files;  // by phase; empty: the task has none
    // Columns of files with and without labels; empty: found in the header.
    std::optional<TextColumns> labelled = {};
    std::optional<TextColumns> unlabelled = {};
    std::vector<std::string> labels = {};  // by number, also the texts of predictions; empty: scores

    nn::LabelKind kind() const { return labels.empty() ? nn::LabelKind::score : nn::LabelKind::single; }
};

/// All tasks by name: cola sst2 mrpc stsb qqp mnli mnli-mm ax qnli rte wnli.
const std::vector<GlueTask>& glue_tasks();
/// Error(usage) with the nearest name for an unknown one.
const GlueTask& glue_task(std::string_view name);

/// The settings with file, columns and labels of a phase; GlueTask::labels are the classes to open it with. The file is
/// in `data_dir`, or in its folder with the task's name. Error(usage) for a phase that the task does not have;
/// Error(data), naming task, file and folders, if there is no file.
LabelledTextSettings glue_settings(const GlueTask& task, GluePhase phase, const std::string& data_dir,
                                   LabelledTextSettings settings, const FileSystem& files = posix_files());

}  // namespace cnntrain::data
