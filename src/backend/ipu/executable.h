// Runs the programs of a DeviceGraph and speaks with them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poplar/Device.hpp>
#include <poplar/Engine.hpp>

#include "backend/ipu/device.h"
#include "backend/ipu/infeed.h"
#include "cnntrain/backend/backend.h"

namespace cnntrain::ipu {

// The host's side of Programs::train: what the device gets for each update, and what becomes of its sums.

/// Performs the updates of one call. Functions are called by the program's streams, in the order in which they stand
/// here.
class TrainingRun {
public:
    struct Settings {
        std::int64_t micro_batches = 1;  // per update and replica
        std::int64_t replicas = 1;
        bool stops_within_updates = true;
        std::uint64_t seed = 0;  // of stochastic rounding
        bool check_finite = true;
        std::function<bool()> stop_requested = {};
    };
    /// `partial`: continued by the first update; may be empty.
    TrainingRun(const Settings& settings, std::span<const backend::StepScalars> updates,
                const backend::PartialUpdate& partial, const std::vector<SumOutput>& sums, data::BatchSource& source,
                Infeed& infeed);

    Command next_command();
    const backend::StepScalars& scalars() const { return updates_[update_]; }
    /// Adds the sums of one replica.
    void take_sums(std::span<const float> sums);
    /// Ends the update. True if the update changes the variables.
    bool verdict();

    std::size_t updates_left() const { return ended_ ? 0 : updates_.size() - update_; }
    /// Results of updates that have ended since the last call, in order.
    std::vector<backend::StepResult> take_results();
    /// The complete micro-batches of an update that was stopped, without its accumulators.
    const backend::PartialUpdate& stopped_within() const { return stopped_within_; }

private:
    bool stop_requested() const { return settings_.stop_requested && settings_.stop_requested(); }
    void begin_update();

    Settings settings_;
    std::span<const backend::StepScalars> updates_;
    const std::vector<SumOutput>& sums_;
    Infeed& infeed_;
    std::size_t update_ = 0;
    bool ended_ = false;      // no further update begins
    std::int64_t first_ = 0;  // micro-batches of the update that were complete before this run
    std::int64_t taken_ = 0;  // the infeed's count when the update began
    std::int64_t samples_ = 0;
    double wait_seconds_ = 0;
    backend::StepResult result_;  // of the update
    std::vector<backend::StepResult> results_;
    backend::PartialUpdate stopped_within_;
};

class IpuExecutable : public backend::Executable {
public:
    /// The request has passed check_request().
    IpuExecutable(const backend::CompileRequest& request, poplar::Device device);

    const backend::CompileReport& report() const override { return report_; }
    void load(const backend::NamedTensors& tensors) override;
    backend::NamedTensors store(std::span<const std::string> names) const override;
    void train(data::BatchSource& source, std::span<const backend::StepScalars> updates,
               const backend::UpdateDone& done, backend::PartialUpdate* partial) override;
    backend::StepResult evaluate(data::BatchSource& source, std::int64_t batches) override;
    HostTensor read(backend::Result result, const std::string& name) const override;
    std::optional<std::string> first_non_finite() const override;
    void set_profiling(bool enabled, Timeline* timeline) override;
    backend::StepTimes profile() const override { return {}; }

private:
    HostTensor read_output(const std::string& name) const;
    HostTensor read_gradient(const std::string& parameter) const;
    void make_report();
    std::string partial_form() const;
    void connect();
    void write_staying();
    void run(Programs program);
    void rethrow_failure() const;
    std::uint32_t updates_of_run(std::size_t left) const;
    Infeed::Settings infeed_settings(const backend::CompileRequest& request) const;
    /// Reads one tensor for each replica, in a first axis.
    HostTensor read_all(const std::string& handle, const TensorDesc& desc) const;
    /// Reads the tensor of the first replica.
    HostTensor read(const std::string& handle, const TensorDesc& desc) const;
    /// Writes one tensor for all replicas, or one for each.
    void write(const std::string& handle, const HostTensor& tensor);
    HostTensor read_variable(graph::ValueId variable) const;
    void write_variable(graph::ValueId variable, const HostTensor& tensor);
    /// The shard of a variable as each replica keeps it.
    TensorDesc shard_desc(graph::ValueId variable) const;
    TensorDesc accumulator_desc(std::size_t k) const;
    /// Returns the sum of accumulator k over all replicas.
    HostTensor accumulator(std::size_t k) const;
    void load_accumulators(const backend::PartialUpdate& partial);
    backend::NamedTensors accumulators() const;

    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    graph::Graph graph_;
    schedule::UpdatePlan plan_;
    backend::RuntimeSettings runtime_;
    poplar::Device device_;  // attached as long as it lives
    bool fp_exceptions_;
    DeviceGraph device_graph_;
    mutable poplar::Engine engine_;  // reading a tensor changes nothing that can be seen
    Infeed infeed_;
    std::optional<TrainingRun> training_;  // while Programs::train runs
    bool has_staying_ = false;             // the inputs that stay are on the device
    std::uint32_t updates_ = 0;            // of a run of Programs::train
    double seconds_of_update_ = 0;         // 0: not known yet
    std::uint32_t batches_ = 0;            // of a run of Programs::evaluate
    std::vector<double> evaluation_sums_;
    backend::CompileReport report_;
};

}  // namespace cnntrain::ipu
