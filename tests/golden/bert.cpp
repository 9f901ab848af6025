#include "golden/bert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cnntrain/data/sets.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "data/records/packing.h"
#include "golden/formula.h"
#include "golden/variables.h"
#include "support/tensor_source.h"

namespace cnntrain::golden {
namespace {

using graph::ValueId;
using nlohmann::json;

constexpr std::int64_t kWords = 61;
constexpr std::int64_t kPositions = 24;
constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kLength = 16;
constexpr std::int64_t kPredictions = 4;
constexpr std::int64_t kSteps = 10;
constexpr std::int64_t kBucketBytes = 1 << 16;  // several of them

const json& golden() {
    static const json document = [] {
        std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/bert.json");
        return json::parse(file);
    }();
    return document;
}

Case make_case(const std::string& name, bool static_mask, graph::UpdateRule optimiser, double rate) {
    Case result;
    result.name = name;
    result.static_mask = static_mask;
    result.rate = rate;
    nn::BertSettings& model = result.model;
    model.vocabulary = kWords;
    model.hidden = 128;
    model.heads = 2;
    model.layers = 2;
    model.intermediate = 96;
    model.positions = kPositions;
    model.qkv_split = true;
    model.projection_bias = false;
    model.cls_layer = false;
    result.update.rule = optimiser;
    result.update.weight_decay = optimiser == graph::UpdateRule::momentum ? 0 : 0.01;
    result.update.weight_decay_exclude = {"bias", "beta"};
    result.update.micro_batches = kMicroBatches;
    result.update.loss_scaling = 64;  // a power of two changes nothing
    result.update.adam.corrects_bias = false;
    return result;
}

/// Rows that have room for all sequences of a micro-batch.
constexpr std::int64_t kRows = 2;
data::PretrainingSettings packed_rows() {
    return {.packed = true, .sequence_length = 2 * kLength, .max_predictions = kBatch * kPredictions};
}

graph::Graph training_graph(const Case& c, const How& how, const backend::Backend& backend) {
    nn::BertRequest request{.model = c.model, .numerics = {}, .input = {kBatch, kLength, kPredictions, c.static_mask}};
    if (how.packed) {
        const data::PretrainingSettings rows = packed_rows();
        request.input = {kRows, rows.sequence_length, rows.max_predictions, false, data::most_sequences(rows)};
    }
    request.splits = how.splits;
    graph::Graph graph = graph::apply_rewrites(nn::build_bert(request, ops::op_table(), nn::Mode::training),
                                               backend.rewrites().training);
    graph::Objective objective;
    for (const graph::Output& output : graph.outputs()) {
        if (output.name == nn::kMaskedLoss) objective.loss = output.value;
        if (output.name == nn::kSentenceLoss)
            objective.more_losses[output.value] = c.update.loss_scaling / static_cast<double>(how.packed ? 1 : kBatch);
    }
    objective.seed = c.update.loss_scaling;
    objective.targets = graph.values_with_role(graph::Role::parameter);
    if (how.recomputes) {
        objective.recompute_points = how.splits.empty() ? graph::choose_recompute_points(graph, objective)
                                                        : graph::values_of_last_stage(graph, objective);
    }
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    optim::append_update(graph, gradients, c.update);
    return graph::apply_rewrites(std::move(graph), backend.rewrites().backward);
}

/// Micro-batches of the formula that the generator has, too.
class Sequences : public test::TensorSource {
public:
    explicit Sequences(bool static_mask) : TensorSource(tensors(static_mask)), static_mask_(static_mask) {}

private:
    static std::vector<std::pair<std::string, HostTensor>> tensors(bool static_mask) {
        const auto whole = [](Shape shape) { return HostTensor({DType::i32, std::move(shape)}); };
        std::vector<std::pair<std::string, HostTensor>> result = {
            {std::string(nn::kInputIds), whole({kBatch, kLength})},
            {std::string(nn::kSegmentIds), whole({kBatch, kLength})},
            {std::string(nn::kInputPosition), whole({kBatch, kLength})},
            {std::string(nn::kMaskedIds), whole({kBatch, kPredictions})},
            {std::string(nn::kMaskedWeights), HostTensor({DType::f32, {kBatch, kPredictions}})},
            {std::string(nn::kNextSentenceLabels), whole({kBatch, 1})},
        };
        if (static_mask) {
            result.emplace_back(nn::kMaskPaddingIndex, whole({kBatch, 1}));
            result.emplace_back(nn::kSequencePaddingIndex, whole({kBatch, 1}));
        } else {
            result.emplace_back(nn::kInputMask, whole({kBatch, kLength}));
            result.emplace_back(nn::kMaskedPositions, whole({kBatch, kPredictions}));
        }
        return result;
    }

    std::int64_t integer(const std::string& name, std::int64_t batch, std::int64_t i, std::int64_t low,
                         std::int64_t high) const {
        return low + Stream(name + "/" + std::to_string(batch)).bits(i) % (high - low);
    }

    void fill_integers(std::size_t field, const std::string& name, std::int64_t batch, std::int64_t high) {
        for (std::int64_t i = 0; i < tensor(field).elements(); ++i)
            tensor(field).set(i, static_cast<double>(integer(name, batch, i, 0, high)));
    }

    void fill(std::int64_t batch) override {
        fill_integers(0, "ids", batch, kWords + 2);
        fill_integers(1, "segments", batch, 2);
        fill_integers(3, "masked", batch, kWords + 1);
        fill_integers(5, "next", batch, 2);
        if (static_mask_) {
            fill_integers(2, "positions", batch, kPositions);
        } else {
            for (std::int64_t i = 0; i < kBatch * kLength; ++i)
                tensor(2).set(i, static_cast<double>(i % kLength));
            fill_integers(7, "places", batch, kPredictions + 2);
        }
        for (std::int64_t n = 0; n < kBatch; ++n) {
            const std::int64_t masked = integer("count", batch, n, 1, kPredictions + 1);
            const std::int64_t length = integer("length", batch, n, kPredictions + 2, kLength + 1);
            for (std::int64_t i = 0; i < kPredictions; ++i)
                tensor(4).set(n * kPredictions + i, i < masked ? 1 : 0);
            if (static_mask_) {
                tensor(6).set(n, static_cast<double>(masked));
                tensor(7).set(n, static_cast<double>(length));
                continue;
            }
            for (std::int64_t i = 0; i < kLength; ++i)
                tensor(6).set(n * kLength + i, i < length ? 1 : 0);
        }
    }

    bool static_mask_;
};

/// The same sequences, packed into rows.
class SequencesInRows final : public data::BatchSource {
public:
    SequencesInRows() : source_(false) {
        for (const data::Field& field : data::pretraining_fields(packed_rows())) {
            Shape shape = {kRows};
            shape.insert(shape.end(), field.desc.shape.begin(), field.desc.shape.end());
            tensors_.emplace_back(TensorDesc{field.desc.dtype, shape});
            fields_.push_back({field.name, tensors_.back().desc()});
        }
    }

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override {
        const data::Batch sequences = source_.next();
        std::vector<data::RowShare> shares;
        for (std::size_t n = 0; n < kBatch; ++n) {
            shares.push_back({std::ranges::count(of<std::int32_t>(sequences, 6, n), 1),
                              std::ranges::count(of<float>(sequences, 4, n), 1.0F), 1});
        }
        const data::Packing packing = data::pack(shares, data::room_of_row(packed_rows()));
        EXPECT_LE(packing.rows(), kRows);
        spans_.clear();
        for (std::int64_t row = 0; row < kRows; ++row) {
            std::vector<std::span<std::byte>> out;
            for (HostTensor& tensor : tensors_) {
                const std::size_t bytes = tensor.bytes().size() / kRows;
                out.push_back(tensor.bytes().subspan(static_cast<std::size_t>(row) * bytes, bytes));
            }
            data::PackedRow packed(out);
            if (row >= packing.rows()) continue;  // a row of padding
            for (const std::uint32_t n : packing.sequences(row))
                packed.append(values(sequences, n, shares[n]));
        }
        for (const HostTensor& tensor : tensors_)
            spans_.push_back(tensor.bytes());
        data::Batch batch;
        batch.fields = spans_;
        batch.valid_count = kRows;
        batch.first_sample = kRows * pulls_++;
        return batch;
    }

private:
    template <typename T> static std::span<const T> of(const data::Batch& batch, std::size_t field, std::size_t n) {
        const std::span<const std::byte> bytes = batch.fields[field];
        const std::size_t count = bytes.size() / sizeof(T) / kBatch;
        return std::span(reinterpret_cast<const T*>(bytes.data()), count * kBatch).subspan(n * count, count);
    }
    static data::SequenceValues values(const data::Batch& batch, std::size_t n, const data::RowShare& share) {
        const auto tokens = static_cast<std::size_t>(share.tokens);
        const auto predictions = static_cast<std::size_t>(share.predictions);
        return {.ids = of<std::int32_t>(batch, 0, n).first(tokens),
                .segments = of<std::int32_t>(batch, 1, n).first(tokens),
                .masked_places = of<std::int32_t>(batch, 7, n).first(predictions),
                .masked_ids = of<std::int32_t>(batch, 3, n).first(predictions),
                .weights = of<float>(batch, 4, n).first(predictions),
                .next_sentence_label = of<std::int32_t>(batch, 5, n)[0]};
    }

    Sequences source_;
    std::vector<data::Field> fields_;
    std::vector<HostTensor> tensors_;
    std::vector<std::span<const std::byte>> spans_;
    std::int64_t pulls_ = 0;
};

std::unique_ptr<data::BatchSource> micro_batches(bool static_mask, bool packed) {
    if (packed) return std::make_unique<SequencesInRows>();
    return std::make_unique<Sequences>(static_mask);
}

/// A rank's micro-batches of a source: ranks take them in turn. Each has memory of its own, because several are on
/// their way in a pipeline.
class KeptSequences final : public data::BatchSource {
public:
    KeptSequences(std::unique_ptr<data::BatchSource> source, std::int64_t rank, std::int64_t ranks)
        : source_(std::move(source)), ranks_(ranks) {
        for (std::int64_t i = 0; i < rank; ++i)
            source_->next();
    }

    std::vector<data::Field> fields() const override { return source_->fields(); }
    data::Batch next() override {
        for (std::int64_t i = 1; i < ranks_ && !kept_.empty(); ++i)
            source_->next();
        data::Batch batch = source_->next();
        Kept& kept = kept_.emplace_back();
        for (const std::span<const std::byte> field : batch.fields)
            kept.bytes.emplace_back(field.begin(), field.end());
        kept.spans.assign(kept.bytes.begin(), kept.bytes.end());
        batch.fields = kept.spans;
        return batch;
    }

private:
    struct Kept {
        std::vector<std::vector<std::byte>> bytes;
        std::vector<std::span<const std::byte>> spans;
    };
    std::unique_ptr<data::BatchSource> source_;
    std::int64_t ranks_;
    std::deque<Kept> kept_;
};

}  // namespace

std::vector<Case> bert_cases() {
    std::vector<Case> cases = {make_case("static_lamb", true, graph::UpdateRule::lamb, 0.005),
                               make_case("normal_lamb_corrected", false, graph::UpdateRule::lamb, 0.005),
                               make_case("static_adamw", true, graph::UpdateRule::adamw, 0.0005),
                               make_case("normal_momentum", false, graph::UpdateRule::momentum, 0.05)};
    Case& corrected = cases[1];
    corrected.model.qkv_split = false;
    corrected.model.projection_bias = corrected.model.cls_layer = true;
    corrected.update.adam.corrects_bias = true;
    corrected.update.gradient_norm = optim::GradientNorm::limits_divides;
    corrected.update.gradient_norm_limit = 1.5;
    Case& adamw = cases[2];
    adamw.model.qkv_bias = adamw.model.projection_bias = adamw.model.cls_layer = true;
    adamw.model.prediction_bias = false;
    adamw.update.adam.corrects_step = true;
    adamw.update.weight_decay_exclude = {"LayerNorm", "bias"};
    adamw.update.gradient_norm = optim::GradientNorm::limited;
    cases[3].model.projection_bias = true;
    return cases;
}

void compare(const backend::Backend& backend, const Case& c, const How& how, const BertTolerances& tolerances,
             comm::Communicator& all) {
    SCOPED_TRACE(c.name + " on " + std::string(backend.name()) + ", rank " + std::to_string(all.rank()));
    const json& expected = golden().at(c.name);
    const graph::Graph graph = training_graph(c, how, backend);
    KeptSequences source(micro_batches(c.static_mask, how.packed), all.rank(), all.size());
    backend::CompileRequest request{&graph, source.fields(), how.plan};
    request.plan.accumulation /= all.size();
    request.cpu = {.lanes = 1, .bucket_bytes = kBucketBytes};
    if (all.size() > 1) request.peers = {.communicator = &all, .shard_optimiser = how.shards};
    const auto executable = backend.compile(request);
    for (const ValueId id : graph.values_with_role(graph::Role::parameter))
        executable->load(graph.value(id).name, start_of(graph.value(id)));
    for (const ValueId id : graph.values_with_role(graph::Role::slot))
        executable->load(graph.value(id).name, HostTensor(graph.desc(id)));
    for (std::int64_t step = 0; step < kSteps; ++step) {
        const auto result = executable->train_step(source, {c.rate, step, c.update.loss_scaling});
        const auto expect = [&](const char* key, std::string_view output, double divisor) {
            const double value = expected.at(key).at(static_cast<std::size_t>(step));
            EXPECT_NEAR(result.sums.at(std::string(output)) / divisor, value, tolerances.loss * std::fabs(value))
                << key << " of step " << step;
        };
        expect("mlm_loss", nn::kMaskedLoss, kMicroBatches);
        const auto sentences = static_cast<double>(how.packed ? kMicroBatches : kMicroBatches * kBatch);
        expect("nsp_loss", nn::kSentenceLoss, sentences);
        expect("mlm_acc", nn::kMaskedCorrect, kMicroBatches);
        expect("nsp_acc", nn::kSentenceCorrect, sentences);
        if (step > 0 || how.shards) continue;  // a shard of a gradient is all that its rank has
        for (const auto& [name, facts] : expected.at("gradients").items()) {
            const double scale = 1.0 / (static_cast<double>(kMicroBatches) * c.update.loss_scaling);
            expect_facts(executable->gradient(name), facts, scale, tolerances.gradient, name);
        }
    }
    for (const auto& [name, facts] : expected.at("variables").items())
        expect_facts(executable->store(name), facts, 1, tolerances.variable, name);
    EXPECT_EQ(expected.at("variables").size(), graph.values_with_role(graph::Role::parameter).size());
}

void compare(const backend::Backend& backend, const Case& c, const How& how, const BertTolerances& tolerances) {
    compare(backend, c, how, tolerances, *comm::make_alone());
}

}  // namespace cnntrain::golden
