// Each setting of the IPU backend changes what it says, and nothing else.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::CompileRequest;
using backend::StepResult;

constexpr unsigned kTiles = 4;
constexpr std::int64_t kBatch = 4;

/// Two layers on images of 6 x 6 pixels with 8 channels; the second layer is on stage 1 if there are two stages.
struct Network : ToyGraph {
    explicit Network(DType type, std::int32_t stages = 1) : ToyGraph(type) {
        const ValueId hidden = activation(conv(input("images", {kBatch, 6, 6, 8}, type), 16, "conv"), "relu");
        graph.set_stage(graph::StageId{stages - 1});
        const ValueId logits = cast(dense(average_pool(hidden), 10, "dense"), DType::f32, "logits");
        const graph::Gradients gradients = differentiate(cross_entropy(logits));
        update_all(gradients, {});
    }
};

/// Images in [-scale, scale), others in each micro-batch if `changes`.
class Images : public TensorSource {
public:
    Images(DType type, double scale, bool changes)
        : TensorSource({{"images", random_tensor({type, {kBatch, 6, 6, 8}}, 0, -scale, scale)}, {"labels", labels()}}),
          scale_(scale),
          changes_(changes) {}

protected:
    void fill(std::int64_t batch) override {
        HostTensor& images = tensor(0);
        if (changes_) images = random_tensor(images.desc(), static_cast<std::uint64_t>(batch), -scale_, scale_);
    }

private:
    static HostTensor labels() {
        HostTensor labels({DType::i32, {kBatch}});
        for (std::int64_t n = 0; n < kBatch; ++n)
            labels.set(n, static_cast<double>(n));
        return labels;
    }

    double scale_;
    bool changes_;
};

struct Training {
    DType type = DType::f16;
    backend::IpuSettings ipu = {};
    bool rounds = false;
    double image_scale = 1;
    bool images_change = false;
    schedule::UpdatePlan plan = {.micro_batch = kBatch, .updates_per_call = 4};
    std::int64_t updates = 1;
    double learning_rate = 0.1;
};

struct Outcome {
    std::vector<StepResult> results;
    backend::NamedTensors variables;

    double loss(std::size_t update = 0) const { return results.at(update).sums.at("loss"); }
    const HostTensor& weight() const { return variables.at("conv/weight"); }
};

Outcome trained(const Training& run) {
    const Network network(run.type, run.plan.stages());
    Images images(run.type, run.image_scale, run.images_change);
    CompileRequest request;
    request.graph = &network.graph;
    request.fields = images.fields();
    request.plan = run.plan;
    request.ipu = run.ipu;
    request.runtime.stochastic_rounding = run.rounds;
    request.runtime.seed = 5;
    const auto ipu = backend::make_ipu_backend({.tiles_per_ipu = kTiles});
    const auto executable = ipu->compile(request);
    for (const backend::Variable& variable : executable->report().variables)
        executable->load(variable.name, random_tensor(variable.desc, variable.name.size(), -0.5, 0.5));
    std::vector<backend::StepScalars> updates;
    for (std::int64_t n = 0; n < run.updates; ++n)
        updates.push_back({.learning_rate = run.learning_rate, .iteration = n});
    Outcome outcome;
    executable->train(images, updates, [&](const StepResult& result) { outcome.results.push_back(result); });
    for (const std::string& name : executable->variable_names())
        outcome.variables.emplace(name, executable->store(name));
    return outcome;
}

double largest_difference(const HostTensor& a, const HostTensor& b) {
    double largest = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i)
        largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
    return largest;
}

bool same_bits(const Outcome& a, const Outcome& b) {
    return std::ranges::all_of(a.variables, [&](const auto& entry) {
        return std::ranges::equal(entry.second.bytes(), b.variables.at(entry.first).bytes());
    });
}

TEST(IpuSettings, HalfPartialsRoundSumsOfProductsOfHalves) {
    const Outcome in_float = trained({});
    const Outcome in_half = trained({.ipu = {.half_partials = true}});
    EXPECT_FALSE(same_bits(in_float, in_half));
    EXPECT_NE(in_float.loss(), in_half.loss());
    EXPECT_NEAR(in_half.loss() / in_float.loss(), 1, 1e-2);
    EXPECT_LT(largest_difference(in_float.weight(), in_half.weight()), 1e-2);

    const Outcome plain = trained({.type = DType::f32});
    EXPECT_TRUE(same_bits(plain, trained({.type = DType::f32, .ipu = {.half_partials = true}})));
}

TEST(IpuSettings, AnOverflowIsNanOrATrapOrTheLargestHalf) {
    constexpr double kHuge = 60000;
    const Outcome nan = trained({.image_scale = kHuge});
    EXPECT_FALSE(std::isfinite(nan.loss()));
    EXPECT_FALSE(nan.results.at(0).counts);

    const Outcome saturated = trained({.ipu = {.saturate_on_overflow = true}, .image_scale = kHuge});
    EXPECT_TRUE(std::isfinite(saturated.loss())) << saturated.loss();

    const Training traps = {.ipu = {.fp_exceptions = true}, .image_scale = kHuge};
    EXPECT_THAT(message_of(ErrorKind::diverged, [&] { trained(traps); }),
                AllOf(HasSubstr("overflow"), HasSubstr("--fp-exceptions")));
    EXPECT_TRUE(same_bits(trained({}), trained({.ipu = {.fp_exceptions = true}})));
}

TEST(IpuSettings, StochasticRoundingActsOnPassesAndUpdatesOrOnUpdatesOnly) {
    const Outcome off = trained({});
    const Outcome everywhere = trained({.rounds = true});
    const Outcome in_updates = trained({.ipu = {.rounds_updates_only = true}, .rounds = true});
    EXPECT_NE(everywhere.loss(), off.loss());
    EXPECT_EQ(in_updates.loss(), off.loss());
    EXPECT_FALSE(same_bits(everywhere, off));
    EXPECT_FALSE(same_bits(in_updates, off));
    EXPECT_FALSE(same_bits(in_updates, everywhere));
    EXPECT_TRUE(same_bits(in_updates, trained({.ipu = {.rounds_updates_only = true}, .rounds = true})));
}

TEST(IpuSettings, ReplicasRoundAlikeOnlyWithIdenticalSeeds) {
    const Outcome one = trained({.rounds = true});
    Training two = {.rounds = true};
    two.plan.replicas = 2;
    EXPECT_NE(trained(two).loss(), 2 * one.loss());
    two.ipu.identical_replica_seeding = true;
    EXPECT_EQ(trained(two).loss(), 2 * one.loss());
}

TEST(IpuSettings, AllReducesOfSeveralGradientsGiveTheSameSums) {
    Training run = {.images_change = true, .updates = 2};
    run.plan.replicas = 2;
    const Outcome alone = trained(run);
    run.ipu.all_reduce_bytes = 1 << 20;
    EXPECT_TRUE(same_bits(alone, trained(run)));
    run.plan.devices = {0, 1};
    run.plan.schedule = schedule::PipelineSchedule::grouped;
    run.plan.accumulation = 4;
    const Outcome on_two = trained(run);
    run.ipu.all_reduce_bytes = 0;
    EXPECT_TRUE(same_bits(on_two, trained(run)));
}

TEST(IpuSettings, InputsThatStayAreThoseOfTheFirstMicroBatch) {
    const auto losses = [](bool stay, schedule::UpdatePlan plan) {
        plan.micro_batch = kBatch;
        plan.updates_per_call = 4;
        return trained({.type = DType::f32,
                        .ipu = {.inputs_stay = stay},
                        .images_change = true,
                        .plan = plan,
                        .updates = 3,
                        .learning_rate = 0});
    };
    const Outcome streamed = losses(false, {});
    const Outcome stayed = losses(true, {});
    EXPECT_EQ(stayed.loss(0), streamed.loss(0));
    EXPECT_NE(streamed.loss(1), streamed.loss(0));
    EXPECT_EQ(stayed.loss(2), stayed.loss(0));
    const Outcome pipelined = losses(
        true, {.accumulation = 4, .replicas = 2, .devices = {0, 1}, .schedule = schedule::PipelineSchedule::grouped});
    EXPECT_EQ(pipelined.results.at(2).samples, 4 * 2 * kBatch);
    EXPECT_EQ(pipelined.loss(2), pipelined.loss(0));
    EXPECT_FALSE(pipelined.results.at(2).stopped);
}

TEST(IpuSettings, BuffersOfStreamsChangeNothing) {
    Training run = {.images_change = true, .updates = 4};
    run.plan.accumulation = 3;
    const Outcome usual = trained(run);
    for (const std::int64_t depth : {1, 2, 5}) {
        run.ipu.prefetch_depth = depth;
        const Outcome deep = trained(run);
        EXPECT_TRUE(same_bits(usual, deep)) << depth;
        EXPECT_EQ(deep.results.at(3).samples, usual.results.at(3).samples);
    }
}

TEST(IpuSettings, MemoryProportionsAreOneOrOneOrTwoForEachIpu) {
    const auto compile = [](std::vector<double> proportions) {
        Training run = {.ipu = {.available_memory_proportion = std::move(proportions)}};
        run.plan.devices = {0, 1};
        trained(run);
    };
    for (const std::size_t count : {0, 1, 2, 4})
        EXPECT_NO_THROW(compile(std::vector<double>(count, 0.3))) << count;
    EXPECT_THAT(message_of(ErrorKind::usage,
                           [&] {
                               compile({0.1, 0.2, 0.3});
                           }),
                HasSubstr("--available-memory-proportion"));
}

TEST(IpuSettings, OptionsOfCompilersAreTakenAndChangeNoNumber) {
    const Outcome usual = trained({});
    EXPECT_TRUE(same_bits(usual, trained({.ipu = {.conv_dithering = true,
                                                  .gather_conv_output = true,
                                                  .exchange_target = "cycles",
                                                  .sync_replicas_independently = true}})));
}

TEST(IpuSettings, ADeviceMustExistAndHaveTheIpus) {
    const auto on = [](unsigned device) { return trained({.ipu = {.device = device}}); };
    EXPECT_TRUE(same_bits(on(0), trained({})));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { on(2); }), HasSubstr("--select-ipu 2"));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { on(99); }), HasSubstr("--select-ipu 99"));
}

/// A graph of one node that is evaluated.
backend::NamedTensors evaluated(const graph::Graph& graph, TensorSource& source, const backend::IpuSettings& settings,
                                const std::vector<std::string>& outputs) {
    CompileRequest request;
    request.graph = &graph;
    request.fields = source.fields();
    request.plan.micro_batch = kBatch;
    request.ipu = settings;
    const auto executable = backend::make_ipu_backend({.tiles_per_ipu = kTiles})->compile(request);
    for (const backend::Variable& variable : executable->report().variables)
        executable->load(variable.name, random_tensor(variable.desc, 1, 0.5, 1));
    executable->evaluate(source, 1);
    backend::NamedTensors results;
    for (const std::string& name : outputs)
        results.emplace(name, executable->output(name));
    return results;
}

TEST(IpuSettings, OnlyTheStableVarianceIsRightFarFromZero) {
    ToyGraph toy;
    const ValueId x = toy.input("x", {kBatch, 4, 4, 8});
    const std::vector<ValueId> normed = toy.graph.add(
        OpKind::batch_norm, graph::NormAttrs{}, {x, toy.parameter("gamma", {8}), toy.parameter("beta", {8})}, "norm");
    toy.graph.mark_output("variance", normed[2]);
    const TensorDesc desc{DType::f32, {kBatch, 4, 4, 8}};
    TensorSource source({{"x", random_tensor(desc, 3, 4095, 4097)}});
    // Uniform over a width of 2.
    constexpr double kVariance = 1.0 / 3;
    const auto error = [&](bool stable) {
        const HostTensor variance = evaluated(toy.graph, source, {.stable_norm = stable}, {"variance"}).at("variance");
        double largest = 0;
        for (std::int64_t c = 0; c < variance.elements(); ++c)
            largest = std::max(largest, std::abs(variance.at(c) / kVariance - 1));
        return largest;
    };
    EXPECT_LT(error(true), 0.5);
    EXPECT_GT(error(false), 0.9);
}

TEST(IpuSettings, ProductsWithTheTableOfWordsComeInSlices) {
    ToyGraph toy;
    const ValueId x = toy.input("x", {kBatch, 16});
    const ValueId ids = toy.input("ids", {kBatch}, DType::i32);
    const ValueId table = toy.parameter("words", {12, 16});
    toy.graph.mark_output("looked up",
                          toy.graph.add_one(OpKind::embedding, graph::EmbeddingAttrs{}, {ids, table}, "looked up"));
    toy.graph.mark_output(
        "scores",
        toy.graph.add_one(OpKind::dense, graph::DenseAttrs{.bias = false, .transposed = true}, {x, table}, "scores"));
    TensorSource source(
        {{"x", random_tensor({DType::f32, {kBatch, 16}}, 3, -1, 1)}, {"ids", HostTensor({DType::i32, {kBatch}})}});
    const auto scores = [&](std::int64_t slices) {
        return evaluated(toy.graph, source, {.matmul_serialize_factor = slices}, {"scores"}).at("scores");
    };
    EXPECT_LT(largest_difference(scores(1), scores(3)), 1e-5);
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { scores(5); }), HasSubstr("--matmul-serialize-factor 5"));
}

TEST(IpuSettings, EightBitImagesAreSentAsTheyAre) {
    const auto normalised = [&](DType type) {
        const TensorDesc desc{type, {kBatch, 2, 2, 3}};
        ToyGraph toy;
        const graph::NormaliseImageAttrs attrs{{0.5, 0.25, 1}, {-1, 0, 1}, DType::f16};
        toy.graph.mark_output(
            "y", toy.graph.add_one(OpKind::normalise_image, attrs, {toy.input("x", desc.shape, type)}, "images"));
        HostTensor images(desc);
        for (std::int64_t i = 0; i < images.elements(); ++i)
            images.set(i, static_cast<double>(5 * i));
        TensorSource source({{"x", images}});
        EXPECT_EQ(source.next().fields[0].size(), static_cast<std::size_t>(images.elements()) * size_bytes(type));
        return evaluated(toy.graph, source, {}, {"y"}).at("y");
    };
    EXPECT_EQ(largest_difference(normalised(DType::u8), normalised(DType::f32)), 0);
    EXPECT_EQ(normalised(DType::u8).at(3), 0.5 * 15 - 1);
}

TEST(IpuBackend, UpdatesHaveTheTypesOfTheirVariables) {
    const auto ipu = backend::make_ipu_backend();
    const backend::BackendInfo& info = ipu->info();
    EXPECT_FALSE(info.update_types.gradients);
    EXPECT_FALSE(info.update_types.slots);
    EXPECT_TRUE(info.update_types.f32_means);
    EXPECT_TRUE(info.emulated);
}

}  // namespace
}  // namespace cnntrain::test
