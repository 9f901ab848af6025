#include "cnntrain/weights/average.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::weights {
namespace {

// Keys of the result's metadata.
constexpr const char* kMode = "average";
constexpr const char* kSources = "averaged";

using Files = std::vector<std::unique_ptr<CheckpointFile>>;

std::string base_names(const std::vector<std::string>& paths) {
    return joined(paths, " ", last_part);
}

/// The differences between `file` and the first one; empty without differences.
std::string differences(const CheckpointFile& first, const CheckpointFile& file) {
    std::map<std::string, TensorDesc> here;
    std::string text;
    for (const std::string& name : file.names())
        here.emplace(name, file.desc(name));
    for (const std::string& name : first.names()) {
        const auto found = here.find(name);
        if (found == here.end()) {
            text += "\n  missing: " + name + " " + to_string(first.desc(name));
            continue;
        }
        if (found->second != first.desc(name)) {
            text +=
                "\n  differs: " + name + " is " + to_string(found->second) + ", there " + to_string(first.desc(name));
        }
        here.erase(found);
    }
    for (const auto& [name, desc] : here)
        text += "\n  extra:   " + name + " " + to_string(desc);
    return text;
}

Files open_alike(FileSystem& files, const std::vector<std::string>& paths, Edited edited) {
    if (paths.empty()) throw Error(ErrorKind::usage, "there are no checkpoints to average");
    allow_open_files(paths.size());
    Files opened;
    for (const std::string& path : paths) {
        opened.push_back(std::make_unique<CheckpointFile>(files, path, edited));
        const std::string different = differences(*opened.front(), *opened.back());
        if (!different.empty()) {
            throw Error(ErrorKind::data, "checkpoint '" + path + "' is of another model or optimiser than '" +
                                             paths.front() +
                                             "'; average checkpoints of one run only. Tensors:" + different);
        }
    }
    for (const auto& file : opened)
        file->verify();
    return opened;
}

/// values[i] = keep * values[i] + weight * tensor[i].
template <typename T, typename Convert>
void blend_as(const HostTensor& tensor, double keep, double weight, std::vector<double>& values, Convert convert) {
    const auto from = tensor.as<T>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = keep * values[i] + weight * convert(from[i]);
}

void blend(const HostTensor& tensor, double keep, double weight, std::vector<double>& values) {
    switch (tensor.dtype()) {
        case DType::f32:
            return blend_as<float>(tensor, keep, weight, values, [](float x) { return static_cast<double>(x); });
        case DType::bf16:
            return blend_as<BFloat16>(tensor, keep, weight, values,
                                      [](BFloat16 x) { return static_cast<double>(to_float(x)); });
        default:
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = keep * values[i] + weight * tensor.at(static_cast<std::int64_t>(i));
    }
}

HostTensor average_of(const Files& files, const std::string& name, const AverageSettings& settings) {
    TensorDesc desc = files.front()->desc(name);
    if (settings.in_f32 && size_bytes(desc.dtype) < sizeof(float)) desc.dtype = DType::f32;
    HostTensor result(std::move(desc));
    std::vector<double> values(static_cast<std::size_t>(result.elements()));
    for (std::size_t i = 0; i < files.size(); ++i) {
        const bool exponential = settings.mode == Averaging::exponential;
        const double keep = exponential ? settings.decay : 1;
        const double weight = exponential && i > 0 ? 1 - settings.decay : 1;
        blend(files[i]->read(name), keep, weight, values);
    }
    const double divisor = settings.mode == Averaging::mean ? static_cast<double>(files.size()) : 1;
    for (std::size_t i = 0; i < values.size(); ++i)
        result.set(static_cast<std::int64_t>(i), values[i] / divisor);
    return result;
}

/// The entries that all files have with equal values, such as the data of their run.
std::map<std::string, std::string> common_metadata(const Files& opened) {
    std::map<std::string, std::string> common = opened.front()->metadata();
    std::erase_if(common, [&](const auto& fact) {
        return std::ranges::any_of(opened, [&](const auto& file) {
            const auto found = file->metadata().find(fact.first);
            return found == file->metadata().end() || found->second != fact.second;
        });
    });
    return common;
}

}  // namespace

void average(FileSystem& files, const std::vector<std::string>& paths, const AverageSettings& settings,
             const std::string& target) {
    const Files opened = open_alike(files, paths, settings.edited);
    Checkpoint result;
    result.iteration = opened.back()->iteration();
    result.epoch = opened.back()->epoch();
    result.metadata = common_metadata(opened);
    result.metadata[kMode] = spelling(settings.mode);
    result.metadata[kSources] = base_names(paths);
    set_class_names(result.metadata, class_names(opened.back()->metadata()));
    const std::string options = run_options(opened.back()->metadata());
    if (!options.empty()) result.metadata[kRunOptionsKey] = options;
    for (const std::string& name : opened.front()->names())
        result.tensors.emplace(name, average_of(opened, name, settings));
    save(files, target, result);
}

bool is_average(const FileSystem& files, const std::string& path) {
    try {
        return CheckpointFile(files, path).metadata().contains(kMode);
    } catch (const Error&) {
        return false;
    }
}

bool is_average_of(const FileSystem& files, const std::vector<std::string>& paths, Averaging mode,
                   const std::string& target) {
    if (!exists(files, target)) return false;
    try {
        const CheckpointFile file(files, target);
        const std::map<std::string, std::string>& facts = file.metadata();
        const auto is = [&](const char* key, std::string_view value) {
            const auto found = facts.find(key);
            return found != facts.end() && found->second == value;
        };
        if (!is(kMode, spelling(mode)) || !is(kSources, base_names(paths))) return false;
        file.verify();
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::map<std::string, HostTensor> take_averages(Checkpoint& checkpoint) {
    std::map<std::string, HostTensor> averages;
    for (auto tensor = checkpoint.tensors.begin(); tensor != checkpoint.tensors.end();) {
        const std::string& name = tensor->first;
        const std::string variable =
            name.ends_with(kAverageSuffix) ? name.substr(0, name.size() - kAverageSuffix.size()) : "";
        if (!variable.empty() && checkpoint.tensors.contains(variable)) {
            averages.emplace(variable, std::move(tensor->second));
            tensor = checkpoint.tensors.erase(tensor);
        } else {
            ++tensor;
        }
    }
    return averages;
}

void use_averages(Checkpoint& checkpoint, const std::string& path) {
    std::map<std::string, HostTensor> averages = take_averages(checkpoint);
    if (averages.empty()) {
        throw Error(ErrorKind::usage, "--ema: " + path +
                                          " has no moving averages of the weights, which a training with --ema-decay "
                                          "keeps; leave --ema out");
    }
    checkpoint.tensors = std::move(averages);
}

std::string run_options(const std::map<std::string, std::string>& metadata) {
    const auto found = metadata.find(kRunOptionsKey);
    return found == metadata.end() ? "" : found->second;
}

std::string run_options_of(const FileSystem& files, const std::string& path) {
    return run_options(CheckpointFile(files, path, Edited::ignored).metadata());
}

namespace {

/// The tensors of a file, and a check of all of it.
struct Opened {
    std::vector<std::string> names;
    TensorSource tensors;
    std::function<void(std::uint32_t crc)> check;  // of all tensors, in the order of names
};

Opened open_any(const FileSystem& files, const std::string& path, Edited edited) {
    Opened opened;
    if (foreign_format(files, path)) {
        opened.tensors = open_foreign(files, path).tensors;  // checks each tensor that it reads
        for (const auto& [name, desc] : opened.tensors.descs)
            opened.names.push_back(name);
        opened.check = [](std::uint32_t) {};
        return opened;
    }
    const auto file = std::make_shared<const CheckpointFile>(files, path, edited);
    opened.names = file->names();
    for (const std::string& name : opened.names)
        opened.tensors.descs.emplace(name, file->desc(name));
    opened.tensors.tensor = [file](const std::string& name) { return file->read(name); };
    opened.check = [file](std::uint32_t crc) { file->check_crc(crc); };
    return opened;
}

}  // namespace

std::vector<VariableNans> find_nans(const FileSystem& files, const std::string& path, Edited edited) {
    const Opened file = open_any(files, path, edited);
    std::vector<VariableNans> result;
    std::uint32_t crc = 0;
    for (const std::string& name : file.names) {
        const HostTensor tensor = file.tensors.tensor(name);
        crc = crc32c(tensor.bytes(), crc);
        VariableNans nans{name, {}};
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            if (std::isnan(tensor.at(i))) nans.indices.push_back(i);
        }
        if (!nans.indices.empty()) result.push_back(std::move(nans));
    }
    file.check(crc);
    std::ranges::sort(result, {}, &VariableNans::variable);
    return result;
}

double element(const FileSystem& files, const std::string& path, const std::string& variable, std::int64_t index,
               Edited edited) {
    const Opened file = open_any(files, path, edited);
    const auto found = file.tensors.descs.find(variable);
    if (found == file.tensors.descs.end()) {
        throw Error(ErrorKind::usage,
                    "checkpoint '" + path + "' has no variable '" + variable + "'" + suggestion(variable, file.names));
    }
    const TensorDesc& desc = found->second;
    if (index < 0 || index >= desc.elements()) {
        throw Error(ErrorKind::usage,
                    "variable '" + variable + "' is " + to_string(desc) + ": its elements are numbered from 0 to " +
                        std::to_string(desc.elements() - 1) + ", there is no " + std::to_string(index));
    }
    std::uint32_t crc = 0;
    for (const std::string& name : file.names)
        crc = crc32c(file.tensors.tensor(name).bytes(), crc);
    file.check(crc);
    return file.tensors.tensor(variable).at(index);
}

CheckpointContent content(const FileSystem& files, const std::string& path, Edited edited) {
    if (foreign_format(files, path)) {
        ForeignFile file = open_foreign(files, path);
        return {std::string(name(file.format)), std::move(file.tensors.descs), std::move(file.part),
                std::move(file.other_parts), std::move(file.left_out)};
    }
    return {"safetensors", open_any(files, path, edited).tensors.descs, {}, {}, {}};
}

}  // namespace cnntrain::weights
