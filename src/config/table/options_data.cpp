// Shared options for data sets.
#include "cnntrain/config/shared_options.h"

namespace cnntrain::config {

std::vector<Option> shared_data_options() {
    return {
        {.flag = "--data-dir",
         .type = Type::text,
         .left_open = true,
         .help = "Where the data are.",
         .commands = kTVE | kR,
         .main_in = kTVE | kR,
         .recorded = Recorded::taken,
         .names_data = true,
         .path = true},
        {.flag = "--validation-fraction",
         .type = Type::number,
         .help = "Share of the samples of each class that is held out for validation.",
         .range = between(0, 0.9),
         .numerics = true},
        {.flag = "--generated-data",
         .help = "One random image from the host, repeated.",
         .main_in = kTVE,
         .numerics = true,
         .recorded = Recorded::ignored},
        {.flag = "--synthetic-data",
         .help = "Random data made on the device; no input from the host.",
         .numerics = true,
         .recorded = Recorded::ignored},
        {.flag = "--dataset-cache-gb",
         .type = Type::number,
         .fallback = 0.0,
         .help =
             "Memory for encoded ImageNet records, shared by the processes of a host; 0: leave caching to the system.",
         .unit = "GB",
         .range = between(0, 1e6)},
    };
}

}  // namespace cnntrain::config
