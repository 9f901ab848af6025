// Weight files of other programs, read with the names and element types that they have there:
//
// - PyTorch: .pth, .pt, .bin of torch.save(), as a zip archive or in the format before it. Pickles are data here: of
//   Python's classes and functions, a short list is known by name, none is called, any other is refused.
// - Keras: .h5, .weights.h5, .keras. Names are those of layer and variable, "conv1/kernel", with the layers around a
//   nested layer in front; of layers that Keras 3 numbers and this program does not know, "layer/0". Where these names
//   are not unique, paths within the file.
// - TensorFlow: checkpoints of versions 1 and 2, PREFIX.index and PREFIX.data-00000-of-0000N.
//
// Formats are recognised by content. Values without an element type of DType (texts, complex numbers), states of
// optimisers that a file keeps apart, and names that are not UTF-8 are left out and listed. A bool becomes u8 0 or 1.
// No size in a file makes the reader allocate more than a small multiple of the file's own size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::weights {

enum class ForeignFormat { torch, keras, tensorflow };

/// "PyTorch", "Keras", "TensorFlow"
std::string_view name(ForeignFormat format);

/// Empty for any other file, and where there is none. Reads a few bytes. Error(unsupported) for files that resemble one
/// of the formats and are none: other zip archives and pickles.
std::optional<ForeignFormat> foreign_format(const FileSystem& files, const std::string& path);

struct LeftOut {
    std::string name;
    std::string reason;  // "has elements of type complex64"
};

struct ForeignFile {
    ForeignFormat format = ForeignFormat::torch;
    /// PyTorch: where the dictionary of tensors is in the file, "state_dict" or "model"; empty: it is the whole file.
    std::string part;
    std::vector<std::string> other_parts;  // dictionaries of tensors that were not taken
    std::vector<LeftOut> left_out;
    std::vector<std::string> paths;  // of all files that are read
    /// Tensors are read when they are asked for, by one thread. Checksums of the file are checked then: Error(data).
    TensorSource tensors;
};

/// `part`: PyTorch: the dictionary of tensors to take; empty: the well-known or the only one. Error(data) names the
/// file and what is wrong with it, Error(unsupported) what this program does not read, Error(usage) the parts there are
/// if none of them can be chosen.
ForeignFile open_foreign(const FileSystem& files, const std::string& path, const std::string& part = "");

/// All tensors in memory; iteration -1. Error(unsupported) when they do not fit.
Checkpoint load_foreign(const FileSystem& files, const std::string& path);

/// The file that find_checkpoints() finds for the PREFIX of a TensorFlow checkpoint.
inline constexpr std::string_view kTensorFlowIndex = ".index";

// Writes TensorFlow's checkpoints as tf.train.Saver does (version 2), for tf.train.Checkpoint's readers, too. foreign.h
// reads them.

/// PREFIX.data-00000-of-00001, the file "checkpoint" in its folder, which names the newest prefix, and PREFIX.index.
std::vector<std::string> tensorflow_paths(const std::string& prefix);

/// Writes the tensors with their names and bits. An index is there only when all numbers are.
void save_tensorflow(FileSystem& files, const std::string& prefix, const TensorSource& tensors);

}  // namespace cnntrain::weights
