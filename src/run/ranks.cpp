#include "run/ranks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"
#include "run/reports/describe.h"
#include "run/resume.h"

namespace cnntrain::run {
namespace {

using nlohmann::json;

json to_json(const RunStart& start) {
    json result = {{"seed", seed_of(start)}};
    if (!start.resume) return result;
    const auto& [found, checkpoint] = *start.resume;
    json tensors = json::array();
    for (const auto& [name, tensor] : checkpoint.tensors)
        tensors.push_back({{"name", name}, {"type", static_cast<int>(tensor.dtype())}, {"shape", tensor.shape()}});
    result["tensors"] = std::move(tensors);
    result["resume"] = {{"name", found.name},        {"path", found.path},
                        {"found", found.iteration},  {"iteration", checkpoint.iteration},
                        {"epoch", checkpoint.epoch}, {"metadata", checkpoint.metadata}};
    return result;
}

std::optional<ResumePoint> resume_of(const json& start) {
    if (!start.contains("resume")) return std::nullopt;
    const json& from = start["resume"];
    ResumePoint point;
    point.found.name = from["name"];
    point.found.path = from["path"];
    point.found.iteration = from["found"];
    point.checkpoint.iteration = from["iteration"];
    point.checkpoint.epoch = from["epoch"];
    point.checkpoint.metadata = from["metadata"].get<std::map<std::string, std::string>>();
    for (const json& tensor : start["tensors"]) {
        const TensorDesc desc{static_cast<DType>(tensor["type"].get<int>()), tensor["shape"].get<Shape>()};
        point.checkpoint.tensors.emplace(tensor["name"], HostTensor(desc));
    }
    return point;
}

}  // namespace

void compare_errors(comm::Communicator& communicator, const std::optional<Error>& error, std::string_view work) {
    if (communicator.size() == 1) {
        if (error) throw *error;
        return;
    }
    constexpr std::uint64_t kNone = 0;
    const std::uint64_t mine =
        error ? hash_text(error->what(), static_cast<std::uint64_t>(exit_code(error->kind())) + 1) : kNone;
    std::vector<std::uint64_t> words;
    try {
        words = communicator.all_gather(mine, work);
    } catch (const Error&) {
        if (error) throw *error;  // more informative than the loss of another rank
        throw;
    }
    if (!error) return;
    if (std::ranges::count(words, mine) == communicator.size()) throw ErrorOfAll(*error);
    throw *error;
}

void agree_on_options(const options::ParseResult& arguments, const Host& host) {
    comm::Communicator& all = *host.communicator;
    if (all.size() == 1) return;
    std::vector<comm::SharedSetting> settings = {
        {"program", version_line()},
        {"command", std::string(options::name(arguments.command))},
        {"task", std::string(arguments.task->name)},
    };
    for (const options::ResolvedOption& entry : arguments.options)
        settings.push_back({std::string(entry.option->flag), options::to_string(entry.value)});
    const std::string differing = comm::differences(all, settings, "options");
    if (differing.empty()) return;
    throw ErrorOfAll(Error(ErrorKind::peers,
                           "the processes of a run need the same program and the same options; these "
                           "differ: " +
                               differing + "; start all of them with the same line"));
}

void agree_on_data(const DataOrigin& origin, const backend::Arithmetic& arithmetic, const Host& host) {
    comm::Communicator& all = *host.communicator;
    if (all.size() == 1) return;
    std::vector<comm::SharedSetting> settings = shared_settings(origin);
    settings.push_back({"arithmetic (--compute-type)", std::string(name(arithmetic.type))});
    const std::string differing = comm::differences(all, settings, "data of the run");
    if (differing.empty()) return;
    throw ErrorOfAll(Error(ErrorKind::peers,
                           "the processes of a run need the same data and arithmetic; these differ: " + differing));
}

void share_variables(comm::Communicator& communicator, backend::Executable& executable, std::string_view what) {
    if (communicator.size() == 1) return;
    for (const std::string& name : executable.variable_names()) {
        HostTensor tensor = executable.store(name);
        communicator.broadcast(tensor.bytes(), 0, what);
        if (communicator.rank() != 0) executable.load(name, std::move(tensor));
    }
}

std::uint64_t checksum(const std::map<std::string, HostTensor>& tensors) {
    std::uint64_t hash = kHashOfNothing;
    for (const auto& [name, tensor] : tensors)
        hash = hash_text(name + " " + hex_text(crc32c(tensor.bytes())), hash);
    return hash;
}

RunStart agreed_start(RunStart start, const Host& host) {
    comm::Communicator& all = *host.communicator;
    if (all.size() == 1) return start;
    const json agreed =
        json::parse(broadcast_text(all, is_first(host) ? to_json(start).dump() : "", "start of the run"));
    if (!is_first(host)) {
        start.arguments = with_seed(std::move(start.arguments), agreed["seed"]);
        start.resume = resume_of(agreed);
    }
    if (start.resume) {
        for (auto& [name, tensor] : start.resume->checkpoint.tensors)
            all.broadcast(tensor.bytes(), 0, "weights of the checkpoint");
    }
    comm::check_same(all, hash_text(options::numerics_fingerprint(start.arguments)),
                     "options that change the numbers (start all processes with the same line)");
    return start;
}

std::string exchange_line(const backend::CompileReport& report, const backend::CompileRequest& request) {
    const backend::Peers& peers = request.peers;
    const std::size_t buckets = report.bucket_bytes.size();
    const std::uint64_t bytes =
        std::accumulate(report.bucket_bytes.begin(), report.bucket_bytes.end(), std::uint64_t{0});
    return "Gradients: " + size_text(bytes) + " in " + std::to_string(buckets) +
           (buckets == 1 ? " bucket" : " buckets") + ", summed over " + std::to_string(peers.communicator->size()) +
           " processes; " + std::string(spelling(peers.reduce.wire)) + " on the wire, " +
           std::string(spelling(peers.reduce.route)) + " route, " +
           (request.cpu.overlap_exchange ? "while backward goes on" : "after the backward pass");
}

data::LoaderSettings for_rank(data::LoaderSettings loader, const comm::Communicator& communicator) {
    loader.rank = communicator.rank();
    loader.ranks = communicator.size();
    return loader;
}

namespace {

using data::Origin;
using data::OriginPart;

constexpr const char* kDamaged = "what the checkpoint says about its data is damaged: ";
constexpr const char* kTraining = "training";
constexpr const char* kValidation = "validation";

/// Parts are lists: there may be thousands of them.
json to_json(const Origin& origin) {
    json parts = json::array();
    for (const OriginPart& part : origin.parts)
        parts.push_back({part.name, part.bytes, part.samples, part.checksum});
    return {{"samples", origin.samples}, {"recipe", origin.recipe}, {"parts", std::move(parts)}};
}

std::uint64_t count_in(const json& node, std::uint64_t most = std::numeric_limits<std::int64_t>::max()) {
    if (node.is_number_unsigned() && node.get<std::uint64_t>() <= most) return node.get<std::uint64_t>();
    throw Error(ErrorKind::data, "expected a whole number, found " + node.dump().substr(0, 40));
}

Origin origin_in(const json& document) {
    constexpr std::uint64_t kMostChecksum = std::numeric_limits<std::uint32_t>::max();
    Origin origin{.samples = static_cast<std::int64_t>(count_in(document.at("samples"))),
                  .recipe = document.at("recipe")};
    for (const json& part : document.at("parts")) {
        origin.parts.push_back({part.at(0), count_in(part.at(1)), static_cast<std::int64_t>(count_in(part.at(2))),
                                static_cast<std::uint32_t>(count_in(part.at(3), kMostChecksum))});
    }
    return origin;
}

/// "400 samples in 1229200 bytes"
std::string size_of(const OriginPart& part) {
    const std::string samples = part.samples > 0 ? counted(part.samples, "sample") + " in " : "";
    return samples + counted(static_cast<std::int64_t>(part.bytes), "byte");
}

std::string size_and_checksum(const OriginPart& part) {
    return size_of(part) + ", checksum " + hex_text(part.checksum);
}

const OriginPart* part_named(const Origin& origin, const std::string& name) {
    const auto found = std::ranges::find(origin.parts, name, &OriginPart::name);
    return found == origin.parts.end() ? nullptr : &*found;
}

std::vector<std::string> other_parts(const Origin& expected, const Origin& found) {
    std::vector<std::string> texts;
    for (const OriginPart& part : expected.parts) {
        const OriginPart* const now = part_named(found, part.name);
        if (now == nullptr) {
            texts.push_back(part.name + " is missing (" + size_of(part) + ")");
        } else if (!(part == *now)) {
            texts.push_back(other_part(part, *now));
        }
    }
    for (const OriginPart& part : found.parts) {
        if (part_named(expected, part.name) == nullptr) texts.push_back(part.name + " is new (" + size_of(part) + ")");
    }
    if (texts.empty() && !(expected.parts == found.parts))
        texts.push_back("the same files in another order, from " + found.parts.front().name + " on");
    return texts;
}

std::string source_of(const Origin& origin) {
    return origin.recipe.empty() ? counted(std::ssize(origin.parts), "file") : origin.recipe;
}

/// "" when both are the same.
std::string other_split(const Origin& expected, const Origin& found) {
    if (expected == found) return {};
    constexpr std::size_t kMost = 5;
    std::vector<std::string> texts;
    if (expected.recipe != found.recipe) {
        texts.push_back("expected " + source_of(expected) + ", found " + source_of(found));
    } else {
        texts = other_parts(expected, found);
    }
    if (texts.size() > kMost) {
        const std::size_t more = texts.size() - kMost;
        texts.resize(kMost);
        texts.push_back("and " + std::to_string(more) + " more");
    }
    if (expected.samples != found.samples) {
        texts.insert(texts.begin(),
                     "expected " + counted(expected.samples, "sample") + ", found " + std::to_string(found.samples));
    }
    return joined(texts, "; ");
}

void add_settings(const std::optional<Origin>& origin, const std::string& split,
                  std::vector<comm::SharedSetting>& settings) {
    if (!origin) return;
    settings.push_back({split + " data", counted(origin->samples, "sample") + " of " + source_of(*origin)});
    for (const OriginPart& part : origin->parts)
        settings.push_back({part.name, size_and_checksum(part)});
}

}  // namespace

std::string other_part(const OriginPart& expected, const OriginPart& found) {
    const bool same_size = expected.bytes == found.bytes && expected.samples == found.samples;
    if (same_size) {
        return expected.name + ": expected checksum " + hex_text(expected.checksum) + " of " + size_of(expected) +
               ", found " + hex_text(found.checksum);
    }
    return expected.name + ": expected " + size_of(expected) + ", found " + size_of(found);
}

std::string to_text(const DataOrigin& origin) {
    json document = json::object();
    if (origin.training) document[kTraining] = to_json(*origin.training);
    if (origin.validation) document[kValidation] = to_json(*origin.validation);
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

DataOrigin origin_of(const std::string& text) {
    DataOrigin origin;
    try {
        check_json(text);
        const json document = json::parse(text);
        if (document.contains(kTraining)) origin.training = origin_in(document.at(kTraining));
        if (document.contains(kValidation)) origin.validation = origin_in(document.at(kValidation));
    } catch (const json::exception& error) {
        throw Error(ErrorKind::data, std::string(kDamaged) + error.what());
    } catch (const Error& error) {
        throw Error(ErrorKind::data, std::string(kDamaged) + error.what());
    }
    return origin;
}

std::string other_data(const DataOrigin& expected, const DataOrigin& found) {
    std::string text;
    const auto add = [&](const char* split, const auto& before, const auto& now) {
        const std::string other = before && now ? other_split(*before, *now) : "";
        if (!other.empty()) text += (text.empty() ? "" : ". ") + std::string("Data for ") + split + ": " + other;
    };
    add(kTraining, expected.training, found.training);
    add(kValidation, expected.validation, found.validation);
    return text;
}

std::vector<comm::SharedSetting> shared_settings(const DataOrigin& origin) {
    std::vector<comm::SharedSetting> settings;
    add_settings(origin.training, kTraining, settings);
    add_settings(origin.validation, kValidation, settings);
    return settings;
}

namespace {

/// Text classification alone has classes and reads a file without samples.
std::optional<data::OriginPart> recorded_vocabulary(const FileSystem& files, const std::string& checkpoint) {
    if (weights::foreign_format(files, checkpoint)) return std::nullopt;
    const weights::CheckpointFile file(files, checkpoint, weights::Edited::ignored);
    const auto data = file.metadata().find(kDataKey);
    if (data == file.metadata().end() || !file.metadata().contains(weights::kClassesKey)) return std::nullopt;
    const DataOrigin origin = origin_of(data->second);
    if (!origin.training) return std::nullopt;
    const auto found = std::ranges::find(origin.training->parts, 0, &data::OriginPart::samples);
    return found == origin.training->parts.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

bool is_vocabulary_of(const FileSystem& files, const std::string& checkpoint, const std::string& vocabulary) {
    const std::optional<data::OriginPart> recorded = recorded_vocabulary(files, checkpoint);
    if (!recorded) return false;
    const data::OriginPart found = data::part_of_file(files, vocabulary, 0);
    if (found.bytes == recorded->bytes && found.checksum == recorded->checksum) return true;
    throw Error(ErrorKind::data, vocabulary + " is not the vocabulary with which " + checkpoint + " was trained (" +
                                     other_part(*recorded, found) +
                                     "); the network knows no other numbers of words; give that file with "
                                     "--vocab-file");
}

RunFolder results_folder_of_all(const Task& task, const options::ParseResult& arguments, const Host& host) {
    RunFolder folder;
    if (is_first(host)) folder = results_folder(task, arguments, host.command_line, *host.files);
    folder.name = broadcast_text(*host.communicator, folder.name, "name of the run");
    return folder;
}

}  // namespace cnntrain::run
