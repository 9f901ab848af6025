// What the processes of one run agree on: rank 0 reads and writes files, and tells the others what they need to know.
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
#include "cnntrain/comm/communicator.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/train/runs.h"
#include "train/runs/resume.h"

namespace cnntrain::train {

/// Rank 0's text, on all ranks. `what`: for messages.
std::string told(comm::Communicator& communicator, std::string text, std::string_view what);

/// Every rank gives the error that it has met in `work`, or none, before it goes on: ErrorOfAll where all of them have
/// the same one. A rank with another error throws that.
void compare_errors(comm::Communicator& communicator, const std::optional<Error>& error, std::string_view work);

/// The result of `work`, which every rank does for itself, without a word to the others. Errors as compare_errors().
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

/// Rank 0's variables, on all ranks.
void share_variables(comm::Communicator& communicator, backend::Executable& executable, std::string_view what);

/// Of names and bytes.
std::uint64_t checksum(const std::map<std::string, HostTensor>& tensors);

/// Rank 0's start of the run on all ranks: seed, and the checkpoint from which the run goes on. On the others, `start`
/// has their options. Error(peers) when options that change the numbers differ.
RunStart agreed_start(RunStart start, const Host& host);

/// What is summed over the processes in each update, and how.
std::string exchange_line(const backend::CompileReport& report, const backend::CompileRequest& request);

/// Each rank takes every size()-th micro-batch.
data::LoaderSettings for_rank(data::LoaderSettings loader, const comm::Communicator& communicator);

}  // namespace cnntrain::train
