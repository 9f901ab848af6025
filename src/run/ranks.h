// Coordination between the processes of a run: rank 0 reads and writes files and sends the others what they need.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"
#include "run/resume.h"
#include "run/run_files.h"

namespace cnntrain::run {

/// Settings for comparison between ranks.
std::vector<comm::SharedSetting> shared_settings(const DataOrigin& origin);

/// Compares the errors (or none) that all ranks met in `work`. Throws ErrorOfAll if all ranks have the same error;
/// otherwise each rank with an error throws its own.
void compare_errors(comm::Communicator& communicator, const std::optional<Error>& error, std::string_view work);

/// Calls `work` on every rank and returns its result; `work` must not communicate. Errors as in compare_errors().
template <typename Work> auto done_by_all(comm::Communicator& communicator, std::string_view what, Work&& work) {
    std::optional<decltype(work())> result;
    std::optional<Error> failure;
    try {
        result.emplace(std::forward<Work>(work)());
    } catch (const Error& error) {
        failure.emplace(error);
    }
    compare_errors(communicator, failure, what);
    return std::move(*result);
}

/// ErrorOfAll(peers) unless all ranks have the same data and compute in the same type.
void agree_on_data(const DataOrigin& origin, const backend::Arithmetic& arithmetic, const Host& host);

/// The folder of results of a run without training. Rank 0 writes there; the others use the same name.
RunFolder results_folder_of_all(const Task& task, const options::ParseResult& arguments, const Host& host);

/// Broadcasts rank 0's variables to all ranks.
void share_variables(comm::Communicator& communicator, backend::Executable& executable, std::string_view what);

/// Checksum of names and bytes.
std::uint64_t checksum(const std::map<std::string, HostTensor>& tensors);

/// Broadcasts rank 0's start of the run: its seed and the checkpoint to resume from. On the other ranks, `start` holds
/// only their options. Throws Error(peers) if options that change numerical results differ.
RunStart agreed_start(RunStart start, const Host& host);

/// A log line on the sums over the processes in each update.
std::string exchange_line(const backend::CompileReport& report, const backend::CompileRequest& request);

/// Gives each rank every size()-th micro-batch.
data::LoaderSettings for_rank(data::LoaderSettings loader, const comm::Communicator& communicator);

}  // namespace cnntrain::run
