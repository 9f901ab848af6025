// Moving averages of the weights in a training's checkpoints: a float32 tensor "<variable>/ema" beside each variable of
// the model.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cnntrain/base/tensor.h"
#include "cnntrain/checkpoint/checkpoint.h"

namespace cnntrain::checkpoint {

inline constexpr std::string_view kAverageSuffix = "/ema";

/// Moves the averages out of the checkpoint. The keys are the names of the variables; empty if it has none.
std::map<std::string, HostTensor> take_averages(Checkpoint& checkpoint);

/// Replaces the model's variables by their averages and removes everything else. Error(usage) about `path` if the
/// checkpoint has no averages.
void use_averages(Checkpoint& checkpoint, const std::string& path);

}  // namespace cnntrain::checkpoint
