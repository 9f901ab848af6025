#include "cnntrain/weights/checkpoint.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/foreign.h"
#include "cnntrain/weights/hugging_face.h"
#include "weights/format.h"

namespace cnntrain::weights {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they stand in memory");

constexpr std::size_t kDataAlignment = 64;  // of the first tensor within the file

std::string_view format_name(DType type) {
    const auto* found = std::ranges::find(kDTypeNames, type, &DTypeName::type);
    CNNTRAIN_CHECK(found != std::end(kDTypeNames), "unknown element type");
    return found->name;
}

/// Gaps are not allowed, so wide elements come first: every tensor is then aligned to its own element.
std::vector<std::string> file_order(const std::map<std::string, TensorDesc>& descs) {
    std::vector<std::string> order;
    order.reserve(descs.size());
    for (const auto& [name, desc] : descs)
        order.push_back(name);
    std::ranges::stable_sort(order, std::greater(),
                             [&](const std::string& name) { return size_bytes(descs.at(name).dtype); });
    return order;
}

nlohmann::ordered_json metadata_of(const Checkpoint& checkpoint, std::uint32_t crc) {
    nlohmann::ordered_json metadata;
    metadata[kHeaderCrc] = kNoDigits;
    metadata[kTensorsCrc] = hex_text(crc);
    if (checkpoint.iteration >= 0) metadata[kIteration] = std::to_string(checkpoint.iteration);
    metadata[kEpoch] = nlohmann::json(checkpoint.epoch).dump();
    for (const auto& [key, value] : checkpoint.metadata) {
        const bool reserved = metadata.contains(key) || key == kIteration || key == kEarlyTensorsCrc;
        CNNTRAIN_CHECK(!reserved, "checkpoint metadata key '" + key + "' is reserved");
        metadata[key] = value;
    }
    return metadata;
}

std::string header_of(const Checkpoint& checkpoint, const TensorSource& tensors,
                      const std::vector<std::string>& order) {
    std::uint32_t crc = 0;
    for (const std::string& name : order)
        crc = crc32c(tensors.tensor(name).bytes(), crc);

    nlohmann::ordered_json header;
    header[kMetadata] = metadata_of(checkpoint, crc);
    std::uint64_t offset = 0;
    for (const std::string& name : order) {
        CNNTRAIN_CHECK(name != kMetadata, "a tensor has a reserved name");
        const TensorDesc& desc = tensors.descs.at(name);
        const std::uint64_t end = offset + desc.bytes();
        header[name] = {{"dtype", format_name(desc.dtype)}, {"shape", desc.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::size_t length = kLengthBytes + text.size();
    text.append((kDataAlignment - length % kDataAlignment) % kDataAlignment, ' ');
    CNNTRAIN_CHECK(text.starts_with(kHeaderBegin), "the header's checksum is not at its place");
    return text.replace(kHeaderBegin.size(), kNoDigits.size(), hex_text(crc32c(std::as_bytes(std::span(text)))));
}

constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 24;

/// Stores the config.json beside the file in the metadata.
void add_config(const FileSystem& files, const std::string& path, Checkpoint& checkpoint) {
    const std::string config = folder_part(path) + kConfigFile;
    if (!exists(files, config)) return;
    checkpoint.metadata[kConfigKey] = to_json(parse_bert_config(read_text(files, config, kMostConfigBytes), config));
}

}  // namespace

TensorSource source_of(const std::map<std::string, HostTensor>& tensors) {
    TensorSource source;
    for (const auto& [name, tensor] : tensors)
        source.descs.emplace(name, tensor.desc());
    source.tensor = [&tensors](const std::string& name) { return tensors.at(name); };
    return source;
}

TensorSource in_f32(TensorSource source) {
    std::set<std::string> widened;
    for (auto& [name, desc] : source.descs) {
        if (desc.dtype != DType::bf16 && desc.dtype != DType::f16) continue;
        desc.dtype = DType::f32;
        widened.insert(name);
    }
    source.tensor = [stored = std::move(source.tensor), widened = std::move(widened)](const std::string& name) {
        return widened.contains(name) ? stored(name).cast(DType::f32) : stored(name);
    };
    return source;
}

void save(FileSystem& files, const std::string& path, const Checkpoint& checkpoint) {
    save(files, path, checkpoint, source_of(checkpoint.tensors));
}

void save(FileSystem& files, const std::string& path, const Checkpoint& checkpoint, const TensorSource& tensors) {
    const std::vector<std::string> order = file_order(tensors.descs);
    const std::string header = header_of(checkpoint, tensors, order);
    const std::uint64_t length = header.size();

    const auto file = files.create(path);
    file->write(std::as_bytes(std::span(&length, 1)));
    file->write(std::as_bytes(std::span(header)));
    for (const std::string& name : order)
        file->write(tensors.tensor(name).bytes());
    file->commit();
}

namespace {

/// A safetensors file.
Checkpoint load_own(const FileSystem& files, const std::string& path, Edited edited) {
    const CheckpointFile file(files, path, edited);
    file.check_memory();
    Checkpoint checkpoint;
    checkpoint.iteration = file.iteration();
    checkpoint.epoch = file.epoch();
    checkpoint.metadata = file.metadata();
    std::uint32_t crc = 0;
    for (const std::string& name : file.names()) {
        HostTensor tensor = file.read(name);
        crc = crc32c(tensor.bytes(), crc);
        checkpoint.tensors.emplace(name, std::move(tensor));
    }
    file.check_crc(crc);
    return checkpoint;
}

}  // namespace

Checkpoint load(const FileSystem& files, const std::string& path, Edited edited) {
    Checkpoint checkpoint = foreign_format(files, path) ? load_foreign(files, path) : load_own(files, path, edited);
    take_wrapper_away(checkpoint.tensors);
    if (is_hugging_face(checkpoint)) add_config(files, path, checkpoint);
    return checkpoint;
}

void match(const std::map<std::string, TensorDesc>& expected, const Checkpoint& checkpoint, const std::string& path) {
    std::vector<std::string> differences;
    for (const auto& [name, desc] : expected) {
        const auto found = checkpoint.tensors.find(name);
        if (found == checkpoint.tensors.end()) {
            differences.push_back("missing: " + name + " " + to_string(desc.shape));
        } else if (found->second.shape() != desc.shape) {
            differences.push_back("differs: " + name + " is " + to_string(found->second.shape()) +
                                  ", the model needs " + to_string(desc.shape));
        } else if (is_float(desc.dtype) && !is_float(found->second.dtype())) {
            differences.push_back("differs: " + name + " has elements of type " +
                                  std::string(cnntrain::name(found->second.dtype())) + ", the model needs floats");
        }
    }
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (!expected.contains(name)) differences.push_back("extra:   " + name + " " + to_string(tensor.shape()));
    }
    if (differences.empty()) return;
    constexpr std::size_t kShown = 40;  // another width of BERT changes hundreds of them
    std::string list;
    for (std::size_t i = 0; i < std::min(kShown, differences.size()); ++i)
        list += "\n  " + differences[i];
    if (differences.size() > kShown) list += "\n  and " + std::to_string(differences.size() - kShown) + " more";
    throw Error(ErrorKind::data, "checkpoint '" + path +
                                     "' does not fit the model; give the model flags that it was trained with, or "
                                     "another checkpoint. Tensors:" +
                                     list);
}

namespace {

constexpr std::string_view kNumbered = "ckpt-";
constexpr std::string_view kBest = "ckpt-best";
constexpr std::string_view kAverages = "ckpt";  // sub-folder of weight averages
constexpr std::string_view kTorchWeights =
    "pytorch_model.bin";  // in folders of timm and transformers, beside config.json

std::string join(const std::string& folder, std::string_view name) {
    return (folder.ends_with('/') ? folder : folder + "/") + std::string(name);
}

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_best(std::string_view file_name) {
    return file_name.starts_with(kBest) && file_name.substr(kBest.size()) == kCheckpointSuffix;
}

/// n of a name that ends in "ckpt-<n>", else -1.
std::int64_t iteration_of(std::string_view name) {
    const std::size_t at = name.rfind(kNumbered);
    if (at == std::string_view::npos) return -1;
    return as_number<std::int64_t>(name.substr(at + kNumbered.size())).value_or(-1);
}

Found found_file(const std::string& path) {
    std::string name(last_part(path));
    if (name.ends_with(kCheckpointSuffix)) name.resize(name.size() - kCheckpointSuffix.size());
    const std::int64_t iteration = iteration_of(name);
    return {path, name, iteration};
}

void collect(const FileSystem& files, const std::string& folder, std::vector<Found>& found) {
    if (!is_directory(files, folder)) return;
    for (const std::string& name : files.list(folder)) {
        const std::string path = join(folder, name);
        if (name.ends_with(kCheckpointSuffix) && !is_directory(files, path)) found.push_back(found_file(path));
    }
}

std::vector<Found> in_folder(const FileSystem& files, const std::string& folder) {
    std::vector<Found> found;
    collect(files, folder, found);
    collect(files, join(folder, kAverages), found);
    // Stable: those without a number stay in the order of their names.
    std::ranges::stable_sort(found, {}, [](const Found& one) { return std::pair(one.iteration < 0, one.iteration); });
    return found;
}

/// The run folder in a log folder whose latest checkpoint was written last.
std::optional<std::string> newest_run(const FileSystem& files, const std::string& folder) {
    std::optional<std::string> newest;
    std::int64_t newest_time = 0;
    for (const std::string& name : files.list(folder)) {
        const std::string run = join(folder, name);
        const std::optional<Found> last = latest(files, run);
        if (!last) continue;
        const std::int64_t time = files.open(last->path)->modified_ns();
        if (newest && time <= newest_time) continue;
        newest = run;
        newest_time = time;
    }
    return newest;
}

/// Documented lines name a run's checkpoint in the folder of all runs: looks for that name in the run folders there.
std::vector<std::string> one_folder_deeper(const FileSystem& files, const std::string& path) {
    const std::string parent = parent_of(path);
    std::string name(last_part(path));
    if (!name.ends_with(kCheckpointSuffix)) name += kCheckpointSuffix;
    std::vector<std::string> found;
    if (!is_directory(files, parent)) return found;
    for (const std::string& run : files.list(parent)) {
        const std::string candidate = join(join(parent, run), name);
        if (is_directory(files, join(parent, run)) && exists(files, candidate)) found.push_back(candidate);
    }
    std::ranges::sort(found);
    return found;
}

[[noreturn]] void fail_not_found(const FileSystem& files, const std::string& path) {
    const std::string others =
        joined(in_folder(files, parent_of(path)), ", ", [](const Found& one) { return one.name; });
    throw Error(ErrorKind::not_found, "no checkpoint '" + path + "'; " +
                                          (others.empty() ? "there is none in '" + parent_of(path) + "'"
                                                          : "in '" + parent_of(path) + "' there are: " + others));
}

/// The checkpoints that a restore path names, and a notice for the user if it names them in a roundabout way.
struct Search {
    std::vector<Found> found;
    std::string notice = {};
};

Search look_in_folder(const FileSystem& files, const std::string& path) {
    std::vector<Found> found = in_folder(files, path);
    if (!found.empty()) return {std::move(found)};
    const std::string torch = join(path, kTorchWeights);
    if (exists(files, torch)) return {{found_file(torch)}};
    const auto run = newest_run(files, path);
    if (!run) {
        throw Error(ErrorKind::not_found, "no checkpoint in '" + path + "': expected files named ckpt-<iteration>" +
                                              std::string(kCheckpointSuffix));
    }
    return {in_folder(files, *run), "no checkpoint in '" + path + "' itself: its newest run is taken, " + *run};
}

Search look_for(const FileSystem& files, const std::string& path) {
    const FileKind kind = files.kind(path);
    if (kind == FileKind::directory) return look_in_folder(files, path);
    if (kind != FileKind::absent) return {{found_file(path)}};
    const std::string with_suffix = path + std::string(kCheckpointSuffix);
    if (exists(files, with_suffix)) return {{found_file(with_suffix)}};
    const std::string index = path + std::string(kTensorFlowIndex);
    if (exists(files, index) && foreign_format(files, index)) return {{found_file(index)}};
    const std::vector<std::string> deeper = one_folder_deeper(files, path);
    if (deeper.size() == 1) {
        return {{found_file(deeper.front())},
                "no checkpoint '" + path + "': the one of the run in that folder is taken, " + deeper.front()};
    }
    if (deeper.empty()) fail_not_found(files, path);
    throw Error(ErrorKind::not_found, "no checkpoint '" + path +
                                          "', but several runs in that folder have one; name one of" +
                                          each_behind(" ", deeper));
}

std::optional<Found> best_or_latest_of(const std::vector<Found>& found) {
    const auto best = std::ranges::find(found, kBest, &Found::name);
    if (best != found.end()) return *best;
    const Found* last = nullptr;
    for (const Found& one : found) {
        if (one.iteration >= 0) last = &one;
    }
    if (last != nullptr) return *last;
    return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

[[noreturn]] void refuse_choice(const std::vector<Found>& found, const std::string& flag,
                                const std::string& restore_path) {
    throw Error(ErrorKind::usage, flag + " " + restore_path + ": " + std::to_string(found.size()) +
                                      " checkpoints are there; name one of them, for example " + found.back().path);
}

}  // namespace

std::string checkpoint_prefix(const std::string& folder, std::int64_t iteration) {
    return join(folder, std::string(kNumbered) + std::to_string(iteration));
}

std::string checkpoint_path(const std::string& folder, std::int64_t iteration) {
    return checkpoint_prefix(folder, iteration) + std::string(kCheckpointSuffix);
}

std::string best_prefix(const std::string& folder) {
    return join(folder, kBest);
}

std::string best_path(const std::string& folder) {
    return best_prefix(folder) + std::string(kCheckpointSuffix);
}

std::string average_path(const std::string& folder, const std::string& name) {
    return join(join(folder, kAverages), name + std::string(kCheckpointSuffix));
}

std::vector<Found> find_checkpoints(const FileSystem& files, const std::string& restore_path) {
    Search search = look_for(files, without_trailing_slashes(restore_path));
    if (!search.notice.empty()) log::info(search.notice);
    return std::move(search.found);
}

Found best_or_latest(const FileSystem& files, const std::string& flag, const std::string& restore_path) {
    const std::vector<Found> found = look_for(files, without_trailing_slashes(restore_path)).found;
    if (const auto chosen = best_or_latest_of(found)) return *chosen;
    refuse_choice(found, flag, restore_path);
}

Found find_checkpoint(const FileSystem& files, const std::string& flag, const std::string& restore_path) {
    Found found = best_or_latest(files, flag, restore_path);
    const std::string path = without_trailing_slashes(restore_path);
    if (found.path == path || found.path.starts_with(path + ".")) return found;
    const std::string which = !is_directory(files, path) ? "the one of that name in a run there"
                              : found.name == kBest      ? "the run's best checkpoint"
                              : found.iteration >= 0     ? "the newest checkpoint"
                                                         : "the checkpoint there";
    log::info(flag + " " + restore_path + ": " + which + " is taken, " + found.path);
    return found;
}

Found one_of(const FileSystem& files, const std::string& restore_path) {
    const std::vector<Found> found = look_for(files, without_trailing_slashes(restore_path)).found;
    return best_or_latest_of(found).value_or(found.back());
}

bool is_numbered(const std::string& file_name) {
    const std::int64_t iteration = found_file(file_name).iteration;
    return iteration >= 0 &&
           file_name == std::string(kNumbered) + std::to_string(iteration) + std::string(kCheckpointSuffix);
}

void refuse_run_checkpoint(const FileSystem& files, const std::string& option, const std::string& path) {
    if (!is_numbered(std::string(last_part(path))) && !is_best(last_part(path))) return;
    const std::string folder = parent_of(path);
    const bool is_run = exists(files, join(folder, "arguments.json")) || latest(files, folder);
    if (!is_run) return;
    throw Error(ErrorKind::usage, option + " " + path +
                                      ": the run's own checkpoints have such names; choose another name, for example " +
                                      join(folder, "ckpt/mean"));
}

std::vector<Found> numbered_checkpoints(const FileSystem& files, const std::string& folder) {
    std::vector<Found> found;
    collect(files, folder, found);
    std::erase_if(found, [&](const Found& one) { return one.path != checkpoint_path(folder, one.iteration); });
    std::ranges::sort(found, {}, &Found::iteration);
    return found;
}

std::optional<Found> latest(const FileSystem& files, const std::string& folder) {
    const std::vector<Found> found = numbered_checkpoints(files, folder);
    if (found.empty()) return std::nullopt;
    return found.back();
}

void retain(FileSystem& files, const std::string& folder, std::int64_t keep, const std::vector<std::int64_t>& protect) {
    for (const std::string& name : files.list(folder)) {
        const auto finished = finished_name(name);
        if (finished && (is_numbered(std::string(*finished)) || is_best(*finished))) files.remove(join(folder, name));
    }
    if (keep <= 0) return;
    std::vector<Found> old = numbered_checkpoints(files, folder);
    old.resize(old.size() - std::min(old.size(), static_cast<std::size_t>(keep)));
    for (const Found& one : old) {
        if (std::ranges::count(protect, one.iteration) == 0) files.remove(one.path);
    }
}

}  // namespace cnntrain::weights
