// The runs of the commands train, restore, validation and inference.
//
// They report to metrics::Observers; Host has everything else that they need from the process. Each may throw
// Interrupted if a stop is requested while it waits for data and has nothing to save.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/terminal.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

/// An error that all processes of a run encounter with the same message, so that printing it once is enough. All
/// processes throw it while they are still connected.
class ErrorOfAll : public Error {
public:
    explicit ErrorOfAll(const Error& error) : Error(error) {}
};

/// Makes a validation also print the lines of TensorFlow's Estimator. Their loss includes weight_decay / 2 times the
/// sum of squared weights, without those of norms.
struct EstimatorReport {
    double weight_decay = 0;
};

/// Resources that a run gets from its process.
struct Host {
    std::string command_line;            // as typed, for the log
    bool is_original_line = true;        // it names a script of the original programs, whose log is parsed
    FileSystem* files = &posix_files();  // for run folders and checkpoints; data sets are always real files
    std::ostream* console = nullptr;     // never null
    bool reports = true;                 // whether to print to the console
    /// Connects the processes that train or validate together; never null. Rank 0 reads and writes the run's files for
    /// all.
    std::shared_ptr<comm::Communicator> communicator = comm::make_alone();
    Terminal terminal = {};                // terminal of the console
    std::function<bool()> stop_requested;  // called between micro-batches and while waiting for one; empty: never
    /// Called with true when the run starts work that a stop must not interrupt, and with false when that work is
    /// saved. Outside these periods the process may be ended at once. Empty: not needed.
    std::function<void(bool)> hold_exit;
    /// A run that is stopped inside a weight update keeps its complete micro-batches if they took at least as long;
    /// otherwise `restore` repeats them.
    double least_kept_seconds = 1;
    std::optional<EstimatorReport> estimator = {};  // for `validation` of one ImageNet checkpoint
    /// Records what the threads of a profiled run do; null: nothing is recorded.
    std::shared_ptr<Timeline> timeline = {};
};

/// True in the process that reads and writes files for all.
inline bool is_first(const Host& host) {
    return host.communicator->rank() == 0;
}

/// ErrorOfAll(peers) unless all ranks run the same version, command and options; it names each option that differs. The
/// ranks of a run exchange this first, because all else may depend on every option.
void agree_on_options(const options::ParseResult& arguments, const Host& host);

/// `train`: trains, then validates the run's checkpoints. Returns the exit code of the process: 0, or
/// kInterruptedExitCode after a requested stop, for which a checkpoint was written. Throws Error(diverged) if the loss
/// becomes non-finite (unless disabled), Error(usage) if the folder holds another run or another process writes to it.
int run_training(const TaskRow& task, const options::ParseResult& arguments, const Host& host);

/// `restore`: resumes the run recorded in the folder that `restore_line` names; otherwise like run_training().
int run_restored(const TaskRow& task, const options::ParseResult& restore_line, const Host& host);

/// The recorded options of that run, overridden by those of `restore_line`.
options::ParseResult restored_arguments(const TaskRow& task, const options::ParseResult& restore_line,
                                        const FileSystem& files);

/// `validation`: of one checkpoint, of all checkpoints in a folder, or of random weights. Error(not_found) without a
/// checkpoint.
int run_validation(const TaskRow& task, const options::ParseResult& arguments, const Host& host);

/// `inference`: with --iterations, measures throughput and latency of requests; otherwise prints the five most probable
/// classes of each sample. Error(unsupported) for a task without classes.
int run_inference(const TaskRow& task, const options::ParseResult& arguments, const Host& host);

struct ProfileRequest {
    std::int64_t steps = 10;  // measured ones
    std::string folder = {};  // for its files; empty: none are written
};
/// `profile`: measures steps of the line and prints where their time goes. The line makes no run folder.
int run_profile(const TaskRow& task, const options::ParseResult& arguments, const ProfileRequest& request,
                const Host& host);

}  // namespace cnntrain::run
