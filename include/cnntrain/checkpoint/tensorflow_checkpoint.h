// Writes TensorFlow's checkpoints as tf.train.Saver does (version 2), for tf.train.Checkpoint's readers, too. foreign.h
// reads them.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"

namespace cnntrain::checkpoint {

/// PREFIX.data-00000-of-00001, the file "checkpoint" in its folder, which names the newest prefix, and PREFIX.index.
std::vector<std::string> tensorflow_paths(const std::string& prefix);

/// Writes the tensors with their names and bits. An index is there only when all numbers are.
void save_tensorflow(FileSystem& files, const std::string& prefix, const TensorSource& tensors);

}  // namespace cnntrain::checkpoint
