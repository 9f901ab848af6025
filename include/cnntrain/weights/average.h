// Averages of checkpoints: of every variable, optimiser slots included, in float64 and stored in the variable's own
// type or in float32.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"

namespace cnntrain::weights {

enum class Averaging { mean, exponential };
constexpr auto spellings(Averaging) {
    return enumerator_names<Averaging>();
}

struct AverageSettings {
    Averaging mode = Averaging::mean;
    double decay = 0.99;  // exponential: V = W_1, then V = decay * V + (1 - decay) * W_i
    Edited edited = Edited::refused;
    bool in_f32 = false;  // store 16-bit variables as float32
};

/// Writes the average of these checkpoint files, in their order, to `target`; it takes the iteration and epoch of the
/// last one. In memory are the result and one tensor of one checkpoint. Error(data) lists how a checkpoint differs from
/// the first one, in names, shapes or types; Error(usage) when there are none.
void average(FileSystem& files, const std::vector<std::string>& paths, const AverageSettings& settings,
             const std::string& target);

/// True for a file whose header says that average() wrote it.
bool is_average(const FileSystem& files, const std::string& path);

/// True if `target` is an undamaged checkpoint that average() made from files with these names in this mode. The decay
/// is not compared.
bool is_average_of(const FileSystem& files, const std::vector<std::string>& paths, Averaging mode,
                   const std::string& target);

// Moving averages of the weights in a training's checkpoints: a float32 tensor "<variable>/ema" beside each variable of
// the model.

inline constexpr std::string_view kAverageSuffix = "/ema";

/// Moves the averages out of the checkpoint. The keys are the names of the variables; empty if it has none.
std::map<std::string, HostTensor> take_averages(Checkpoint& checkpoint);

/// Replaces the model's variables by their averages and removes everything else. Error(usage) about `path` if the
/// checkpoint has no averages.
void use_averages(Checkpoint& checkpoint, const std::string& path);

// Inspection of checkpoints, also of other programs' files (foreign.h): variables, NaNs, one element of a variable.

struct VariableNans {
    std::string variable;
    std::vector<std::int64_t> indices;  // row-major, ascending
};

// The first two read the whole file. A wrong checksum is Error(data), unless edits are trusted.

/// Every variable with a NaN, in the order of names.
std::vector<VariableNans> find_nans(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

/// One element of a variable. Error(usage) with the nearest name, or the number of elements.
double element(const FileSystem& files, const std::string& path, const std::string& variable, std::int64_t index,
               Edited edited = Edited::refused);

struct CheckpointContent {
    std::string format;  // "safetensors", "PyTorch"
    std::map<std::string, TensorDesc> variables;
    // Members for other programs' files; see ForeignFile.
    std::string part;
    std::vector<std::string> other_parts;
    std::vector<LeftOut> left_out;
};

/// Reads no tensors.
CheckpointContent content(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

}  // namespace cnntrain::weights
