// Compares a vocabulary with the one that the run of a checkpoint has read.
#pragma once

#include <string>

#include "cnntrain/base/io.h"

namespace cnntrain::train {

/// True if the checkpoint's run has read a vocabulary and this file is byte for byte the same; false if the checkpoint
/// records none: it is one of pretraining, of an earlier version or of another program. Error(data) for another file:
/// with it, every text would become other numbers than the network has learned.
bool is_vocabulary_of(const FileSystem& files, const std::string& checkpoint, const std::string& vocabulary);

}  // namespace cnntrain::train
