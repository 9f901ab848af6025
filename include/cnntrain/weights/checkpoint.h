// Checkpoints: one safetensors file each, `ckpt-<iteration>.safetensors` in the run's folder.
//
// Layout (https://github.com/huggingface/safetensors): u64 little-endian length of the header, the header as JSON, then
// the tensors without gaps. The header's __metadata__ holds "iteration", "epoch", whatever the caller adds, and two
// CRC-32C as 8 hexadecimal digits: "tensors_crc32c" of everything after the header and, first of all, "header_crc32c"
// of the header's text with 0 for each of its own digits. Early versions wrote "data_crc32c" in the place of the two.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::weights {

// Checkpoints whose checksums are wrong.

/// Treatment of files with wrong checksums: these cannot distinguish damage from a deliberate edit by another tool,
/// which only the user knows about.
enum class Edited {
    refused,  // Error(data)
    trusted,  // a warning; everything else about the file is checked as always
    ignored,  // nothing: the file is only looked at, and whoever reads its weights decides
};

/// The option by which the user trusts an edit; the error names it.
inline constexpr std::string_view kTrustFlag = "--trust-edited-checkpoint";

constexpr Edited edited_if(bool trusted) {
    return trusted ? Edited::trusted : Edited::refused;
}

struct Checkpoint {
    std::int64_t iteration = -1;  // -1: the file does not say (written by another tool)
    double epoch = 0;
    std::map<std::string, std::string> metadata;  // the caller's own keys
    std::map<std::string, HostTensor> tensors;    // parameters, moving averages, optimiser slots by variable name
};

/// Tensors that need not all be in memory at once.
struct TensorSource {
    std::map<std::string, TensorDesc> descs;
    std::function<HostTensor(const std::string& name)> tensor;
};
/// `tensors` must outlive it.
TensorSource source_of(const std::map<std::string, HostTensor>& tensors);
/// The same with 16-bit tensors widened to 32 bits.
TensorSource in_f32(TensorSource source);

/// Writes the file as a whole or not at all; after Error(storage), the previous file is still there.
void save(FileSystem& files, const std::string& path, const Checkpoint& checkpoint);
/// Writes `tensors` instead of the checkpoint's own. Calls for each of them twice.
void save(FileSystem& files, const std::string& path, const Checkpoint& checkpoint, const TensorSource& tensors);

/// Reads a checkpoint of this program, any other safetensors file, or a file of foreign.h. Names of wrappers that all
/// tensors share are removed: "module." of DataParallel.
/// Error(data) names the file and what is wrong with it: cut short, overlapping tensors, bad JSON, wrong checksum.
/// Error(unsupported) when its tensors do not fit into this machine's memory. BERT in Hugging Face's layout gets the
/// config.json beside it as the metadata kConfigKey (weights/bert_config.h), checked.
Checkpoint load(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

/// Checks that the checkpoint holds exactly the expected variables in their shapes. Float types may differ (cast
/// them). Error(data) lists all missing, extra and differing tensors at once.
void match(const std::map<std::string, TensorDesc>& expected, const Checkpoint& checkpoint, const std::string& path);

}  // namespace cnntrain::weights
