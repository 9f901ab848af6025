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
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
/// config.json beside it as the metadata kConfigKey (weights/hugging_face.h), checked.
Checkpoint load(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

/// Checks that the checkpoint holds exactly the expected variables in their shapes. Float types may differ (cast
/// them). Error(data) lists all missing, extra and differing tensors at once.
void match(const std::map<std::string, TensorDesc>& expected, const Checkpoint& checkpoint, const std::string& path);

// The weights in a file of any program whose format is read here.

struct WeightsHeader {
    std::map<std::string, TensorDesc> tensors;
    std::map<std::string, std::string> metadata;  // of checkpoints of this program
};

/// Names and shapes, without the tensors themselves. Error(data) as load().
WeightsHeader weights_header(const FileSystem& files, const std::string& path);

/// The tensors by the names that they have in the file. Names of classes in timm's config.json beside it become those
/// of the checkpoint (set_class_names()). Errors as load().
Checkpoint load_weights(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

// Names of the classes by number, as a checkpoint carries them: metadata "classes", a JSON list of texts.

inline constexpr const char* kClassesKey = "classes";

/// Writes nothing when there are no names.
void set_class_names(std::map<std::string, std::string>& metadata, const std::vector<std::string>& names);
/// Names in the metadata; empty if there are none. Error(data) if they are no list of texts.
std::vector<std::string> class_names(const std::map<std::string, std::string>& metadata);

/// Metadata of a checkpoint file; none of another program's. Reads the header only.
std::map<std::string, std::string> metadata_of(const FileSystem& files, const std::string& path);
/// Names in the checkpoint, or in the latest one in the folder, that a restore path names (find_checkpoints()).
/// Reads the header only.
std::vector<std::string> class_names_of(const FileSystem& files, const std::string& restore_path);

// A checkpoint file that is read tensor by tensor, for programs that look at many of them.

class CheckpointFile {
public:
    /// Reads the header. Error(data) names the file and what is wrong with it.
    CheckpointFile(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

    const std::string& path() const { return file_->path(); }
    std::int64_t iteration() const { return iteration_; }  // -1: the file does not say
    double epoch() const { return epoch_; }
    const std::map<std::string, std::string>& metadata() const { return metadata_; }  // the writer's own keys

    /// Names of the tensors, in the order of the file.
    const std::vector<std::string>& names() const { return names_; }
    const TensorDesc& desc(const std::string& name) const;
    /// Error(unsupported) when the tensor does not fit into this machine's memory.
    HostTensor read(const std::string& name) const;
    /// Error(unsupported) when all tensors together do not fit.
    void check_memory() const;

    /// Error(data) unless `crc`, the CRC-32C of all tensors, equals the saved one. A file without one is accepted.
    void check_crc(std::uint32_t crc) const;
    /// Reads everything once and checks it.
    void verify() const;

private:
    struct Place {
        TensorDesc desc;
        std::uint64_t offset = 0;  // within the file
    };
    friend class HeaderReader;
    const Place& place(const std::string& name) const;

    std::unique_ptr<InputFile> file_;
    Edited edited_;
    std::int64_t iteration_ = -1;
    double epoch_ = 0;
    std::map<std::string, std::string> metadata_;
    std::optional<std::uint32_t> crc_;
    std::vector<std::string> names_;
    std::map<std::string, Place> places_;
};

// The checkpoints of a run's folder: names, order, which to keep.

/// "<folder>/ckpt-<iteration>": the name that is printed.
std::string checkpoint_prefix(const std::string& folder, std::int64_t iteration);
inline constexpr std::string_view kCheckpointSuffix = ".safetensors";
/// The file of it: prefix + suffix.
std::string checkpoint_path(const std::string& folder, std::int64_t iteration);

/// "<folder>/ckpt-best": the best weights of a training, which --keep-ckpts does not count.
std::string best_prefix(const std::string& folder);
std::string best_path(const std::string& folder);

/// Name of the folder, in a run's, of checkpoints whose networks compute in 8 bits.
inline constexpr std::string_view kEightBitFolder = "8bit";

/// The file of a weight average: "<folder>/ckpt/<name>.safetensors".
std::string average_path(const std::string& folder, const std::string& name);

struct Found {
    std::string path;             // of the file
    std::string name;             // base name without ".safetensors": "ckpt-100", "weight_avg_N_5"
    std::int64_t iteration = -1;  // -1: not a numbered checkpoint

    bool operator==(const Found&) const = default;
};

/// Resolves a restore path: a folder (its ckpt-<n> sorted by n, then the others there and in its ckpt/ sub-folder), a
/// file, also without ".safetensors", or the PREFIX of a TensorFlow checkpoint. A folder of runs: the run that saved
/// last; a missing file, the only one of its name in sibling runs; a notice says so. Error(not_found) lists the others.
std::vector<Found> find_checkpoints(const FileSystem& files, const std::string& restore_path);

/// best_or_latest(); a notice says which one is taken unless the path names it.
Found find_checkpoint(const FileSystem& files, const std::string& flag, const std::string& restore_path);

/// The one checkpoint for which a restore path stands: the file; for a folder, ckpt-best, otherwise the last numbered
/// one, otherwise the only one. Prints nothing. Error(not_found) if there is none, Error(usage) about `flag` if none of
/// several is the last.
Found best_or_latest(const FileSystem& files, const std::string& flag, const std::string& restore_path);
/// The same, but any one of several of which none is the last: from it one learns about their run.
Found one_of(const FileSystem& files, const std::string& restore_path);

/// The run's own checkpoints, ckpt-<n> and nothing else, oldest first. None when there is no such folder.
std::vector<Found> numbered_checkpoints(const FileSystem& files, const std::string& folder);
/// True if `file_name` is exactly "ckpt-<n>.safetensors".
bool is_numbered(const std::string& file_name);

/// Throws Error(usage) if another program's result would get the name of a numbered checkpoint in the folder of a run,
/// which would resume from it, or of the run's best weights. `option` names the path.
void refuse_run_checkpoint(const FileSystem& files, const std::string& option, const std::string& path);

/// The numbered checkpoint of a folder with the highest iteration.
std::optional<Found> latest(const FileSystem& files, const std::string& folder);

/// Deletes all numbered checkpoints of a folder but the `keep` newest and the `protect`ed iterations, and partial files
/// of killed saves of these and of the best weights. Call it after a save is finished. `keep` 0 keeps all.
void retain(FileSystem& files, const std::string& folder, std::int64_t keep,
            const std::vector<std::int64_t>& protect = {});

// The options of its run that a checkpoint carries, so that it can be evaluated away from the run's folder: metadata
// "options", a JSON object. This module does not read it.

inline constexpr const char* kRunOptionsKey = "options";

/// "" where the metadata has none.
std::string run_options(const std::map<std::string, std::string>& metadata);

/// The options in a checkpoint file. Reads the header only.
std::string run_options_of(const FileSystem& files, const std::string& path);

}  // namespace cnntrain::weights
