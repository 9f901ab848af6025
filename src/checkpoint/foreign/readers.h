// The readers of single formats, behind cnntrain/checkpoint/foreign.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "checkpoint/foreign/bytes.h"
#include "cnntrain/checkpoint/foreign.h"

namespace cnntrain::checkpoint {

/// What a reader finds.
struct ForeignContent {
    ForeignFile file;
    std::uint64_t stored_bytes = 0;  // of all files that it reads
};

/// torch.save() as a zip archive.
ForeignContent open_torch_zip(std::shared_ptr<const InputFile> file, const std::string& part);
/// torch.save() before version 1.6: pickles, one behind the other, and the storages.
ForeignContent open_torch_legacy(const std::shared_ptr<const InputFile>& file, const std::string& part);
/// Bytes with which such a file begins.
inline constexpr std::string_view kTorchLegacy("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);

/// An HDF5 file.
ForeignContent open_hdf5(std::shared_ptr<const InputFile> file);
inline constexpr std::string_view kHdf5("\x89HDF\r\n\x1a\n", 8);
/// .keras: a zip archive with an HDF5 file in it.
ForeignContent open_keras_zip(std::shared_ptr<const InputFile> file);
inline constexpr const char* kKerasWeights = "model.weights.h5";

/// `index`: the path of PREFIX.index.
ForeignContent open_tensorflow(const FileSystem& files, const std::string& index);

}  // namespace cnntrain::checkpoint
