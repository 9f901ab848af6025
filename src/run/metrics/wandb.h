// Weights & Biases, through the user's own `wandb` client: a child process `python3` that receives JSON lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cnntrain/run/observer.h"

namespace cnntrain::metrics {

struct WandbSettings {
    std::string project;
    std::string name;
    std::string id;      // of the run to continue; empty: a new run
    std::string config;  // the run's options, a JSON object
    std::vector<std::string> python = {"python3"};
    double start_timeout_seconds = 120;
    double finish_timeout_seconds = 60;
};

/// Rows are logged under their columns' names. If the client fails later, one warning is printed and the run continues.
/// The destructor ends the W&B run, marked as failed during stack unwinding; it waits up to finish_timeout_seconds for
/// the client's uploads and then leaves the client running.
class Wandb final : public Handles<Wandb> {
public:
    /// Throws Error(unsupported), stating what to install, if Python or the client is missing or the client cannot
    /// start a run.
    explicit Wandb(const WandbSettings& settings);
    ~Wandb() override;

    /// "run 3k2j1h, https://wandb.ai/...", for the log.
    const std::string& description() const { return description_; }

    void handle(const Row& row);
    void handle(const Status& status);

private:
    class Client;
    void send(const std::string& line);

    std::unique_ptr<Client> client_;  // null after it failed
    std::string description_;
    std::string compilation_status_;
    double finish_timeout_seconds_;
    int exceptions_at_start_;
};

}  // namespace cnntrain::metrics
