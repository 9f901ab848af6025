// Small training runs in memory: real CIFAR files on disk, run folders in a MemoryFiles.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"
#include "train/by_task.h"

namespace cnntrain::run::testing {

options::ParseResult parse(const std::string& line, options::Command command = options::Command::train);

/// A data set of 160 training and 37 test images, made once for all tests of the process.
const std::string& small_cifar();

/// A narrow EfficientNet of eight blocks with proxy norm, as options of train().
inline const std::string kProxyNet =
    "--model efficientnet --model-size cifar --proxy-norm --width-coefficient 0.25 --depth-coefficient 0.1 "
    "--expand-ratio 2 --abs-learning-rate 0.005";

/// Host::least_kept_seconds of all runs.
inline double least_kept_seconds = 0;

struct Outcome {
    int exit_code = 0;
    std::string console;
};

/// The line of train() without a seed.
std::string train_line(const std::string& options);
/// ResNet-8, batch 8: 20 iterations per epoch, host steps of 5. `options` come on top. The folder is "run".
Outcome train(FileSystem& files, const std::string& options = "", const std::function<bool()>& stop = {});
/// The files of a run with these options of train(), made once for all tests of the process.
const MemoryFiles& trained_once(const std::string& options);
/// `restore --restore-path run`.
Outcome restore(FileSystem& files, const std::string& options = "", const std::function<bool()>& stop = {});
Outcome validate(FileSystem& files, const std::string& options);
Outcome infer(FileSystem& files, const std::string& options, const std::function<bool()>& stop = {});

/// `profile` of a line with the same data and network.
Outcome profile_line(FileSystem& files, const std::string& options, const ProfileRequest& request,
                     options::Command command = options::Command::train);

/// Runs a line of `command`, of any task, as it is.
Outcome run_line(FileSystem& files, options::Command command, const std::string& line,
                 const std::function<bool()>& stop = {});

/// One process of several that run in threads.
struct Process {
    MemoryFiles files = MemoryFiles();
    FileSystem* disk = nullptr;  // that it works on; null: `files`
    /// Takes the communicator and returns the one that the run uses; empty: the same.
    std::function<std::shared_ptr<comm::Communicator>(std::shared_ptr<comm::Communicator>)> connect = {};
    std::string options = {};  // on top of those of all
    std::function<bool()> stop = {};
    std::optional<std::int64_t> replicas = {};  // as poprun says them
    Outcome outcome = {};
    std::optional<ErrorKind> error = {};  // that the run ended with
    std::string message = {};             // of the error
    bool of_all = false;                  // an ErrorOfAll
};

/// run_line() of all of them together.
void run_together(std::vector<Process>& processes, options::Command command, const std::string& line);
/// train() of all of them together.
void train_together(std::vector<Process>& processes, const std::string& options = "",
                    const std::string& seed = "--seed 7");
/// restore() of the run in the first one's files, which all of them see.
void restore_together(std::vector<Process>& processes, const std::string& options = "");

/// Asks for a stop when it has been asked `count` times.
std::function<bool()> stop_after(int count);

/// The columns of training.csv that do not depend on time, one row per element.
std::vector<std::string> loss_rows(const FileSystem& files);
/// Columns name to raw_acc of validation.csv.
std::vector<std::string> accuracy_rows(const FileSystem& files);
/// The number in the last column of a table's last row.
double last_number(const std::string& table);
/// The tensors of a checkpoint as bytes.
std::string weights(const FileSystem& files, std::int64_t iteration, const std::string& but_those_ending_in = "\n");

}  // namespace cnntrain::run::testing
