// A compiled graph on the CPU.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/onednn.h"
#include "backend/cpu/program.h"
#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

class CpuExecutable : public backend::Executable, private backend::Inspection {
public:
    explicit CpuExecutable(const backend::CompileRequest& request);

    const backend::CompileReport& report() const override { return report_; }
    void load(const std::string& name, const HostTensor& tensor) override;
    HostTensor store(const std::string& name) const override;
    std::vector<std::string> variable_names() const override;
    backend::StepResult train_step(data::BatchSource& source, const backend::StepScalars& scalars) override;
    backend::StepResult evaluate(data::BatchSource& source, std::int64_t batches) override;
    HostTensor output(const std::string& name) const override;
    backend::Inspection& inspection() override { return *this; }

private:
    std::optional<std::string> first_non_finite() const override { return first_non_finite_; }
    HostTensor gradient(const std::string& parameter_name) const override;
    void set_profiling(bool enabled) override;
    std::vector<backend::ProfileRow> profile() const override;
    std::vector<backend::ProfileRow> profile_alone(int repeats) override;

    /// A variable, output or gradient, and how users see it.
    struct Tensor {
        std::string name;
        TensorDesc desc;
        Placed placed;
        Desc row_major;
        graph::Phase phase = graph::Phase::forward;  // of its producer
    };

    void compile(const backend::CompileRequest& request);
    static const Tensor& find(const std::vector<Tensor>& tensors, const std::string& name, const std::string& kind);
    HostTensor read(const Tensor& tensor) const;
    void copy(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const;
    void copy_as_floats(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const;
    void reorder(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const;

    void use_threads() const;
    void run_section(Section section, const StepContext& context);
    void refresh_prepared();
    /// Runs forward sections, and backward sections when that is the last phase.
    void run_micro_batch(data::BatchSource& source, graph::Phase last_phase, StepContext& context,
                         backend::StepResult& result);
    std::span<const Section> sections_until(graph::Phase last_phase) const;
    void add_outputs(graph::Phase last_phase, backend::StepResult& result);
    void find_non_finite(graph::Phase last_phase, const StepContext& context);
    /// True when a step has written a value that is not finite; the later ones have not run then.
    bool rerun_until_non_finite(Section section, const StepContext& context);

    OneDnn onednn_;
    graph::Graph graph_;
    Program program_;
    int threads_ = 1;
    std::int64_t micro_batches_ = 1;
    bool check_finite_ = true;
    std::function<bool()> stop_requested_;
    bool prepared_is_stale_ = true;
    bool profiling_ = false;
    std::vector<Tensor> variables_;
    std::vector<Tensor> outputs_;
    std::vector<Tensor> gradients_;  // by the name of their parameter
    std::vector<Tensor> inputs_;
    std::vector<std::size_t> input_fields_;  // the field of a batch that fills each input
    std::optional<std::string> first_non_finite_;
    backend::CompileReport report_;
    std::vector<std::vector<double>> seconds_;  // profile, by section: total per step
    std::vector<std::int64_t> executions_;      // profile, by section
};

}  // namespace cnntrain::cpu
