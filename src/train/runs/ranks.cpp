#include "train/runs/ranks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/size_text.h"
#include "cnntrain/train/machine.h"
#include "train/reports/describe.h"

namespace cnntrain::train {
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

std::span<std::byte> bytes_of(std::string& text) {
    return std::as_writable_bytes(std::span(text));
}

}  // namespace

std::string told(comm::Communicator& communicator, std::string text, std::string_view what) {
    std::uint64_t size = text.size();
    communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, what);
    text.resize(size);
    communicator.broadcast(bytes_of(text), 0, what);
    return text;
}

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

void agree_on_options(const config::ParseResult& arguments, const Host& host) {
    comm::Communicator& all = *host.communicator;
    if (all.size() == 1) return;
    std::vector<comm::SharedSetting> settings = {
        {"program", version_line()},
        {"command", std::string(config::name(arguments.command))},
        {"task", std::string(arguments.task->name)},
    };
    for (const config::ResolvedOption& entry : arguments.options)
        settings.push_back({std::string(entry.option->flag), config::to_string(entry.value)});
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
    const json agreed = json::parse(told(all, is_first(host) ? to_json(start).dump() : "", "start of the run"));
    if (!is_first(host)) {
        start.arguments = with_seed(std::move(start.arguments), agreed["seed"]);
        start.resume = resume_of(agreed);
    }
    if (start.resume) {
        for (auto& [name, tensor] : start.resume->checkpoint.tensors)
            all.broadcast(tensor.bytes(), 0, "weights of the checkpoint");
    }
    comm::check_same(all, hash_text(config::numerics_fingerprint(start.arguments)),
                     "options that change the numbers (start all processes with the same line)");
    return start;
}

std::string exchange_line(const backend::CompileReport& report, const backend::CompileRequest& request) {
    const backend::Peers& peers = request.peers;
    const std::size_t buckets = report.bucket_bytes.size();
    const std::uint64_t bytes =
        std::accumulate(report.bucket_bytes.begin(), report.bucket_bytes.end(), std::uint64_t{0});
    const auto name_in = [](const auto& names, auto value) {
        return std::string(names[static_cast<std::size_t>(value)]);
    };
    return "Gradients: " + size_text(bytes) + " in " + std::to_string(buckets) +
           (buckets == 1 ? " bucket" : " buckets") + ", summed over " + std::to_string(peers.communicator->size()) +
           " processes; " + name_in(comm::kWireNames, peers.reduce.wire) + " on the wire, " +
           name_in(comm::kRouteNames, peers.reduce.route) + " route, " +
           (request.cpu.overlap_exchange ? "while backward goes on" : "after the backward pass");
}

data::LoaderSettings for_rank(data::LoaderSettings loader, const comm::Communicator& communicator) {
    loader.rank = communicator.rank();
    loader.ranks = communicator.size();
    return loader;
}

}  // namespace cnntrain::train
