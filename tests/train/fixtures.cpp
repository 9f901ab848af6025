#include "train/fixtures.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "cnntrain/data/writers.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/temporary_folder.h"
#include "support/thread_communicators.h"
#include "support/words.h"

namespace cnntrain::run::testing {
namespace {

/// A folder that goes with the process.
struct SmallCifar {
    SmallCifar() {
        data::GeneratedCifarSettings settings;
        settings.folder = folder.path();
        settings.train_images = 160;
        settings.test_images = 37;
        data::write_generated_cifar(settings);
    }
    test::TemporaryFolder folder;
};

Host host_for(FileSystem& files, std::ostream& console, const std::function<bool()>& stop) {
    Host host;
    host.command_line = "cnntrain test";
    host.files = &files;
    host.console = &console;
    host.stop_requested = stop;
    host.least_kept_seconds = least_kept_seconds;
    return host;
}

std::vector<std::string> first_columns(const std::string& text, int columns) {
    std::vector<std::string> rows;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        std::size_t end = 0;
        for (int i = 0; i < columns; ++i)
            end = line.find(',', end + 1);
        rows.push_back(line.substr(0, end));
    }
    return rows;
}

const std::string kCommon = " --dataset cifar-10 --model-size 8 --micro-batch-size 8 --threads 1 --input-threads 1 ";

}  // namespace

options::ParseResult parse(const std::string& line, options::Command command) {
    return tasks::parse_command_line(command, test::words(line), {{}, {CNNTRAIN_SOURCE_DIR "/configs"}});
}

const std::string& small_cifar() {
    static const SmallCifar instance;
    return instance.folder.path();
}

std::string train_line(const std::string& options) {
    return "--data-dir " + small_cifar() + kCommon +
           "--logs-path run --warmup-epochs 0 --logs-per-epoch 4 --abs-learning-rate 0.05 --epochs 2 " + options;
}

namespace {

int run_parsed(const options::ParseResult& arguments, const Host& host) {
    const bool restores = arguments.command == options::Command::restore;
    return restores ? tasks::run_restored(arguments, host) : tasks::run(arguments, host);
}

/// Runs a process as the command does: one that fails notifies the others.
void run_process(Process& process, options::Command command, const std::string& line,
                 std::shared_ptr<comm::Communicator> communicator) {
    if (process.connect) communicator = process.connect(std::move(communicator));
    std::ostringstream console;
    Host host = host_for(process.disk != nullptr ? *process.disk : process.files, console, process.stop);
    host.communicator = communicator;
    options::Environment environment{{}, {CNNTRAIN_SOURCE_DIR "/configs"}};
    environment.launch = {communicator->size(), communicator->rank(), process.replicas};
    try {
        const std::vector<std::string> words = test::words(line + " " + process.options);
        process.outcome.exit_code = run_parsed(tasks::parse_command_line(command, words, environment), host);
        communicator->finish();
    } catch (const Error& error) {
        process.error = error.kind();
        process.message = error.what();
        process.of_all = dynamic_cast<const ErrorOfAll*>(&error) != nullptr;
        communicator->leave(process.message);
    }
    process.outcome.console = console.str();
}

}  // namespace

void run_together(std::vector<Process>& processes, options::Command command, const std::string& line) {
    auto communicators = comm::make_thread_communicators(static_cast<int>(processes.size()), {.timeout_seconds = 60});
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < processes.size(); ++i)
        threads.emplace_back([&, i] { run_process(processes[i], command, line, std::move(communicators[i])); });
    for (std::thread& thread : threads)
        thread.join();
}

void train_together(std::vector<Process>& processes, const std::string& options, const std::string& seed) {
    run_together(processes, options::Command::train, train_line(seed + " " + options));
}

void restore_together(std::vector<Process>& processes, const std::string& options) {
    for (Process& process : processes)
        process.disk = &processes.front().files;
    run_together(processes, options::Command::restore, "--restore-path run " + options);
    for (Process& process : processes)
        process.disk = nullptr;
}

Outcome run_line(FileSystem& files, options::Command command, const std::string& line,
                 const std::function<bool()>& stop) {
    std::ostringstream console;
    const int exit_code = run_parsed(parse(line, command), host_for(files, console, stop));
    return {exit_code, console.str()};
}

Outcome train(FileSystem& files, const std::string& options, const std::function<bool()>& stop) {
    return run_line(files, options::Command::train, train_line("--seed 7 " + options), stop);
}

const MemoryFiles& trained_once(const std::string& options) {
    static std::map<std::string, MemoryFiles> runs;
    const auto [found, is_new] = runs.try_emplace(options);
    if (is_new) train(found->second, options);
    return found->second;
}

Outcome restore(FileSystem& files, const std::string& options, const std::function<bool()>& stop) {
    return run_line(files, options::Command::restore, "--restore-path run " + options, stop);
}

Outcome validate(FileSystem& files, const std::string& options) {
    const std::string line = "--data-dir " + small_cifar() + kCommon + options;
    std::ostringstream console;
    const options::ParseResult arguments = parse(line, options::Command::validation);
    const int exit_code = run_validation(tasks::row_of(arguments), arguments, host_for(files, console, {}));
    return {exit_code, console.str()};
}

Outcome infer(FileSystem& files, const std::string& options, const std::function<bool()>& stop) {
    const bool generated = options.find("--generated-data") != std::string::npos;
    const std::string line = (generated ? "" : "--data-dir " + small_cifar()) + kCommon + options;
    std::ostringstream console;
    const options::ParseResult arguments = parse(line, options::Command::inference);
    const int exit_code = run_inference(tasks::row_of(arguments), arguments, host_for(files, console, stop));
    return {exit_code, console.str()};
}

Outcome profile_line(FileSystem& files, const std::string& options, const ProfileRequest& request,
                     options::Command command) {
    const std::string line = "--data-dir " + small_cifar() + kCommon + options;
    std::ostringstream console;
    const options::ParseResult arguments = parse(line, command);
    const int exit_code = run_profile(tasks::row_of(arguments), arguments, request, host_for(files, console, {}));
    return {exit_code, console.str()};
}

std::function<bool()> stop_after(int count) {
    return [left = std::make_shared<int>(count)] { return --*left <= 0; };
}

std::vector<std::string> loss_rows(const FileSystem& files) {
    constexpr int kColumns = 8;  // up to train_acc_avg
    return first_columns(read_text(files, "run/training.csv"), kColumns);
}

std::vector<std::string> accuracy_rows(const FileSystem& files) {
    constexpr int kColumns = 5;
    return first_columns(read_text(files, "run/validation.csv"), kColumns);
}

double last_number(const std::string& table) {
    return std::stod(table.substr(table.rfind(',') + 1));
}

std::string weights(const FileSystem& files, std::int64_t iteration, const std::string& but_those_ending_in) {
    const auto checkpoint = weights::load(files, weights::checkpoint_path("run", iteration));
    std::string all;
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (name.ends_with(but_those_ending_in)) continue;
        const auto bytes = tensor.bytes();
        all += name;
        all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return all;
}

}  // namespace cnntrain::run::testing
