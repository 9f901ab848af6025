#include "train/staged.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "cnntrain/base/rng.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

/// Numbers of lanes that are tried.
constexpr std::array kLanes{1, 2};

constexpr int kAccumulation = 8;

/// The same batches again and again, each with memory of its own. A sample has the same pixels and label in batches of
/// any size.
class DifferentSamples : public data::BatchSource {
public:
    DifferentSamples(std::vector<data::Field> fields, std::int64_t batches, std::int64_t classes)
        : fields_(std::move(fields)), samples_(fields_.front().desc.shape.front()) {
        for (std::int64_t batch = 0; batch < batches; ++batch)
            batches_.push_back(made(batch, classes));
        for (const Held& held : batches_)
            spans_.push_back({held.images.bytes(), held.labels.bytes()});
    }

    std::vector<data::Field> fields() const override { return fields_; }

    data::Batch next() override {
        data::Batch batch;
        batch.fields = spans_[static_cast<std::size_t>(next_) % spans_.size()];
        batch.valid_count = samples_;
        batch.first_sample = next_ * samples_;
        ++next_;
        return batch;
    }

private:
    struct Held {
        HostTensor images;
        HostTensor labels;
    };

    Held made(std::int64_t batch, std::int64_t classes) const {
        Held held{HostTensor(data::field_desc(fields_, data::kImages)),
                  HostTensor(data::field_desc(fields_, data::kLabels))};
        const std::int64_t pixels = held.images.elements() / samples_;
        for (std::int64_t i = 0; i < samples_; ++i) {
            Rng rng(static_cast<std::uint64_t>(batch * samples_ + i), RngStream::test);
            held.labels.set(i, static_cast<double>(rng.integer(0, classes)));
            for (std::int64_t p = 0; p < pixels; ++p)
                held.images.set(i * pixels + p, static_cast<double>(rng.integer(0, 256)));
        }
        return held;
    }

    std::vector<data::Field> fields_;
    std::int64_t samples_;
    std::vector<Held> batches_;
    std::vector<std::vector<std::span<const std::byte>>> spans_;
    std::int64_t next_ = 0;
};

void describe(const graph::Graph& graph, Trained& result) {
    std::set<int> forward;
    std::set<int> backward;
    for (const graph::Node& node : graph.nodes()) {
        if (node.phase == graph::Phase::update) continue;
        (node.phase == graph::Phase::forward ? forward : backward).insert(node.stage.index);
        result.recomputed += node.recomputed ? 1 : 0;
        if (node.phase == graph::Phase::forward)
            result.operations.insert(std::string(graph.def(node).name) + " " + node.name);
    }
    std::ranges::set_intersection(forward, backward, std::inserter(result.stages, result.stages.end()));
}

/// Updates whose samples differ from each other.
constexpr std::int64_t kUpdates = 2;

options::Settings settings_of(const Shape& shape) {
    return parse("--dataset cifar-10 --model-size 8 --micro-batch-size 4 --input-threads 1 --threads " +
                 std::to_string(shape.division.lanes) + " --precision 32.32 --optimiser momentum --generated-data " +
                 shape.options)
        .settings;
}

std::vector<data::Field> fields_of(const options::Settings& settings, const backend::Backend& backend) {
    const data::InputData input(data_settings(settings, backend, 1), data::Split::train);
    return input.fields(placement(settings, backend).samples);
}

}  // namespace

CompiledNet::CompiledNet(const Line& line) {
    const options::ParseResult parsed =
        parse("--generated-data --input-threads 1 --abs-learning-rate 0.01 --optimiser momentum " + line.options);
    const options::Settings& settings = parsed.settings;
    check_stages(tasks::row_of(parsed), settings);
    const auto backend = make_backend(settings.run.backend);
    const std::vector<data::Field> fields = fields_of(settings, *backend);
    graph_ = training_graph(settings, *backend, data::field_desc(fields, data::kImages));
    backend::CompileRequest request = training_request(graph_, settings, fields, 1);
    request.plan.norm_span = std::max(request.plan.norm_span, line.norm_span);
    request.peers = line.peers;
    if (line.change) line.change(request);
    run(*backend, request, network_settings(settings).classes);
}

CompiledNet::CompiledNet(const Shape& shape) {
    const options::Settings settings = settings_of(shape);
    const auto backend = make_backend(settings.run.backend);
    const std::vector<data::Field> fields = fields_of(settings, *backend);
    nn::BuildRequest network = build_request(settings, *backend, data::field_desc(fields, data::kImages));
    network.splits = shape.splits;
    graph_ = nn::build_training(network, ops::op_table()).graph;
    if (shape.rewrites) graph_ = graph::apply_rewrites(std::move(graph_), backend->rewrites().training);
    const nn::ModelValues values = nn::model_values(graph_);
    graph::Objective objective;
    objective.loss = values.loss;
    objective.targets = graph_.values_with_role(graph::Role::parameter);
    if (shape.recompute) objective.recompute_points = {values.logits};
    const graph::Gradients gradients = graph::build_backward(graph_, objective);
    stashed_ = gradients.stashed;
    optim::UpdateSettings update = update_settings(settings, *backend);
    update.micro_batches = shape.division.micro_batches;
    optim::append_update(graph_, gradients, update);
    if (shape.rewrites) graph_ = graph::apply_rewrites(std::move(graph_), backend->rewrites().backward);
    graph_.verify();
    backend::CompileRequest request = training_request(graph_, settings, fields, 1);
    request.plan.accumulation = shape.division.micro_batches;
    request.plan.devices.assign(shape.splits.size() + 1, 0);
    request.plan.schedule = shape.division.schedule;
    request.cpu.lanes = shape.division.lanes;
    run(*backend, request, network_settings(settings).classes);
}

void CompiledNet::run(const backend::Backend& backend, const backend::CompileRequest& request, std::int64_t classes) {
    placement_ = backend.placement(request.plan, request.cpu);
    executable_ = backend.compile(request);
    initialise(*executable_, graph_, 1);
    source_ = std::make_unique<DifferentSamples>(request.fields, kUpdates * placement_.micro_batches, classes);
}

std::uint64_t CompiledNet::stashed_elements() const {
    return std::accumulate(stashed_.begin(), stashed_.end(), std::uint64_t{0}, [&](std::uint64_t sum, auto value) {
        return sum + static_cast<std::uint64_t>(graph_.desc(value).elements());
    });
}

std::vector<backend::ProfileRow> CompiledNet::profile_of_training() {
    executable_->set_profiling(true);
    train();
    return executable_->profile().rows;
}

std::vector<backend::ProfileRow> CompiledNet::profile_of_evaluation(std::int64_t batches) {
    executable_->set_profiling(true);
    evaluate(batches);
    return executable_->profile().rows;
}

Trained trained(const std::string& options, int updates) {
    CompiledNet net(Line{options});
    Trained result;
    result.placement = net.placement();
    for (int i = 0; i < updates; ++i) {
        const backend::StepResult step = net.step();
        result.sums.push_back(step.sums.at("loss"));
        result.sums.push_back(step.sums.at("correct"));
    }
    result.variables = stored_variables(net.executable());
    for (const graph::ValueId id : net.graph().values_with_role(graph::Role::parameter)) {
        const std::string& name = net.graph().value(id).name;
        result.gradients.emplace(name, net.executable().gradient(name));
    }
    describe(net.graph(), result);
    result.stash_bytes = net.executable().report().stash_bytes;
    result.arena_bytes = net.executable().report().arena_bytes;
    result.reorders = net.executable().report().reorders;
    return result;
}

void expect_same_numbers(const Trained& one, const Trained& other) {
    EXPECT_EQ(one.sums, other.sums);
    for (const auto tensors : {&Trained::gradients, &Trained::variables}) {
        ASSERT_EQ((one.*tensors).size(), (other.*tensors).size());
        std::string different;
        for (const auto& [name, tensor] : one.*tensors) {
            if (!std::ranges::equal(tensor.bytes(), (other.*tensors).at(name).bytes())) different += " " + name;
        }
        EXPECT_EQ(different, "");
    }
}

std::ostream& operator<<(std::ostream& out, const Staging& how) {
    return out << how.stages << " stages, " << how.schedule << (how.recomputes ? ", recomputing, " : ", ")
               << how.replicas << " replicas, " << how.lanes << " lanes";
}

std::vector<Staging> all_stagings() {
    std::vector<Staging> all;
    for (const int lanes : kLanes) {
        for (const int replicas : {1, 2}) {
            for (const bool recomputes : {false, true}) {
                for (const char* schedule : {"Grouped", "Interleaved", "Sequential"}) {
                    for (const int stages : {2, 4})
                        all.push_back({stages, schedule, recomputes, replicas, lanes});
                }
            }
        }
    }
    return all;
}

Trained staged(const StagedNet& net, const std::string& options, const Staging& how) {
    const std::string lanes = std::to_string(how.lanes);
    return trained(net.options + options + " --pipeline --pipeline-splits " +
                   (how.stages == 2 ? net.one_split : net.three_splits) + " --shards " + std::to_string(how.stages) +
                   " --pipeline-schedule " + how.schedule + " --gradient-accumulation-count " +
                   std::to_string(kAccumulation) + " --replicas " + std::to_string(how.replicas) + " --threads " +
                   lanes + " --lanes " + lanes + (how.recomputes ? " --enable-recomputation" : ""));
}

const Trained& accumulated(const StagedNet& net, const std::string& options, const Staging& how) {
    static std::map<std::string, Trained> all;
    const std::string line = net.options + options + " --threads 1 --gradient-accumulation-count " +
                             std::to_string(kAccumulation * how.replicas);
    const auto found = all.find(line);
    return found != all.end() ? found->second : all.emplace(line, trained(line)).first->second;
}

namespace {

void expect_stages(const Trained& staged, const Trained& plain, const Staging& how) {
    EXPECT_EQ(plain.stages, std::set<int>{0});
    EXPECT_EQ(staged.stages.size(), static_cast<std::size_t>(how.stages));
    EXPECT_EQ(staged.placement.stages, how.stages);
    EXPECT_EQ(spelling(staged.placement.schedule), how.schedule);
    EXPECT_EQ(staged.placement.lanes, how.lanes);
    EXPECT_EQ(staged.placement.micro_batches, kAccumulation * how.replicas);
    ASSERT_EQ(staged.stash_bytes.size(), static_cast<std::size_t>(how.stages));
    for (const std::uint64_t bytes : staged.stash_bytes)
        EXPECT_GT(bytes, 0U);
    EXPECT_EQ(staged.operations, plain.operations);
    if (!how.recomputes) {
        EXPECT_EQ(staged.reorders.size(), plain.reorders.size());
    }
}

}  // namespace

void expect_accumulation(const StagedNet& net, const std::string& options, const Staging& how) {
    SCOPED_TRACE(::testing::Message() << net.options << options << ": " << how);
    const Trained& plain = accumulated(net, options, how);
    const Trained result = staged(net, options, how);
    expect_stages(result, plain, how);
    expect_same_numbers(plain, result);
}

double distance(const std::map<std::string, HostTensor>& one, const std::map<std::string, HostTensor>& other) {
    double largest = 0;
    for (const auto& [name, tensor] : one) {
        const HostTensor& second = other.at(name);
        double scale = 0;
        double apart = 0;
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            scale = std::max(scale, std::abs(tensor.at(i)));
            apart = std::max(apart, std::abs(tensor.at(i) - second.at(i)));
        }
        if (apart > 0) largest = std::max(largest, apart / scale);
    }
    return largest;
}

}  // namespace cnntrain::run::testing
