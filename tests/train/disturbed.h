// Trainings of a few updates in which one operation after another fails. Whatever fails, the error says so, every
// process ends, no file is half written, and the run that goes on ends with the undisturbed one's bytes.
#pragma once

#include <functional>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/options/commands.h"
#include "support/faults.h"

namespace cnntrain::run::testing {

struct Subject {
    options::Command command;
    std::string line;              // without --logs-path
    std::string alone;             // more options for one process
    std::string together;          // and for two ranks
    std::string own_files;         // makes the second rank write files, too
    int first_column, end_column;  // of training.csv, without times
};

/// Two updates; one process saves every one, and the best weights at a validation.
Subject image_network();
/// BERT, two updates.
Subject pretraining();

/// The operations on files in memory.
void try_file_faults(const Subject& subject);
/// The operations on files on a disk.
void try_disk_faults(const Subject& subject);
/// The calls of the system: `disturbed(fault, run)` calls run() while the fault may strike one of them.
using DisturbedCalls = std::function<void(test::Fault& fault, const std::function<void()>& run)>;
void try_call_faults(const Subject& subject, const DisturbedCalls& disturbed);
/// The operations on files of each of two ranks.
void try_file_faults_of_ranks(const Subject& subject);
/// The messages of each of two ranks.
void try_message_faults(const Subject& subject);

/// The line of one process.
std::string line_alone(const Subject& subject, const std::string& folder);

/// The end of a run for comparison: the last checkpoint's tensors and the table's rows.
struct Result {
    std::string weights, rows;
    bool operator==(const Result&) const = default;
};
Result result(const Subject& subject, const FileSystem& files, const std::string& folder);

/// Fails unless every file in the folder is finished or absent, and checkpoints and records can be read.
void expect_whole_files(const FileSystem& files, const std::string& folder);

/// True if a user would `restore`; otherwise the own line is given again.
bool is_restorable(const FileSystem& files, const std::string& folder);

}  // namespace cnntrain::run::testing
