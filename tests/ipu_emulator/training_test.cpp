// A program as a backend would write it: two convolutions with batch norms, trained for 50 updates of two
// micro-batches, on one replica, on four with all-reduce and norms over replicas, and as two stages on two IPUs with a
// stash.
#include <gtest/gtest.h>

#include <gcl/Collectives.hpp>
#include <poplar/CSRFunctions.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/NonLinearity.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>

#include <numeric>

#include "ipu_emulator/machine_support.h"

namespace {

using namespace ipu_emulator::test;
using namespace popops::expr;
using poplar::program::Call;
using poplar::program::Repeat;
using poplin::ConvParams;

constexpr std::size_t kMicroBatch = 4;  // of all replicas together
constexpr std::size_t kBatch = 8;
constexpr std::size_t kClasses = 4;
constexpr std::size_t kChannels = 16;
constexpr unsigned kUpdates = 50;
constexpr float kRate = 0.5f;
constexpr float kEps = 1e-3f;

struct Setting {
    poplar::Type type = FLOAT;
    unsigned replicas = 1;
    bool two_ipus = false;
};

/// A weight, its gradient's sum over an update's micro-batches, and the graph that it is part of.
struct Weight {
    Tensor value;
    Tensor gradient;
};

/// Tensors that a convolution with norm and ReLU keeps for its gradients.
struct Layer {
    Tensor in, whitened, inverse, out;
};

class Network {
public:
    explicit Network(const Setting& setting)
        : setting_(setting),
          bench_(setting.replicas, setting.two_ipus ? 2 : 1, 8),
          first_(bench_.graph.createVirtualGraph(0, 8)),
          second_(setting.two_ipus ? bench_.graph.createVirtualGraph(8, 16) : first_),
          samples_(kMicroBatch / setting.replicas) {}

    Values losses() {
        build();
        Values images(kUpdates * kBatch * 3 * 64);
        std::vector<unsigned> labels(kUpdates * kBatch);
        fill_data(images, labels);
        std::vector<std::uint16_t> halves(images.size());
        for (std::size_t i = 0; i < images.size(); ++i)
            halves[i] = ipu_emulator::ieee_half(images[i]);
        Values losses(kUpdates * setting_.replicas);
        auto& engine = bench_.engine({{"prng.seed", "3"}});
        if (setting_.type == HALF) {
            engine.connectStream("images", halves.data(), halves.data() + halves.size());
        } else {
            engine.connectStream("images", images.data(), images.data() + images.size());
        }
        engine.connectStream("labels", labels.data(), labels.data() + labels.size());
        engine.connectStream("loss", losses.data(), losses.data() + losses.size());
        engine.load(bench_.device);
        engine.run();
        Values result;
        for (unsigned update = 0; update < kUpdates; ++update) {
            const auto at = losses.begin() + update * setting_.replicas;
            result.push_back(std::accumulate(at, at + setting_.replicas, 0.0f));
        }
        return result;
    }

private:
    /// Images whose brightest quarter is their class.
    static void fill_data(Values& images, std::vector<unsigned>& labels) {
        images = random_values(images.size(), 11, -1, 1);
        for (std::size_t n = 0; n < labels.size(); ++n) {
            labels[n] = static_cast<unsigned>(n * 7 % 13 % kClasses);
            for (std::size_t i = 0; i < 3 * 64; ++i) {
                const std::size_t quarter = i % 64 / 32 * 2 + i % 8 / 4;
                if (quarter == labels[n]) images[n * 3 * 64 + i] += 0.7f;
            }
        }
    }

    Weight weight(poplar::Graph& graph, const Tensor& value, float scale, float shift = 0) {
        Values values = random_values(value.numElements(), static_cast<unsigned>(weights_.size()) + 1, -scale, scale);
        for (float& v : values)
            v += shift;
        graph.setInitialValue(value, poplar::ArrayRef<float>(values));
        weights_.push_back({value, graph.clone(value, "gradient")});
        return weights_.back();
    }

    ConvParams params(std::size_t field, std::size_t in, unsigned stride) const {
        ConvParams p(setting_.type, setting_.type, samples_, {field, field}, {3, 3}, in, kChannels, 1);
        p.inputTransform.paddingLower = p.inputTransform.paddingUpper = {1, 1};
        p.outputTransform.stride = {stride, stride};
        return p;
    }

    poplar::OptionFlags conv_options() const { return {{"partialsType", setting_.type == HALF ? "half" : "float"}}; }

    std::vector<Tensor> sum_replicas(poplar::Graph& graph, const std::vector<Tensor>& sums, Sequence& prog) const {
        std::vector<Tensor> result;
        for (const Tensor& sum : sums)
            result.push_back(gcl::allReduceCrossReplica(graph, sum, gcl::CollectiveOperator::ADD, prog));
        return result;
    }

    auto reducer() const {
        return
            [this](poplar::Graph& graph, const std::vector<Tensor>& sums, Sequence& prog, unsigned,
                   const poplar::DebugContext&, const poplar::OptionFlags&) { return sum_replicas(graph, sums, prog); };
    }

    struct ConvWeights {
        ConvParams params;
        Weight kernel, gamma, beta;
    };

    ConvWeights conv_weights(poplar::Graph& graph, const ConvParams& p) {
        const Tensor kernel = poplin::createWeights(graph, p, "kernel", conv_options());
        const auto vector = [&] { return linear_variable(graph, setting_.type, {kChannels}, "parameter"); };
        return {p, weight(graph, kernel, 0.3f), weight(graph, vector(), 0, 1), weight(graph, vector(), 0)};
    }

    Layer forward(poplar::Graph& graph, const ConvWeights& w, const Tensor& in, Sequence& prog) {
        const Tensor z = poplin::convolution(graph, in, w.kernel.value, w.params, false, prog, "conv", conv_options());
        const auto [mean, inverse] =
            popnn::bn::distributedBatchNormStatistics(graph, z, kEps, prog, false, reducer(), kMicroBatch);
        const Tensor whitened =
            popops::map(graph, (_1 - _2) * _3, {z, mean.expand({1, 1}), inverse.expand({1, 1})}, prog);
        const Tensor scaled = popops::map(graph, _1 * _2 + _3,
                                          {whitened, w.gamma.value.expand({1, 1}), w.beta.value.expand({1, 1})}, prog);
        const Tensor out = popnn::nonLinearity(graph, popnn::NonLinearityType::RELU, scaled, prog);
        return {in, whitened, inverse, out};
    }

    /// Adds the gradients of the weights; returns that of the input if it is wanted.
    Tensor backward(poplar::Graph& graph, const ConvWeights& w, const Layer& layer, const Tensor& gradient, bool wanted,
                    Sequence& prog) {
        const Tensor g =
            popnn::nonLinearityInputGradient(graph, popnn::NonLinearityType::RELU, layer.out, gradient, prog);
        const auto add_sum = [&](const Tensor& sum, const Tensor& terms) {
            const Tensor total = popops::reduce(graph, terms, FLOAT, {0, 2, 3}, {popops::Operation::ADD}, prog);
            popops::scaledAddTo(graph, sum, total, 1.0f, prog);
        };
        const popops::expr::Any product = popops::expr::Cast(_1, FLOAT) * popops::expr::Cast(_2, FLOAT);
        add_sum(w.gamma.gradient, popops::map(graph, product, {layer.whitened, g}, prog));
        add_sum(w.beta.gradient, g);
        const Tensor z = popnn::bn::distributedBatchNormGradients(graph, layer.whitened, g, layer.inverse,
                                                                  w.gamma.value, prog, reducer(), kMicroBatch);
        const Tensor kernel =
            poplin::calculateWeightDeltas(graph, z, layer.in, w.params, prog, "update", conv_options());
        popops::addInPlace(graph, w.kernel.gradient, kernel, prog);
        if (!wanted) return {};
        return poplin::convolution(graph, z, w.kernel.value, poplin::getGradientParams(w.params), true, prog, "back",
                                   conv_options());
    }

    /// The second stage: convolution, mean over the field, classes, loss; then its gradients.
    void build_second_stage(const ConvWeights& w, Sequence& prog) {
        poplar::Graph& graph = second_;
        const Tensor dense = linear_variable(graph, setting_.type, {kChannels, kClasses});
        const Weight classes = weight(graph, dense, 0.3f);
        const Layer layer = forward(graph, w, hidden_, prog);
        const Tensor pooled = popops::reduce(graph, layer.out, FLOAT, {2, 3}, {popops::Operation::ADD}, prog);
        const Tensor features = popops::map(graph, popops::expr::Cast(_1 * (1.0f / 16), setting_.type), {pooled}, prog);
        const Tensor logs = poplin::matMul(graph, features, classes.value, prog, FLOAT);
        popnn::logSoftmaxInPlace(graph, logs, prog);
        const Tensor numbers = linear_variable(graph, UNSIGNED_INT, {kClasses});
        popops::iota(graph, numbers, 0u, prog);
        const Tensor hot =
            popops::map(graph, popops::expr::Cast(_1 == _2, FLOAT), {labels_.expand({1}), numbers}, prog);
        const Tensor terms = popops::map(graph, _1 * _2 * (-1.0f / kBatch), {logs, hot}, prog);
        const Tensor loss = popops::reduce(graph, terms, {0, 1}, {popops::Operation::ADD}, prog);
        popops::addInPlace(graph, loss_, loss, prog);
        const Tensor delta =
            popops::map(graph, popops::expr::Cast((Exp(_1) - _2) * (1.0f / kBatch), setting_.type), {logs, hot}, prog);
        const Tensor product = poplin::matMul(graph, features.transpose(), delta, prog, setting_.type);
        popops::addInPlace(graph, classes.gradient, product, prog);
        const Tensor back = poplin::matMul(graph, delta, classes.value.transpose(), prog, FLOAT);
        const Tensor spread = popops::map(graph, popops::expr::Cast(_1 * (1.0f / 16), setting_.type), {back}, prog)
                                  .reshape({samples_, kChannels, 1, 1})
                                  .broadcast(4, 2)
                                  .broadcast(4, 3);
        prog.add(Copy(backward(graph, w, layer, spread, true, prog), hidden_gradient_));
    }

    void build();
    /// One update with both micro-batches in flight: the first stage is a micro-batch ahead, and keeps its inputs in a
    /// ring until their gradients come back.
    struct Streams {
        poplar::DataStream images;
        poplar::DataStream labels;
    };
    Sequence pipelined(const Streams& streams, const poplar::Function& forward0, const poplar::Function& second,
                       const poplar::Function& back0);

    Setting setting_;
    Bench bench_;
    poplar::Graph first_;
    poplar::Graph second_;
    std::size_t samples_;  // of a micro-batch on one replica
    std::vector<Weight> weights_;
    Tensor images_, stashed_, labels_, sent_, hidden_, hidden_gradient_, returned_, loss_;
};

void Network::build() {
    auto& graph = bench_.graph;
    const ConvWeights w1 = conv_weights(first_, params(8, 3, 1));
    const ConvWeights w2 = conv_weights(second_, params(8, kChannels, 2));
    images_ = poplin::createInput(first_, w1.params, "images");
    stashed_ = first_.clone(images_);
    labels_ = linear_variable(second_, UNSIGNED_INT, {samples_});
    hidden_ = poplin::createInput(second_, w2.params, "hidden");
    hidden_gradient_ = second_.clone(hidden_);
    loss_ = linear_variable(second_, FLOAT, {});
    poplar::setFloatingPointBehaviour(graph, bench_.prog, {true, true, true, setting_.type == HALF, true});

    Sequence forward0;
    sent_ = forward(first_, w1, images_, forward0).out;
    returned_ = first_.clone(sent_);
    Sequence second;
    build_second_stage(w2, second);
    Sequence back0;  // the first stage's activations are computed again from its input
    backward(first_, w1, forward(first_, w1, stashed_, back0), returned_, false, back0);
    const poplar::Function f = graph.addFunction(forward0);
    const poplar::Function s = graph.addFunction(second);
    const poplar::Function b = graph.addFunction(back0);

    const auto images = graph.addHostToDeviceFIFO("images", setting_.type, images_.numElements());
    const auto labels = graph.addHostToDeviceFIFO("labels", UNSIGNED_INT, samples_);
    const auto loss = graph.addDeviceToHostFIFO("loss", FLOAT, 1);
    Sequence update;
    popops::zero(graph, loss_, update);
    for (const Weight& weight : weights_)
        popops::zero(graph, weight.gradient, update);
    if (setting_.two_ipus) {
        update.add(pipelined({images, labels}, f, s, b));
    } else {
        update.add(Repeat(2, Sequence({Copy(images, images_), Copy(labels, labels_), Call(f), Copy(sent_, hidden_),
                                       Call(s), Copy(hidden_gradient_, returned_), Copy(images_, stashed_), Call(b)})));
    }
    for (const Weight& weight : weights_) {
        const Tensor sum = setting_.replicas > 1 ? gcl::allReduceCrossReplica(graph, weight.gradient,
                                                                              gcl::CollectiveOperator::ADD, update)
                                                 : weight.gradient;
        popops::scaledAddTo(graph, weight.value, sum, -kRate, update);
    }
    update.add(Copy(loss_, loss));
    bench_.prog.add(Repeat(kUpdates, update));
}

Sequence Network::pipelined(const Streams& streams, const poplar::Function& forward0, const poplar::Function& second,
                            const poplar::Function& back0) {
    std::vector<std::size_t> shape = images_.shape();
    shape.insert(shape.begin(), 2);
    const auto counter = [&](const char* name) {
        Tensor t = linear_variable(first_, UNSIGNED_INT, {1}, name);
        first_.setInitialValue(t, 0u);
        return t;
    };
    const Tensor ring = linear_variable(first_, setting_.type, shape, "ring");
    const Tensor in = counter("in");
    const Tensor out = counter("out");

    Sequence load({Copy(streams.images, images_)});
    popops::dynamicUpdate(first_, ring, images_.expand({0}), in, {0}, {1}, load);
    popops::mapInPlace(first_, Rem(_1 + 1u, Const(2u)), {in}, load);
    load.add(Call(forward0));
    Sequence restore;
    const Tensor restored = popops::dynamicSlice(first_, ring, out, {0}, {1}, restore);
    popops::mapInPlace(first_, Rem(_1 + 1u, Const(2u)), {out}, restore);
    restore.add(Copy(restored[0], stashed_));
    restore.add(Call(back0));
    const Sequence middle({Copy(streams.labels, labels_), Call(second)});
    const Copy to_second(sent_, hidden_);
    const Copy to_first(hidden_gradient_, returned_);
    return Sequence({load, to_second, load, middle, to_first, to_second, middle, restore, to_first, restore});
}

void expect_close(const Values& a, const Values& b, float tolerance) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], tolerance) << "update " << i;
}

TEST(Training, ReplicasAndStagesGiveTheSameLosses) {
    const Values one = Network({FLOAT, 1, false}).losses();
    const float last_ten = std::accumulate(one.end() - 10, one.end(), 0.0f) / 10;
    EXPECT_LT(last_ten, 0.8f * one.front()) << "it learns";
    expect_close(one, Network({FLOAT, 4, false}).losses(), 1e-6f);
    expect_close(one, Network({FLOAT, 1, true}).losses(), 1e-6f);
}

TEST(Training, StagesOnReplicas) {
    expect_close(Network({FLOAT, 1, false}).losses(), Network({FLOAT, 2, true}).losses(), 1e-6f);
}

TEST(Training, HalfWithStochasticRoundingFollowsFloat) {
    const Values exact = Network({FLOAT, 1, false}).losses();
    const Values half = Network({HALF, 1, false}).losses();
    for (std::size_t i = 0; i < exact.size(); ++i)
        EXPECT_NEAR(half[i], exact[i], 0.02f * exact[i]) << "update " << i;
    EXPECT_NE(half, exact);
    const HostThreads host(3);
    EXPECT_EQ(half, Network({HALF, 1, false}).losses()) << "host threads change nothing";
}

}  // namespace
