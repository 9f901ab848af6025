// A compiled graph on the CPU.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/onednn.h"
#include "backend/cpu/program/program.h"
#include "backend/cpu/run/exchange.h"
#include "backend/cpu/run/lanes.h"
#include "backend/cpu/run/placement.h"
#include "backend/cpu/run/step_recorder.h"
#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

class Lowering;

class CpuExecutable : public backend::Executable {
public:
    /// A description takes no memory for values: only report() may be called.
    enum class Aim : std::uint8_t { run, description };
    CpuExecutable(const backend::CompileRequest& request, const schedule::Placement& placement, Aim aim = Aim::run);

    const backend::CompileReport& report() const override { return report_; }
    void load(const backend::NamedTensors& tensors) override;
    backend::NamedTensors store(std::span<const std::string> names) const override;
    void train(data::BatchSource& source, std::span<const backend::StepScalars> updates,
               const backend::UpdateDone& done, backend::PartialUpdate* partial) override;
    backend::StepResult evaluate(data::BatchSource& source, std::int64_t batches) override;
    HostTensor read(backend::Result result, const std::string& name) const override;
    std::optional<std::string> first_non_finite() const override { return first_non_finite_; }
    void set_profiling(bool enabled, Timeline* timeline) override;
    backend::StepTimes profile() const override { return {of_whole_batch(recorder_.rows()), recorder_.waits()}; }

private:
    /// A variable, output or gradient with its external form.
    struct Tensor {
        std::string name;
        TensorDesc desc;
        Placed placed;
        Desc row_major;
        Section section = Section::prepare();  // of its producer

        /// True for an output that is summed over the micro-batches.
        bool is_sum() const { return desc.shape.empty() && desc.dtype == DType::f32; }
    };

    CpuExecutable(const backend::CompileRequest& request, const schedule::Placement& placement, Aim aim,
                  SubBatches sub_batches);
    void compile(const backend::CompileRequest& request, Aim aim);
    void share_norms(comm::Communicator& communicator, std::int64_t ranks);
    std::vector<Tensor> outputs_of(const Lowering& lowering, std::int32_t pipeline) const;
    void fill_report();
    static const Tensor& find(const std::vector<Tensor>& tensors, const std::string& name, const std::string& kind);
    /// True if this rank has only a piece of it.
    static bool is_sharded(const Tensor& tensor) { return tensor.placed.buffer->sharded_as >= 0; }
    std::span<std::byte> piece_of(const Tensor& tensor, int rank, std::span<std::byte> whole) const;
    std::vector<std::byte> gathered(const Tensor& tensor) const;
    HostTensor read(const Tensor& tensor) const;
    HostTensor read_output(const std::string& name) const;
    /// Copies the outputs of a sub-batch into the outputs of the batch, if there are several sub-batches.
    void keep_outputs(std::int64_t part);
    void load_one(const std::string& name, const HostTensor& tensor);
    void copy(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const;
    void copy_as_floats(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const;
    void reorder(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const;

    void use_threads() const;
    /// Lets as many threads work as other programs leave processors.
    void share_processors();
    void run_section(Section section, const StepContext& context);
    /// `follows_update`: skips copies that the update has written.
    void refresh_prepared(bool follows_update);
    /// Makes the copies of the weights after a load.
    void prepare_once();

    std::string partial_form() const;

    /// Runs the micro-batches of one weight update through all stages, on all lanes; then the update, if it counts.
    backend::StepResult update(data::BatchSource& source, const backend::StepScalars& scalars,
                               backend::PartialUpdate* partial);
    struct Update;
    void begin_update(Update& update, const backend::PartialUpdate* partial);
    /// Loads the accumulators and the sums of the outputs.
    void load_sums(const backend::PartialUpdate& partial);
    /// Returns the part of an update that was complete when it was stopped; empty if it was not stopped, or failed.
    /// `samples`: of this rank.
    backend::PartialUpdate complete_part(const Update& update, std::int64_t samples) const;
    void store_accumulators(backend::PartialUpdate& partial) const;
    void settle_update(Update& update);
    /// A lane's share of the update.
    void run_lane(std::int32_t lane, Update& update);
    /// False if the update has failed.
    bool run_work(Section section, std::int64_t number, Update& update);
    bool compute(Section section, std::int64_t number, Update& update);
    bool all_go_on(bool this_rank, Section section);
    data::Batch next_batch(data::BatchSource& source, Section section, backend::StepResult& result);
    /// Waits for this micro-batch's turn, then calls take_batch() on all of these ranks. If one of them has no batch,
    /// the update ends before this micro-batch. False if the update has failed.
    bool take_batch_in_turn(std::int32_t pipeline, std::int64_t number, Update& update);
    /// Takes the next micro-batch from the source. False if a stop is requested.
    bool take_batch(std::int32_t pipeline, std::int64_t number, Update& update);
    void bind_batch(data::Batch batch, std::int32_t pipeline, std::int64_t number);
    data::Batch& held_batch(std::int32_t pipeline, std::int64_t number);
    void add_sums(backend::StepResult& result) const;
    void evaluate_batch(data::BatchSource& source, std::int64_t number, backend::StepResult& result);
    /// Points the inputs of micro-batch `number` at a sub-batch of the held batch.
    void bind_part(std::int32_t pipeline, std::int64_t number, std::int64_t part);
    /// False if a sum is not finite.
    bool evaluate_part(std::int64_t part, const StepContext& context, backend::StepResult& result);
    /// Scales the rows of one sub-batch to the whole batch.
    std::vector<backend::ProfileRow> of_whole_batch(std::vector<backend::ProfileRow> rows) const;

    bool is_finite(Section section) const;
    /// Finds the first non-finite value of a micro-batch: checks the variables, then reruns the sections and checks
    /// every result.
    void find_non_finite(std::span<const Section> sections, std::int64_t number, StepContext context);
    /// True if a step has written a non-finite value; the later steps have not run in this case.
    bool rerun_until_non_finite(Section section, const StepContext& context);
    /// The first non-finite value that a step has written.
    static std::optional<std::string> bad_result(const Step& step);
    std::optional<std::string> bad_variable() const;
    /// Looks at the variables and at the copies that are made of them.
    void look_at_weights();
    /// Looks at the results of each step. A maximum of 0 and NaN is 0 on processors, so after a ReLU a network that
    /// computes NaN has finite outputs.
    void run_watched(Section section, const StepContext& context);

    OneDnn onednn_;
    graph::Graph graph_;          // of a sub-batch, if there are several
    std::int64_t sub_batches_;    // of a batch; 1 in training
    std::int64_t samples_apart_;  // from one sub-batch to the next
    schedule::Placement plan_;
    std::int64_t updates_per_call_;
    int threads_ = 1;
    Lanes lanes_;
    std::optional<WorkingThreads> working_;  // of a single lane of a single process; empty: all work
    Program program_;
    StepRecorder recorder_;
    std::optional<GradientExchange> exchange_;  // empty: a single rank
    std::optional<NormExchange> norms_;         // empty: batch norms cover this rank's micro-batches only
    bool check_finite_ = true;
    std::function<bool()> stop_requested_;
    std::vector<Tensor> variables_;
    std::vector<std::vector<Tensor>> outputs_;  // by pipeline
    std::vector<Tensor> gradients_;             // by the name of their parameter
    std::vector<HostTensor> whole_outputs_;     // by output: the parts of all sub-batches, if there are several
    std::vector<Tensor> inputs_;                // with the descriptor of the batch
    std::vector<std::size_t> input_fields_;     // by input: its field of a batch
    std::vector<data::Batch> held_;             // in flight, by pipeline and place
    std::vector<StepContext> contexts_;         // by micro-batch of the update
    std::vector<double> values_;                // of outputs, by output and micro-batch
    Progress finished_;                         // by section; the last one counts batches taken
    std::optional<Progress> turns_;             // of sums to which several pipelines add
    std::int32_t last_pipeline_ = 0;            // of the last micro-batch
    std::optional<std::string> first_non_finite_;
    bool is_watched_ = false;  // the next sub-batch of an evaluation is the first one with its weights
    backend::CompileReport report_;
};

}  // namespace cnntrain::cpu
