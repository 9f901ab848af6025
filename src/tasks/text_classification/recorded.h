// Reads options from files beside a checkpoint, written by a run or by another program.
#pragma once

#include "cnntrain/base/io.h"
#include "cnntrain/config/task_options.h"

namespace cnntrain::tasks {

/// Takes the options of the model from the checkpoint with which training starts: from a run's arguments.json, or from
/// the config.json of Hugging Face's transformers. A vocab.txt beside it is the default vocabulary.
void take_recorded_model(config::Resolution& run, const FileSystem& files);

/// Sets --split-special-tokens, if nothing else did: those of a vocabulary of transformers are kept whole, unless its
/// tokenizer_config.json says otherwise.
void choose_special_tokens(config::OptionValues& values, const FileSystem& files);

}  // namespace cnntrain::tasks
