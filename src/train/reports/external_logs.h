// What a run reports beside its own log: TensorBoard, Weights & Biases, NaN counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/metrics/run_log.h"
#include "cnntrain/train/runs.h"
#include "train/reports/describe.h"
#include "train/runs/run_folder.h"

namespace cnntrain::train {

/// Adds the sinks that the options ask for. `arguments_json` goes to Weights & Biases as the run's configuration;
/// `resumed_at` is the iteration from which a resumed run goes on. Error(unsupported) when --wandb cannot work here.
void open_external_logs(metrics::RunLog& log, const config::ParseResult& arguments, const RunFacts& facts,
                        const std::string& arguments_json, FileSystem& files,
                        std::optional<std::int64_t> resumed_at = {});

/// The folder's log of a run that trains nothing, with the run's introduction and arguments.json written.
std::unique_ptr<metrics::RunLog> open_evaluation_log(const config::ParseResult& arguments, const RunFolder& folder,
                                                     const Host& host);

metrics::NanRow count_nans(std::int64_t iteration, const std::map<std::string, HostTensor>& tensors);

}  // namespace cnntrain::train
