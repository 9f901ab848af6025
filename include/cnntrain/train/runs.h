// The runs behind the commands: train and restore, validation, inference.
//
// They tell metrics::Observers what happens; everything else that they need from the process comes in as a Host. Any of
// them may throw Interrupted when a stop is asked for while it waits for data and has nothing to save.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/comm/communicator.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// An error that all processes of a run have met, in the same words: when one of them tells it, all is said. Each of
/// them throws it, and none has left the others yet.
class ErrorOfAll : public Error {
public:
    explicit ErrorOfAll(const Error& error) : Error(error) {}
};

// The columns of validation that EstimatorReport reads.
inline constexpr const char* kTop1Column = "val_acc";
inline constexpr const char* kTop5Column = "val_top5_acc";
inline constexpr const char* kValidationLossColumn = "val_loss";

/// What an evaluation says besides its own report: the lines of TensorFlow's Estimator. Their loss includes that of the
/// weights, `weight_decay` / 2 times the sum of their squares; those of norms are left out.
struct EstimatorReport {
    double weight_decay = 0;
};

/// What a run gets from the process in which it runs.
struct Host {
    std::string command_line;            // as typed, for the log
    FileSystem* files = &posix_files();  // run folders and checkpoints; data sets always come from the real one
    std::ostream* console = nullptr;     // never null
    bool reports = true;                 // on the console
    /// The processes that train or validate together; never null. Rank 0 reads and writes the run's files for all.
    std::shared_ptr<comm::Communicator> communicator = comm::make_alone();
    int terminal_width = 0;                // columns; 0: the console is not a terminal
    std::function<bool()> stop_requested;  // asked between micro-batches and while waiting for one; empty: never
    /// Told true while a stop must wait until the work is saved, false again after that. A process that is asked to
    /// stop at another time may end at once. Empty: nobody wants to know.
    std::function<void(bool)> hold_exit;
    std::optional<EstimatorReport> estimator = {};  // `validation` of one checkpoint of ImageNet
};

/// Is this the process that reads and writes for all?
inline bool is_first(const Host& host) {
    return host.communicator->rank() == 0;
}

/// `train`: trains, validates the run's checkpoints, and returns the process's exit code: 0, or kInterruptedExitCode
/// after a stop that was asked for (a checkpoint has been written then). Error(diverged) at a loss that is not finite,
/// unless that was switched off; Error(usage) when the folder holds another run or another process writes there.
int run_training(const TaskRow& task, const config::ParseResult& arguments, const Host& host);

/// `restore`: the same for the run that is recorded in the folder of the restore line.
int run_restored(const TaskRow& task, const config::ParseResult& restore_line, const Host& host);

/// The options of that run, with the restore line's own over them.
config::ParseResult restored_arguments(const TaskRow& task, const config::ParseResult& restore_line,
                                       const FileSystem& files);

/// `validation`: one checkpoint, all of a folder, or random weights. Error(not_found) when there is no checkpoint.
int run_validation(const TaskRow& task, const config::ParseResult& arguments, const Host& host);

/// `inference`: with --iterations, throughput and latencies of requests; without, the five likeliest classes of what
/// the task classifies. Error(unsupported) for a task without classes.
int run_inference(const TaskRow& task, const config::ParseResult& arguments, const Host& host);

}  // namespace cnntrain::train
