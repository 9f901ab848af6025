// The files of a run's folder: what belongs to a run, its recorded options, and rows that do not belong to it any more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::train {

inline constexpr const char* kArgumentsFile = "arguments.json";

/// Checkpoints, averages and tables that a run has left in the folder, by name: a new run must not mix its own with
/// them.
std::vector<std::string> results_in(const FileSystem& files, const std::string& folder);

/// Does a training write there, or has one? Rather than validations and inferences only.
bool holds_training(const FileSystem& files, const std::string& folder);

/// Removes every file that a run itself has named. Averages and other files that a user has named stay. Error(usage),
/// and nothing is removed, when the folder has results but no arguments.json of a run.
void remove_run(FileSystem& files, const std::string& folder);

/// Writes arguments.json. One that is there with other options is kept beside, as arguments.<n>.json, n from 1 on.
/// `options` is the part of `json` that the user decides; when it is the same, a run that goes on (`resumed`) leaves
/// the file alone.
void record_arguments(FileSystem& files, const std::string& folder, const std::string& json, const std::string& options,
                      bool resumed);

/// Of a process that trains nothing: arguments.json, or arguments_restore.json beside an existing one.
void add_arguments(FileSystem& files, const std::string& folder, const std::string& json);

/// A run that was killed has logged past its last checkpoint, perhaps half a row: drops that from training.csv and
/// validation.csv, so that the run that goes on writes it once.
void drop_rows_after(FileSystem& files, const std::string& folder, std::int64_t iteration);

/// The row of a checkpoint or average that is made anew.
void drop_validation(FileSystem& files, const std::string& folder, const std::string& name);

/// Half a row at the end, by a process that was killed while it wrote.
void drop_half_rows(FileSystem& files, const std::string& folder);

/// The averages that --weight-avg-N and --weight-avg-exp have made, with their validation rows: the run goes on, and
/// will have other last checkpoints.
void drop_averages(FileSystem& files, const std::string& folder);

}  // namespace cnntrain::train
