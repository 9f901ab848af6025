// Measures a window of steps of an executable, its input and its communication.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/profile.h"

namespace cnntrain::profile {

/// Objects that a session measures. All of them must outlive it.
struct Subject {
    const backend::Backend& backend;
    backend::Executable& executable;
    const graph::Graph& graph;
    const data::Stream& stream;
    comm::Communicator& communicator;
    Timeline& timeline;  // on which the stream and the communicator record
};

/// A profile in all its forms. With several ranks, the first one has the parts of all; the others' are empty.
struct Report {
    std::string table;
    std::vector<std::string> json;  // by rank
    std::string trace;
    std::string stacks;
};

class Session {
public:
    /// `facts`: a profile with the members that describe the run. Adds tracks to the timeline.
    Session(const Subject& subject, Profile facts);

    /// Starts the measurement, between two steps. All ranks call it together.
    void begin();
    /// Ends the measurement after `steps` steps of `samples` samples of this process each, and measures the machine's
    /// peaks. All ranks call it together. `longest`: number of the longest operations in the table.
    Report end(std::int64_t steps, std::int64_t samples, int longest);

    /// Profile of the last measurement.
    const Profile& profile() const { return profile_; }

private:
    void measure(std::int64_t steps, std::int64_t samples);
    void measure_input(const data::StreamStats& end, std::int64_t steps);
    void share_times();
    std::vector<Owner> memory_owners(const data::StreamStats& stats) const;

    Subject subject_;
    Profile profile_;
    Timeline::Clock::time_point begin_ = {};
    ProcessorTimes processors_ = {};
    std::int64_t page_loads_ = 0;
    data::StreamStats stream_ = {};
};

/// Paths of the files of a profile in a folder.
std::vector<std::string> profile_files(const std::string& folder, std::size_t ranks);
/// Writes profile.json, profile.rank<r>.json of the other ranks, profile.trace.json and profile.folded.
void write_report(FileSystem& files, const std::string& folder, const Report& report);
/// True for the names of such files.
bool is_profile_name(std::string_view name);
/// True for a file that write_report() has written.
bool is_profile_file(const FileSystem& files, const std::string& path);

}  // namespace cnntrain::profile
