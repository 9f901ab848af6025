// What a command line would do, without doing it.
#pragma once

#include <string>

#include "cnntrain/config/parse.h"

namespace cnntrain::train {

/// The resolved run, a line per topic: model, data, batches, length, schedule, precision, files. Reads no data and no
/// checkpoint, so neither needs to exist; counts of images are those of the published data sets. Error(usage) for what
/// the run itself would refuse before it opens data.
std::string dry_run_text(const config::ParseResult& arguments);

}  // namespace cnntrain::train
