// How numbers of processes and networks are written on a command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cnntrain/plan/data_parallel_time.h"

namespace cnntrain::cli {

/// "8", "1,2,6", "1,2,4...1024": `...` goes on doubling. Ascending, without repetitions. Error(usage) for what is no
/// such list.
std::vector<std::int64_t> parse_processes(std::string_view text);

/// "100Gbps,1.5us": bandwidth in bit/s (bps, bit/s) or byte/s (B/s) with k, M, G or T before it, then latency in s, ms,
/// us or ns. `flag` is named in Error(usage).
plan::Link parse_link(std::string_view text, std::string_view flag);

/// "12.5GB/s" alone, in bytes per ms.
double parse_bandwidth(std::string_view text, std::string_view flag);

}  // namespace cnntrain::cli
