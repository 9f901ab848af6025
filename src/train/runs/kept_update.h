// The part of a weight update that a stopped run keeps: a file for each process beside the checkpoint of the last
// complete update, update-<iteration>.sums, with which a resumed run finishes the update.
//
// The file is written like a checkpoint: whole or not at all, with checksums. It is used only with the weights, data,
// options, processes and kind of machine with which it was made; otherwise the update is repeated, with the same
// results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/comm/communicator.h"

namespace cnntrain::train {

struct KeptUpdate {
    backend::PartialUpdate part;  // of this process
    double seconds = 0;           // that it took, over all stops
};

/// Micro-batches that the processes keep of an update.
struct KeptShare {
    std::int64_t least = 0;  // of one process
    std::int64_t most = 0;
};
/// Of all processes, which call it together.
KeptShare kept_share(comm::Communicator& communicator, const KeptUpdate& mine);
/// "230 of 1024 micro-batches", "229 to 230 of 1024 micro-batches".
std::string share_text(const KeptShare& share, std::int64_t micro_batches);

/// "update-12.sums", with several processes "update-12-rank0.sums". `iteration`: complete updates before this one.
std::string kept_name(std::int64_t iteration, int rank, int ranks);
bool is_kept_update(std::string_view file_name);

/// Removes all such files of the folder, and what killed processes left of them.
void remove_kept_updates(FileSystem& files, const std::string& folder);

/// What a partial update belongs to: facts by name, beside the weights.
using Belonging = std::map<std::string, std::string>;

/// Rank 0 writes the parts of all ranks of the update behind `iteration`; all call it together. Returns, on rank 0, why
/// they could not be written; "" if they were.
std::string save_kept_update(FileSystem& files, const std::string& folder, std::int64_t iteration,
                             const KeptUpdate& mine, Belonging belonging, const backend::Executable& executable,
                             comm::Communicator& communicator);

/// This rank's part of the update behind `iteration`, if the files of all ranks are there and fit; all call it
/// together, after the executable has its weights. `tell` is told on rank 0 why there are files that are not used.
KeptUpdate load_kept_update(const FileSystem& files, const std::string& folder, std::int64_t iteration,
                            Belonging belonging, const backend::Executable& executable,
                            comm::Communicator& communicator, const std::function<void(const std::string&)>& tell);

}  // namespace cnntrain::train
