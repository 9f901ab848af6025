// What a run's log.txt says.
#pragma once

#include <string_view>

#include "cnntrain/report/run_record.h"

namespace cnntrain::report {

LogFacts read_log(std::string_view text);

}  // namespace cnntrain::report
