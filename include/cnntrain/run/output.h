// Forms of a profile: a table for the console, JSON, a trace for Perfetto and chrome://tracing, folded stacks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/run/profile.h"

namespace cnntrain::profile {

/// Operations, waits, the longest steps, input, ranks and memory; ends with the verdict. `longest`: how many of the
/// longest steps.
std::string table(const Profile& profile, const Verdict& verdict, int longest);
/// The parts of the table that say where a step's time goes.
std::string operations_table(const Profile& profile);
std::string longest_table(const Profile& profile, int longest);

/// One JSON object; `cnntrain help profile` describes it.
std::string to_json(const Profile& profile, const Verdict& verdict);
/// Reads a profile from a text that to_json() has written; values that an earlier version did not write are 0. Without
/// the memory by owner. Empty if the text is no profile.
std::optional<Profile> from_json(std::string_view text);

/// The events of one rank in the Trace Event Format, separated by commas. Times count from `origin`.
std::string trace_events(const Timeline& timeline, Timeline::Clock::time_point origin, int rank,
                         const std::string& process);
/// A whole trace of the events of all ranks.
std::string trace_of(std::span<const std::string> ranks);

/// Lines "frame;frame;frame microseconds" of one step, for flame graphs.
std::string folded_stacks(const Profile& profile);

}  // namespace cnntrain::profile
