// `cnntrain convert RUN [OUT] --to FORMAT`: writes a trained network for other programs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/hugging_face.h"

namespace cnntrain::cli {

/// The rows of this use of the command, and --to.
std::vector<Flag> run_flags();

/// Returns the exit code.
int convert_run(const Flags& flags);

/// Checks a line without RUN, where --to is a path: Error(usage) if it is the name of a format, or an option of RUN is
/// given.
void refuse_format_of_file(const Flags& flags);

// ---- RUN --to hf: a folder for transformers, which convert.cpp writes ----

bool wants_hugging_face(const Flags& flags);
weights::Found checkpoint_of_run(const Flags& flags);
/// The model.safetensors in OUT, or in hf/ beside the checkpoint.
std::string hugging_face_target(const Flags& flags, const std::string& checkpoint);
/// Error(unsupported) unless it is a BERT in this program's layout.
void refuse_for_hugging_face(const weights::Checkpoint& source, const std::string& path);
/// The network of the run.
std::unique_ptr<tasks::TrainedNetwork> open_run(const Flags& flags, const weights::Checkpoint& source);
/// Writes model.safetensors, the first of the paths, and the files beside it if their variables and answers are the
/// run's: weights::write_if_same(). Returns lines for the user.
std::string write_compared(tasks::TrainedNetwork& network, const std::vector<std::string>& paths,
                           const weights::Converted& written, const std::map<std::string, HostTensor>& variables,
                           const std::function<void(FileSystem&)>& write);

}  // namespace cnntrain::cli
