// A profile of weight updates, or of evaluated micro-batches ("steps"): the parts of a step's time.
//
// All times are seconds of one step on the wall's clock. Work of a lane counts by its share of the lanes, so that the
// times of all rows and waits, and `other`, add up to the step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/data/loader.h"

namespace cnntrain::profile {

/// One step of the program (an operation of the network), or all of a kind.
struct Row {
    std::string name;            // "all/stage1/unit1/conv1"; of a kind: the operation
    std::string op;              // "conv2d"
    std::string implementation;  // "brgemm:avx512_core_amx"
    std::string phase;           // "forward", "backward" or "update"
    std::int32_t stage = 0;      // of the pipeline
    double runs = 0;             // per step
    double seconds = 0;
    double run_seconds = 0;  // of one run
    double gflop = 0;        // work of a step
    double megabytes = 0;    // least memory traffic of a step: every operand read or written once
};

struct Waits {
    double input = 0;
    double lanes = 0;
    double ranks = 0;  // communication that computing does not hide

    double total() const { return input + lanes + ranks; }
};

/// The loader's threads, per step: seconds of all threads together.
struct InputWork {
    std::int64_t threads = 0;  // 0: nothing is loaded
    double seconds = 0;
    data::StageSeconds stages = {};  // parts of `seconds`
    double samples = 0;              // prepared
    double megapixels = 0;           // of a decoded image file, on average; 0: no images
};

struct Owner {
    std::string name;
    std::uint64_t bytes = 0;
};

/// A rank's step.
struct RankTimes {
    double step = 0;
    Waits waits = {};

    /// Time of the rank itself, for which other ranks wait.
    double own() const { return step - waits.ranks; }
};

/// Cause that limits the rate. Profiles have the names of the enumerators.
enum class Limit : std::uint8_t {
    neighbours,        // other programs on the processors
    paging,            // memory pages that are read from disk
    slow_rank,         // all ranks wait for one
    disk,              // reading the data
    large_images,      // decoding images that are much larger than needed
    input_threads,     // too few threads prepare samples
    input,             // preparing samples
    threads,           // cores that do not compute
    communication,     // exchange between ranks
    lanes,             // lanes that wait for each other
    small_batch,       // too little work in each step of the program, or in each weight update
    between_steps,     // work of the host between steps
    operations,        // operations that were not measured one by one
    memory_bandwidth,  // traffic between the cores, their caches and memory
    compute,           // arithmetic
};

struct Verdict {
    Limit limit = Limit::compute;
    std::string sentence;  // what limits, and what to try
};

/// Highest rates of the machine, measured in the same process.
struct Peaks {
    double flops_per_second = 0;            // of large matrix products
    std::vector<MemoryLevel> levels = {};   // nearest first, memory last
    double byte_operations_per_second = 0;  // of large products of 8 bits; 0: the profile has none

    bool are_known() const { return flops_per_second > 0 && !levels.empty(); }
    double memory_bytes_per_second() const { return levels.empty() ? 0 : levels.back().rates.best(); }
};

/// Measurements of a run. Some may be missing: without rows, only the step and its waits are judged.
struct Profile {
    // The run
    std::string title;               // "training, resnet 50"
    std::string line;                // the command line
    std::string version;             // of this program
    std::string machine;             // its processor
    std::string unit;                // "images"
    std::string type;                // in which products are computed: "bf16"
    bool faster_in_16_bits = false;  // it computes in 32 bits, and this processor has products of 16
    bool trains = true;
    std::int64_t steps = 0;        // measured ones
    std::int64_t samples = 0;      // of one step, in this process
    std::int64_t micro_batch = 0;  // samples
    double image_megapixels = 0;   // as the network reads images; 0: no images
    int threads = 0;               // that compute
    int lanes = 1;
    int cores = 0;       // that this process may use
    int processors = 0;  // the same, as the system counts them

    // The measurements
    double step_seconds = 0;
    std::vector<Row> rows;  // in the order of execution
    Waits waits = {};
    InputWork input = {};
    Peaks peaks = {};
    /// Load by other programs on this process's processors; 0 where several ranks share a host.
    Competition competition = {};
    double page_loads_per_second = 0;  // pages of memory that the process had to read from disk
    std::vector<Owner> memory;
    std::uint64_t resident_bytes = 0;  // of the process
    std::int64_t layout_changes = 0;   // steps that only change layouts
    std::int32_t rank = 0;
    std::vector<RankTimes> ranks;  // by rank; empty: a single process

    double computed() const;  // seconds of all rows
    double other() const;     // seconds of a step that are in no row and no wait; never negative
    double samples_per_second() const { return static_cast<double>(samples) / step_seconds; }
};

/// Rows per step. `steps`: how many were measured.
std::vector<Row> rows_per_step(const std::vector<backend::ProfileRow>& measured, std::int64_t steps);

/// The least time that the machine needs for a row's work, and what takes it: the longer one of the time of its
/// arithmetic and that of its memory traffic (Williams, Waterman and Patterson 2009, "Roofline: an insightful visual
/// performance model").
struct Roofline {
    double seconds = 0;  // of a step; 0 without peaks
    std::string bound;   // kArithmetic, or the level of memory that holds the operands of a run: "L2", "memory"

    /// The roofline's share of the measured time.
    double share_of(double measured_seconds) const { return measured_seconds > 0 ? seconds / measured_seconds : 0; }
};
inline constexpr std::string_view kArithmetic = "arithmetic";
/// Is this an operation of products of 8 bits?
bool multiplies_bytes(const Row& row);
/// Operands are as near as they can be: as many bytes as a level holds come from it, and the others from the next
/// levels.
Roofline roofline(const Row& row, const Peaks& peaks);

/// The rows of an operation in a phase, with their sums.
struct OperationSum {
    Row row;
    Roofline roofline;  // its bound is that of most of the time
};
/// The longest first.
std::vector<OperationSum> by_operation(const std::vector<Row>& rows, const Peaks& peaks);

/// Names the cause that limits the step; a pure function of the profile.
Verdict judge(const Profile& profile);

// Forms of a profile: a table for the console, JSON, a trace for Perfetto and chrome://tracing, folded stacks.

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
