#include "train/runs/kept_update.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/format.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "train/runs/ranks.h"
#include "train/runs/resume.h"

namespace cnntrain::train {
namespace {

using checkpoint::Checkpoint;
using nlohmann::json;

constexpr std::string_view kBegin = "update-";
constexpr std::string_view kEnd = ".sums";
constexpr std::string_view kWhat = "sums of a stopped update";

// Keys of the file's metadata.
constexpr const char* kPartKey = "part";
constexpr const char* kWeightsKey = "weights";
constexpr const char* kFormKey = "form";
constexpr const char* kSharesKey = "shares";  // micro-batches of each rank

/// Of the variables in the order of their names, one at a time. All ranks call it together.
std::string weights_digest(const backend::Executable& executable) {
    std::vector<std::string> names = executable.variable_names();
    std::ranges::sort(names);
    Digest digest;
    for (const std::string& name : names) {
        digest.add(name);
        digest.add(std::uint64_t{crc32c(executable.store(name).bytes())});
    }
    return digest.text();
}

/// The sums in 17 digits, which give every double back as it was.
Checkpoint to_file(KeptUpdate kept, std::int64_t iteration, const std::string& form) {
    json sums = json::object();
    for (const auto& [name, sum] : kept.part.sums)
        sums[name] = formatted("%.17g", sum);
    Checkpoint file;
    file.iteration = iteration;
    const json part = {{"micro_batches", kept.part.micro_batches},
                       {"samples", kept.part.samples},
                       {"sums", std::move(sums)},
                       {"seconds", kept.seconds}};
    file.metadata = {{kPartKey, part.dump()}, {kFormKey, form}};
    file.tensors = std::move(kept.part.accumulators);
    return file;
}

/// Without the accumulators. Error(data) if they are those of another program.
KeptUpdate facts_in(const Checkpoint& file) try {
    const json part = json::parse(metadata(file, kPartKey));
    KeptUpdate kept;
    kept.part.iteration = file.iteration;
    kept.part.micro_batches = part.at("micro_batches");
    kept.part.samples = part.at("samples");
    for (const auto& [name, sum] : part.at("sums").items())
        kept.part.sums.emplace(name, std::stod(sum.get<std::string>()));
    kept.seconds = part.at("seconds");
    return kept;
} catch (const std::exception& error) {
    throw Error(ErrorKind::data, std::string("it does not say what it holds: ") + error.what());
}

/// Rank `from`'s text on all ranks.
std::string told_by(int from, comm::Communicator& all, std::string text) {
    std::uint64_t size = text.size();
    all.broadcast(std::as_writable_bytes(std::span(&size, 1)), from, kWhat);
    text.resize(size);
    all.broadcast(std::as_writable_bytes(std::span(text)), from, kWhat);
    return text;
}

/// Rank `from`'s file on rank `to`; the other ranks call it, too, and get nothing.
Checkpoint passed(comm::Communicator& all, Checkpoint file, int from, int to) {
    if (from == to) return file;
    json tensors = json::array();
    for (const auto& [name, tensor] : file.tensors)
        tensors.push_back({{"name", name}, {"type", static_cast<int>(tensor.dtype())}, {"shape", tensor.shape()}});
    const json mine = {{"iteration", file.iteration}, {"metadata", file.metadata}, {"tensors", std::move(tensors)}};
    const json head = json::parse(told_by(from, all, all.rank() == from ? mine.dump() : ""));
    Checkpoint result;
    result.iteration = head.at("iteration");
    result.metadata = head.at("metadata").get<std::map<std::string, std::string>>();
    for (const json& entry : head.at("tensors")) {
        const std::string name = entry.at("name");
        HostTensor tensor;
        if (all.rank() == from) {
            tensor = std::move(file.tensors.at(name));
        } else {
            tensor = HostTensor({static_cast<DType>(entry.at("type").get<int>()), entry.at("shape").get<Shape>()});
        }
        all.broadcast(tensor.bytes(), from, kWhat);
        if (all.rank() == to) result.tensors.emplace(name, std::move(tensor));
    }
    return all.rank() == to ? result : Checkpoint();
}

/// A fact that differs, in messages.
std::string another(const std::string& fact) {
    if (fact == kFingerprintKey) return "other options that change the numbers";
    if (fact == kThreadsKey) return "another number of compute threads";
    if (fact == kDataKey) return "other data";
    return "another " + fact;
}

/// Empty if the file belongs to these facts; otherwise what differs.
std::string other_facts(const Checkpoint& file, const Belonging& belonging) {
    const auto has = [&](const std::string& key) { return metadata(file, key.c_str()) == belonging.at(key); };
    if (!has(kWeightsKey)) return "its weights are not those of the checkpoint";
    const auto other = std::ranges::find_if(belonging, [&](const auto& fact) { return !has(fact.first); });
    return other == belonging.end() ? "" : "it was written with " + another(other->first);
}

/// Reads the files of the ranks, one after another.
class Reader {
public:
    Reader(const FileSystem& files, const std::string& folder, std::int64_t iteration, const Belonging& belonging)
        : files_(files), folder_(folder), iteration_(iteration), belonging_(belonging) {}

    /// Nothing once a file cannot be used.
    Checkpoint read(int rank, int ranks) {
        const std::string path = path_in(folder_, kept_name(iteration_, rank, ranks));
        if (!why_.empty()) return {};
        if (!exists(files_, path)) {
            why_ = path + " is missing; the run had another number of processes, or the file was removed";
            return {};
        }
        Checkpoint file;
        try {
            file = checkpoint::load(files_, path);
            facts_in(file);
            why_ = other_facts(file, belonging_);
            if (file.iteration != iteration_) why_ = "it is of another update";
            if (rank == 0) shares_ = metadata(file, kSharesKey);
            if (why_.empty() && metadata(file, kSharesKey) != shares_)
                why_ = "it is of another stop than that of rank 0";
        } catch (const Error& error) {
            why_ = error.what();
        }
        if (why_.empty()) return file;
        if (why_.find(path) == std::string::npos) why_.insert(0, path + ": ");
        return {};
    }
    const std::string& why() const { return why_; }

private:
    const FileSystem& files_;
    std::string folder_;
    std::int64_t iteration_;
    const Belonging& belonging_;
    std::string shares_;
    std::string why_;  // a file cannot be used
};

/// Of any number of processes.
bool has_kept_update(const FileSystem& files, const std::string& folder, std::int64_t iteration) {
    if (!is_directory(files, folder)) return false;
    const std::string begin = std::string(kBegin) + std::to_string(iteration);
    return std::ranges::any_of(files.list(folder), [&](const std::string& name) {
        return is_kept_update(name) && (name.starts_with(begin + ".") || name.starts_with(begin + "-"));
    });
}

}  // namespace

KeptShare kept_share(comm::Communicator& communicator, const KeptUpdate& mine) {
    const std::vector<std::uint64_t> words =
        communicator.all_gather(static_cast<std::uint64_t>(mine.part.micro_batches), "kept micro-batches");
    const auto [least, most] = std::ranges::minmax(words);
    return {static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

std::string share_text(const KeptShare& share, std::int64_t micro_batches) {
    const std::string most = std::to_string(share.most);
    return (share.least == share.most ? most : std::to_string(share.least) + " to " + most) + " of " +
           std::to_string(micro_batches) + " micro-batches";
}

std::string kept_name(std::int64_t iteration, int rank, int ranks) {
    const std::string number = std::string(kBegin) + std::to_string(iteration);
    return number + (ranks == 1 ? "" : "-rank" + std::to_string(rank)) + std::string(kEnd);
}

bool is_kept_update(std::string_view name) {
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
    name.remove_prefix(kBegin.size());
    name.remove_suffix(std::min(name.size(), kEnd.size()));
    const auto is_number = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    constexpr std::string_view kRank = "-rank";
    const std::size_t rank = name.find(kRank);
    if (rank == std::string_view::npos) return is_number(name);
    return is_number(name.substr(0, rank)) && is_number(name.substr(rank + kRank.size()));
}

void remove_kept_updates(FileSystem& files, const std::string& folder) {
    if (!is_directory(files, folder)) return;
    for (const std::string& name : files.list(folder)) {
        if (is_kept_update(finished_name(name).value_or(name))) files.remove(path_in(folder, name));
    }
}

std::string save_kept_update(FileSystem& files, const std::string& folder, std::int64_t iteration,
                             const KeptUpdate& mine, Belonging belonging, const backend::Executable& executable,
                             comm::Communicator& communicator) {
    belonging[kWeightsKey] = weights_digest(executable);
    std::string shares;
    for (const std::uint64_t share :
         communicator.all_gather(static_cast<std::uint64_t>(mine.part.micro_batches), kWhat))
        shares += (shares.empty() ? "" : ",") + std::to_string(share);
    belonging[kSharesKey] = shares;
    std::string failure;
    for (int rank = 0; rank < communicator.size(); ++rank) {
        Checkpoint file;
        if (communicator.rank() == rank) file = to_file(mine, iteration, executable.report().partial_form);
        file = passed(communicator, std::move(file), rank, 0);
        if (communicator.rank() != 0 || !failure.empty()) continue;
        file.metadata.insert(belonging.begin(), belonging.end());
        try {
            checkpoint::save(files, path_in(folder, kept_name(iteration, rank, communicator.size())), file);
        } catch (const Error& error) {
            failure = error.what();
        }
    }
    return failure;
}

KeptUpdate load_kept_update(const FileSystem& files, const std::string& folder, std::int64_t iteration,
                            Belonging belonging, const backend::Executable& executable,
                            comm::Communicator& communicator, const std::function<void(const std::string&)>& tell) {
    const bool first = communicator.rank() == 0;
    if (told(communicator, first && has_kept_update(files, folder, iteration) ? "1" : "", kWhat).empty()) return {};
    belonging[kWeightsKey] = weights_digest(executable);
    Reader reader(files, folder, iteration, belonging);
    KeptUpdate mine;
    bool fits = true;
    for (int rank = 0; rank < communicator.size(); ++rank) {
        Checkpoint file = first ? reader.read(rank, communicator.size()) : Checkpoint();
        file = passed(communicator, std::move(file), 0, rank);
        if (communicator.rank() != rank) continue;
        const std::string& form = executable.report().partial_form;
        fits = !form.empty() && metadata(file, kFormKey) == form;
        if (!fits) continue;
        mine = facts_in(file);
        mine.part.accumulators = std::move(file.tensors);
    }
    const std::vector<std::uint64_t> all = communicator.all_gather(fits ? 1 : 0, kWhat);
    if (std::ranges::find(all, std::uint64_t{0}) == all.end()) return mine;
    std::string why = reader.why();
    if (why.empty()) why = folder + ": its sums are of another processor, library or division of the work";
    if (first) tell(why);
    return {};
}

}  // namespace cnntrain::train
