// `cnntrain convert RUN [OUT] --to FORMAT`: writes a trained network for other programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/checkpoint/hugging_face.h"

namespace cnntrain::cli {

/// The rows of this use of the command, and --to.
std::vector<Flag> run_flags();

/// Returns the exit code.
int convert_run(const Flags& flags);

/// Without RUN, --to is a path: Error(usage) if it is the name of a format, or an option of RUN is given.
void refuse_format_of_file(const Flags& flags);

// ---- RUN --to hf: a folder for transformers, which convert.cpp writes ----

bool wants_hugging_face(const Flags& flags);
checkpoint::Found checkpoint_of_run(const Flags& flags);
/// The model.safetensors in OUT, or in hf/ beside the checkpoint.
std::string hugging_face_target(const Flags& flags, const std::string& checkpoint);
/// Error(unsupported) unless it is a BERT in this program's layout.
void refuse_for_hugging_face(const checkpoint::Checkpoint& source, const std::string& path);
/// Reads the written file and compares it with the run: its variables, and a classifier's answers. Returns lines for
/// the user; Error(data), and the file is removed, if they differ.
std::string compared_with_run(const Flags& flags, const std::string& path, const checkpoint::Converted& written,
                              const std::map<std::string, HostTensor>& variables);

}  // namespace cnntrain::cli
