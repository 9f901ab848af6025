// The path of this program's executable, for commands that start it again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/insight/plan.h"

namespace cnntrain::cli {

/// The path with links resolved. Error(unsupported) without /proc.
std::string own_program();

// Parses numbers of processes and network speeds.

/// Parses "8", "1,2,6" or "1,2,4...1024", where `...` continues by doubling. The result is ascending and without
/// duplicates. Throws Error(usage) for any other text.
std::vector<std::int64_t> parse_processes(std::string_view text);

/// Parses "100Gbps,1.5us": a bandwidth in bit/s (bps, bit/s) or byte/s (B/s) with prefix k, M, G or T, from 1 B/s to
/// 1e18 B/s, and a latency in s, ms, us or ns of at most an hour. Error(usage) names `flag`.
plan::Link parse_link(std::string_view text, std::string_view flag);

/// Parses a bandwidth such as "12.5GB/s". Result in bytes per ms.
double parse_bandwidth(std::string_view text, std::string_view flag);

/// Parses "5%" or "0.05": a share from 0 to 1.
double parse_share(std::string_view text, std::string_view flag);

}  // namespace cnntrain::cli
