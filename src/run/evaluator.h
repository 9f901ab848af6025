// Evaluates a set of weights on the validation split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/reports/predictions.h"

namespace cnntrain::run {

/// The graph of validations with these settings: with logits where a training counts classes.
graph::Graph validation_graph(const Task& task, const options::Settings& settings,
                              const std::vector<data::Field>& fields);

/// The parts of a run that work on its samples needs.
struct EvaluationWork {
    const Task& task;
    const backend::Backend& backend;
    const options::ParseResult& arguments;
    std::uint64_t seed = 0;
    const Host& host;
    metrics::Observers& observers;

    const options::Settings& settings() const { return arguments.settings; }
};

/// Compiles once, then evaluates any number of checkpoints. Every sample is counted once, and processes share the
/// samples. A training that is validated while it runs also counts by class, where the task has classes.
class Evaluator {
public:
    /// `data`: the validation split, which the processes of the host share. `plan`: for 8 bits, where the checkpoint
    /// has none.
    Evaluator(const Task& task, const backend::Backend& backend, const Samples& data, const options::Settings& settings,
              std::uint64_t seed, const Host& host, const graph::EightBitPlan* plan = nullptr);

    void load(weights::Checkpoint checkpoint, const std::string& path);
    void load_random(std::uint64_t seed);
    /// Takes the weights of this process's training.
    void load_from(const backend::Executable& training);
    /// Takes these variables of the model.
    void load(const std::map<std::string, HostTensor>& variables);
    /// Broadcasts the weights that rank 0 has loaded.
    void share_weights();

    /// Evaluates and completes `row`, whose name, iteration and epoch are set. The measured time includes starting the
    /// input pipeline. Returns nothing if a stop was requested.
    std::optional<metrics::ValidationRow> run(metrics::ValidationRow row, metrics::Observers& observers);

    /// Counts of the last run; empty if classes are not counted.
    const ClassCounts& class_counts() const { return class_counts_; }
    /// Results of the last run; empty unless the task is a Scorer.
    const Scored& scored() const { return scored_; }
    /// Calls of the last run in this process.
    const std::vector<Call>& calls() const { return calls_; }
    /// Place where the last run met a number that is not finite, on any rank; empty if all were finite, as far as it
    /// has looked.
    const std::optional<std::string>& not_finite() const { return not_finite_; }
    const backend::CompileReport& report() const { return executable_->report(); }

    /// Limits each run to this many batches: for measurements on generated data.
    void cut_short(std::int64_t batches) { most_batches_ = batches; }

private:
    /// Results of this process's share, or of all processes.
    struct Seen {
        metrics::Sums sums;
        ClassCounts classes;
        std::int64_t samples = 0, left_out = 0;
        double latency_ms = 0;  // sum over all batches
        RowOutputs outputs;     // of a Scorer; those of this process in the order of its batches, with padding
        bool stopped = false;
        std::optional<std::string> not_finite;  // the first place
    };

    bool stop_requested() const { return host_.stop_requested && host_.stop_requested(); }
    Seen run_share(data::Stream& stream, std::int64_t batches, metrics::Observers& observers);
    Seen of_all(Seen mine) const;
    void add_scores(Seen& seen, std::int64_t micro_batch);

    const Task& task_;
    const Host& host_;
    const Classifier* classifier_;  // null: classes are not counted
    const Scorer* scorer_;          // null: all results are sums over samples
    graph::Graph graph_;
    std::unique_ptr<backend::Executable> executable_;
    const Samples& data_;
    data::LoaderSettings loader_;
    RunSettings run_settings_;
    std::optional<std::int64_t> most_batches_;
    bool latency_;  // whether latency is measured
    ClassCounts class_counts_;
    Scored scored_;
    std::vector<Call> calls_;
    std::optional<std::string> not_finite_;
};

// Values that are not finite in weights and results of an evaluation. Training has its own check, of each loss.

/// The first variable with a NaN, an infinity or a negative variance, as "all/fc1/weight[3] is nan".
std::optional<std::string> first_bad_number(const std::map<std::string, HostTensor>& variables);

/// Place where an evaluated batch was not finite: a sum, the output `logits` ("" for none), or a value before them that
/// the executable has noticed. Asks the executable only if `looks_inside`, or an output is not finite.
std::optional<std::string> not_finite_in(backend::Executable& executable, const backend::StepResult& result,
                                         const std::string& logits, bool looks_inside);

/// Error(diverged). `what`: "validation of ckpt-7".
[[noreturn]] void fail_not_finite(const std::string& what, const std::string& where);

/// Appends the output kLogits of the last micro-batch. `micro_batch`: its rows.
void append_logits(const backend::Executable& executable, std::int64_t micro_batch, RowOutputs& outputs);
/// The outputs of all ranks by row, on all ranks. `mine`: of the micro-batches of one sweep that this rank has taken.
RowOutputs outputs_of_all(const RowOutputs& mine, std::int64_t micro_batch, comm::Communicator& ranks);

/// Prints Task::printed_at().
void report_moment(const Task& task, const Moment& moment, metrics::Observers& observers);

/// Writes Scored::files, in place of earlier ones.
void write_result_files(const Scored& scored, const std::string& folder, FileSystem& files,
                        metrics::Observers& observers);

// Reads along the labels of an evaluation's batches.

/// Forwards batches and keeps the labels and the place of the last one.
class LabelTap final : public data::BatchSource {
public:
    LabelTap(data::BatchSource& source, std::string_view field)
        : source_(source), field_(data::field_number(source.fields(), field)) {}

    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override {
        data::Batch batch = source_.next();
        const auto labels = batch.as<std::int32_t>(field_);
        labels_.assign(labels.begin(), labels.end());
        first_sample_ = batch.first_sample;
        return batch;
    }

    const std::vector<std::int32_t>& labels() const { return labels_; }
    std::int64_t first_sample() const { return first_sample_; }

private:
    data::BatchSource& source_;
    std::size_t field_;
    std::vector<std::int32_t> labels_;
    std::int64_t first_sample_ = 0;
};

/// Forwards batches and keeps a copy of the last one.
class BatchCopy final : public data::BatchSource {
public:
    explicit BatchCopy(data::BatchSource& source) : source_(source), fields_(source.fields()) {}

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override {
        data::Batch batch = source_.next();
        first_sample_ = batch.first_sample;
        copies_.resize(batch.fields.size());
        for (std::size_t i = 0; i < copies_.size(); ++i)
            copies_[i].assign(batch.fields[i].begin(), batch.fields[i].end());
        return batch;
    }

    std::int64_t first_sample() const { return first_sample_; }
    bool has(std::string_view field) const { return data::has_field(fields_, field); }
    /// The elements of a sample in a field of the batch.
    template <typename T> std::span<const T> of(std::int64_t sample, std::string_view field) const {
        const std::span<const std::byte> bytes = bytes_of(sample, field);
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    std::span<const std::byte> bytes_of(std::int64_t sample, std::string_view field) const {
        const std::size_t number = data::field_number(fields_, field);
        const auto samples = static_cast<std::size_t>(fields_[number].desc.shape.at(0));
        const std::size_t each = copies_[number].size() / samples;
        return std::span(copies_[number]).subspan(static_cast<std::size_t>(sample) * each, each);
    }
    /// A sample in a field, without the batch's axis.
    TensorDesc desc_of(std::string_view field) const {
        TensorDesc desc = data::field_desc(fields_, field);
        desc.shape.erase(desc.shape.begin());
        return desc;
    }

private:
    data::BatchSource& source_;
    std::vector<data::Field> fields_;
    std::vector<std::vector<std::byte>> copies_;
    std::int64_t first_sample_ = 0;
};

}  // namespace cnntrain::run
