// Batch norm, group norm and their sweeps against float64 loops over (sample, channel, pixel).

#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

struct Element {
    std::int64_t n, c, index, statistic;
};

/// `groups`: 0 for batch norm.
std::vector<Element> elements_of(const Blocks& shape, std::int64_t groups) {
    std::vector<Element> elements;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
        const std::int64_t slab = i / (shape.pixels * shape.lanes);
        const std::int64_t n = slab / shape.blocks;
        const std::int64_t c = slab % shape.blocks * shape.lanes + i % shape.lanes;
        elements.push_back({n, c, i, groups == 0 ? c : n * groups + c / (shape.channels() / groups)});
    }
    return elements;
}

/// The op in float64, from formulas in terms of x^, not of the kernels' coefficients.
struct Reference {
    Blocks shape;
    std::int64_t groups;  // 0: batch norm
    double epsilon;
    std::vector<double> x = {}, gamma = {}, beta = {};
    std::vector<Element> elements = elements_of(shape, groups);

    std::vector<double> mean = {}, variance = {}, y = {}, inverse_deviation = {};
    std::vector<double> dx = {}, dgamma = {}, dbeta = {};

    double x_hat(const Element& e) const {
        const std::size_t s = at(e.statistic);
        return (x[at(e.index)] - mean[s]) * inverse_deviation[s];
    }
    double statistics() const { return static_cast<double>(groups == 0 ? shape.channels() : shape.n * groups); }
    double elements_each() const { return static_cast<double>(shape.elements()) / statistics(); }

    void set_statistics() {
        mean.assign(static_cast<std::size_t>(statistics()), 0.0);
        variance = mean;
        for (const Element& e : elements)
            mean[at(e.statistic)] += x[at(e.index)] / elements_each();
        for (const Element& e : elements) {
            const double difference = x[at(e.index)] - mean[at(e.statistic)];
            variance[at(e.statistic)] += difference * difference / elements_each();
        }
    }
    void set_deviations() {
        inverse_deviation.clear();
        for (const double value : variance)
            inverse_deviation.push_back(1 / std::sqrt(value + epsilon));
    }
    void forward(const std::vector<double>& residual, bool relu) {
        set_deviations();
        y.resize(x.size());
        for (const Element& e : elements) {
            const double sum =
                gamma[at(e.c)] * x_hat(e) + beta[at(e.c)] + (residual.empty() ? 0 : residual[at(e.index)]);
            y[at(e.index)] = relu && sum < 0 ? 0 : sum;
        }
    }
    void backward(const std::vector<double>& masked_dy) {
        set_deviations();
        std::vector<double> sum_1(mean.size());
        std::vector<double> sum_2(mean.size());
        dgamma.assign(gamma.size(), 0.0);
        dbeta = dgamma;
        dx.resize(x.size());
        for (const Element& e : elements) {
            const double dy = masked_dy[at(e.index)];
            dgamma[at(e.c)] += dy * x_hat(e);
            dbeta[at(e.c)] += dy;
            sum_1[at(e.statistic)] += gamma[at(e.c)] * dy;
            sum_2[at(e.statistic)] += gamma[at(e.c)] * dy * x_hat(e);
        }
        for (const Element& e : elements) {
            const std::size_t s = at(e.statistic);
            dx[at(e.index)] = (gamma[at(e.c)] * masked_dy[at(e.index)] - sum_1[s] / elements_each() -
                               x_hat(e) * sum_2[s] / elements_each()) *
                              inverse_deviation[s];
        }
    }
};

template <typename T> std::vector<double> wide(const std::vector<T>& values) {
    std::vector<double> result;
    for (const T value : values)
        result.push_back(widened(value));
    return result;
}

template <typename T> struct Case {
    Blocks shape;
    std::int64_t groups;
    std::vector<T> x, dy, dy2, residual, gate, spread;
    std::vector<float> gamma, beta, mean, variance, dgamma, dbeta, sums, scratch;
    Reference reference;

    explicit Case(const Blocks& shape_of_x, std::int64_t groups_of_channels = 0, double epsilon = 1e-3)
        : shape(shape_of_x),
          groups(groups_of_channels),
          x(random_values<T>(shape.elements(), 1, -1, 3)),
          dy(random_values<T>(shape.elements(), 2)),
          dy2(random_values<T>(shape.elements(), 3)),
          residual(random_values<T>(shape.elements(), 4)),
          gate(random_values<T>(shape.n * shape.channels(), 7, 0.2, 1)),
          spread(random_values<T>(shape.n * shape.channels(), 8)),
          gamma(random_values<float>(shape.channels(), 5, 0.5, 1.5)),
          beta(random_values<float>(shape.channels(), 6, -0.5, 0.5)),
          dgamma(gamma.size()),
          dbeta(gamma.size()),
          sums(at(norm_sum_parts(shape) * shape.n * shape.channels())),
          scratch(scratch_for(shape, groups)),
          reference{.shape = shape,
                    .groups = groups,
                    .epsilon = epsilon,
                    .x = wide(x),
                    .gamma = wide(gamma),
                    .beta = wide(beta)} {
        reference.set_statistics();
        mean.resize(reference.mean.size());
        variance.resize(reference.mean.size());
    }

    std::vector<T> forward(bool relu, bool add_residual, bool in_place = false) {
        std::vector<T> y = in_place ? (add_residual ? residual : x) : std::vector<T>(x.size());
        const T* from = in_place && !add_residual ? y.data() : x.data();
        const T* added = in_place ? y.data() : residual.data();
        const NormForward<T> args{.x = from,
                                  .gamma = gamma.data(),
                                  .beta = beta.data(),
                                  .residual = add_residual ? added : nullptr,
                                  .mean = mean.data(),
                                  .variance = variance.data(),
                                  .y = y.data(),
                                  .sums = sums.data(),
                                  .epsilon = reference.epsilon,
                                  .activation = relu ? Activation::relu : Activation::none};
        if (groups == 0) {
            batch_norm_forward(shape, args, std::span<float>(scratch));
        } else {
            group_norm_forward(shape, groups, args, std::span<float>(scratch));
        }
        return y;
    }

    NormGradient<T> gradient_args() {
        return {.x = x.data(),
                .dy = dy.data(),
                .gamma = gamma.data(),
                .beta = beta.data(),
                .mean = mean.data(),
                .variance = variance.data(),
                .dgamma = dgamma.data(),
                .dbeta = dbeta.data(),
                .epsilon = reference.epsilon};
    }
    void backward(const NormGradient<T>& args) {
        if (groups == 0) {
            batch_norm_gradient(shape, args, std::span<float>(scratch));
        } else {
            group_norm_gradient(shape, groups, args, std::span<float>(scratch));
        }
    }
    std::vector<float> channel_sums() const {
        std::vector<float> result(at(shape.n * shape.channels()));
        for (std::size_t i = 0; i < sums.size(); ++i)
            result[i % result.size()] += sums[i];
        return result;
    }
    /// The incoming gradient with gates: dy * gate + spread / pixels.
    std::vector<double> gated() const {
        std::vector<double> result = wide(dy);
        for (const Element& e : reference.elements) {
            const std::size_t i = at(e.n * shape.channels() + e.c);
            result[at(e.index)] *= widened(gate[i]);
            result[at(e.index)] += widened(spread[i]) / static_cast<double>(shape.pixels);
        }
        return result;
    }
    /// dy (+ dy2), zero where the forward output is not positive.
    std::vector<double> masked(bool summed, const std::vector<T>* y, bool is_gated = false) const {
        std::vector<double> result = is_gated ? gated() : wide(dy);
        for (std::size_t i = 0; i < result.size(); ++i) {
            if (summed) result[i] += widened(dy2[i]);
            if (y != nullptr && !(widened((*y)[i]) > 0)) result[i] = 0;
        }
        return result;
    }
    void expect_gradients(const std::vector<T>& dx, const std::string& what) const {
        const double many = static_cast<double>(shape.elements()) / static_cast<double>(shape.channels());
        expect_near(dx, reference.dx, 1e-3 * 4, what + " dx");
        expect_near(dgamma, reference.dgamma, 2e-6 * many + 1e-4, what + " dgamma");
        expect_near(dbeta, reference.dbeta, 2e-6 * many + 1e-4, what + " dbeta");
    }
};

std::vector<std::int64_t> group_counts(const Blocks& shape) {
    std::vector<std::int64_t> counts{1};
    if (shape.channels() % 2 == 0) counts.push_back(shape.channels() / 2);
    return counts;
}

template <typename T> class Norm : public ::testing::Test {};
TYPED_TEST_SUITE(Norm, Reals);

template <typename T> void check_forward(Case<T>& norm, bool relu, bool add_residual, bool in_place) {
    const std::string what = text(norm.shape) + " groups=" + std::to_string(norm.groups);
    norm.reference.forward(add_residual ? wide(norm.residual) : std::vector<double>{}, relu);
    for_each_target([&] {
        const auto y = norm.forward(relu, add_residual, in_place);
        expect_near(norm.mean, norm.reference.mean, 1e-5, what + " mean");
        expect_near(norm.variance, norm.reference.variance, 1e-5, what + " variance");
        expect_near(y, norm.reference.y, 2e-4, what + " y");
        std::vector<double> want(at(norm.shape.n * norm.shape.channels()));
        for (const Element& e : norm.reference.elements)
            want[at(e.n * norm.shape.channels() + e.c)] += norm.reference.y[at(e.index)];
        expect_near(norm.channel_sums(), want, 1e-5 * static_cast<double>(norm.shape.pixels) + 1e-4, what + " sums");
    });
}

TYPED_TEST(Norm, ForwardMatchesFloat64) {
    for (const Blocks& shape : shape_grid()) {
        Case<TypeParam> batch(shape);
        check_forward(batch, false, false, false);
        check_forward(batch, true, true, true);
        check_forward(batch, true, false, true);
        for (const std::int64_t groups : group_counts(shape)) {
            Case<TypeParam> group(shape, groups);
            check_forward(group, true, shape.n == 2, false);
        }
    }
}

template <typename T> void check_backward(Case<T>& norm) {
    const std::string what = text(norm.shape) + " groups=" + std::to_string(norm.groups);
    std::vector<T> dx(norm.x.size());
    norm.forward(false, false);
    auto args = norm.gradient_args();
    args.dx = dx.data();
    norm.backward(args);
    norm.reference.backward(norm.masked(false, nullptr));
    norm.expect_gradients(dx, what + " no activation");

    // Activation recomputed from x, two gradients, result over the first of them.
    auto y = norm.forward(true, false);
    const auto masked = norm.masked(true, &y);
    auto dy = norm.dy;
    args = norm.gradient_args();
    args.activation = Activation::relu;
    args.dy = dy.data();
    args.dy2 = norm.dy2.data();
    args.dx = dy.data();
    norm.backward(args);
    norm.reference.backward(masked);
    norm.expect_gradients(dy, what + " recomputed, summed, in place");

    // The same with dy multiplied by gates, and a spread vector added.
    args.gate = norm.gate.data();
    args.spread = norm.spread.data();
    args.dy = norm.dy.data();
    args.dx = dx.data();
    norm.backward(args);
    norm.reference.backward(norm.masked(true, &y, true));
    norm.expect_gradients(dx, what + " gated");
}

template <typename T> void check_residual_backward(Case<T>& norm) {
    const std::string what = text(norm.shape) + " groups=" + std::to_string(norm.groups);
    auto y = norm.forward(true, true);
    const auto masked = norm.masked(false, &y);
    auto dresidual = norm.dy;
    std::vector<T> dx(norm.x.size());
    auto args = norm.gradient_args();
    args.activation = Activation::relu;
    args.dy = dresidual.data();
    args.y = y.data();
    args.dx = dx.data();
    args.dresidual = dresidual.data();
    norm.backward(args);
    norm.reference.backward(masked);
    norm.expect_gradients(dx, what + " residual");
    expect_near(dresidual, masked, 0, what + " dresidual");
}

TYPED_TEST(Norm, GradientMatchesFloat64) {
    for_each_target([] {
        for (const Blocks& shape : shape_grid()) {
            // Too few elements make an ill conditioned variance; and what one sample could show, several do.
            if (shape.n * shape.pixels < 7 || (shape.n == 1 && shape.pixels < 100)) continue;
            Case<TypeParam> batch(shape);
            check_backward(batch);
            check_residual_backward(batch);
            Case<TypeParam> group(shape, group_counts(shape).back());
            if (shape.pixels < 7) continue;
            check_backward(group);
            check_residual_backward(group);
        }
    });
}

/// Operands and results of a gradient with residual and ReLU. Statistics may be any numbers.
template <typename T> struct Gradient {
    Blocks shape;
    std::vector<T> x, dy, dy2, y, gate, spread;
    std::vector<float> gamma, mean, variance;
    std::vector<T> dx = std::vector<T>(x.size()), dresidual = dx;
    std::vector<float> dgamma = gamma, dbeta = gamma;

    void compute() {
        std::vector<float> scratch = scratch_for(shape);
        batch_norm_gradient<T>(shape,
                               {.x = x.data(),
                                .dy = dy.data(),
                                .dy2 = dy2.data(),
                                .gate = gate.data(),
                                .spread = spread.data(),
                                .y = y.data(),
                                .gamma = gamma.data(),
                                .mean = mean.data(),
                                .variance = variance.data(),
                                .dx = dx.data(),
                                .dresidual = dresidual.data(),
                                .dgamma = dgamma.data(),
                                .dbeta = dbeta.data(),
                                .activation = Activation::relu},
                               scratch);
    }
    /// The same of one block of channels.
    Gradient of_block(std::int64_t block) const {
        const auto vector = [&](const std::vector<float>& all) {
            return std::vector<float>(all.begin() + block * shape.lanes, all.begin() + (block + 1) * shape.lanes);
        };
        return {{shape.n, 1, shape.pixels, shape.lanes},
                tensor(x, block),
                tensor(dy, block),
                tensor(dy2, block),
                tensor(y, block),
                tensor(gate, block, 1),
                tensor(spread, block, 1),
                vector(gamma),
                vector(mean),
                vector(variance)};
    }
    std::vector<T> tensor(const std::vector<T>& all, std::int64_t block) const {
        return tensor(all, block, shape.pixels);
    }
    std::vector<T> tensor(const std::vector<T>& all, std::int64_t block, std::int64_t pixels) const {
        std::vector<T> result;
        for (std::int64_t n = 0; n < shape.n; ++n) {
            const auto first = all.begin() + (n * shape.blocks + block) * pixels * shape.lanes;
            result.insert(result.end(), first, first + pixels * shape.lanes);
        }
        return result;
    }
};

/// A few channels of a large tensor are computed at a time; the last part has fewer of them.
TYPED_TEST(Norm, GradientOfALargeTensorIsThatOfItsChannels) {
    using T = TypeParam;
    const std::int64_t pixels = (std::int64_t{33} << 20) / (2 * 35 * 16 * static_cast<std::int64_t>(sizeof(T)));
    const Blocks shape{2, 35, pixels, 16};
    const auto values = [&](std::uint64_t seed) { return random_values<T>(shape.elements(), seed); };
    const auto numbers = [&](std::uint64_t seed) { return random_values<float>(shape.channels(), seed, 0.5, 1.5); };
    const auto of_samples = [&](std::uint64_t seed) {
        return random_values<T>(shape.n * shape.channels(), seed, 0.5, 1.5);
    };
    Gradient<T> all{shape,         values(1),     values(2),  values(3),  values(4),
                    of_samples(8), of_samples(9), numbers(5), numbers(6), numbers(7)};
    all.compute();
    for (const std::int64_t block : {0, 1, 3, 4, 17, 33, 34}) {
        SCOPED_TRACE("block " + std::to_string(block));
        Gradient<T> one = all.of_block(block);
        one.compute();
        expect_near(all.tensor(all.dx, block), wide(one.dx), 1e-4 + rounding_error<T>(), "dx");  // both are rounded
        expect_near(all.tensor(all.dresidual, block), wide(one.dresidual), 0, "dresidual");
        for (std::int64_t i = 0; i < shape.lanes; ++i) {
            EXPECT_NEAR(all.dgamma[at(block * 16 + i)], one.dgamma[at(i)], 1e-3 * std::sqrt(2.0 * pixels));
            EXPECT_NEAR(all.dbeta[at(block * 16 + i)], one.dbeta[at(i)], 1e-3 * std::sqrt(2.0 * pixels));
        }
    }
}

TYPED_TEST(Norm, GradientWithoutDresidualUsesTheOutputsMask) {
    Case<TypeParam> norm({3, 2, 49, 16});
    auto y = norm.forward(true, true);
    const auto masked = norm.masked(true, &y);
    std::vector<TypeParam> dx(norm.x.size());
    auto args = norm.gradient_args();
    args.activation = Activation::relu;
    args.dy2 = norm.dy2.data();
    args.y = y.data();
    args.dx = y.data();  // over the output that is the mask
    norm.backward(args);
    norm.reference.backward(masked);
    norm.expect_gradients(y, "mask from y, in place");
}

TYPED_TEST(Norm, InferenceReadsTheStatistics) {
    Case<TypeParam> norm({2, 1, 7, 10});
    norm.reference.mean.assign(10, 0.25);
    norm.reference.variance.assign(10, 4.0);
    std::vector<float> mean(10, 0.25F);
    std::vector<float> variance(10, 4.0F);
    std::vector<TypeParam> y(norm.x.size());
    norm_inference<TypeParam>(norm.shape, 0,
                              {.x = norm.x.data(),
                               .gamma = norm.gamma.data(),
                               .beta = norm.beta.data(),
                               .mean = mean.data(),
                               .variance = variance.data(),
                               .y = y.data(),
                               .epsilon = norm.reference.epsilon,
                               .activation = Activation::relu},
                              norm.scratch);
    norm.reference.forward({}, true);
    expect_near(y, norm.reference.y, 1e-5, "inference");
    EXPECT_EQ(mean[3], 0.25F);
}

TYPED_TEST(Norm, BitwiseTheSameForAnyNumberOfThreads) {
    for (const Blocks& shape : {Blocks{3, 1, 1225, 64}, Blocks{3, 4, 1225, 16}, Blocks{3, 64, 49, 16}}) {
        for (const std::int64_t groups : {0, 4}) {
            Case<TypeParam> norm(shape, groups);
            expect_thread_independent([&] {
                auto y = norm.forward(true, true);
                std::vector<TypeParam> dx(norm.x.size());
                std::vector<TypeParam> dresidual(norm.x.size());
                auto args = norm.gradient_args();
                args.activation = Activation::relu;
                args.y = y.data();
                args.dx = dx.data();
                args.dresidual = dresidual.data();
                norm.backward(args);
                std::vector<double> all = wide(y);
                for (const auto& part : {wide(dx), wide(dresidual), wide(norm.mean), wide(norm.variance),
                                         wide(norm.dgamma), wide(norm.dbeta)}) {
                    all.insert(all.end(), part.begin(), part.end());
                }
                return all;
            });
        }
    }
}

TEST(Statistics, VarianceSurvivesALargeMean) {
    const Blocks shape{8, 1, 1024, 24};
    auto x = random_values<float>(shape.elements(), 9, 9999, 10001);
    std::vector<float> mean(24);
    std::vector<float> variance(24);
    auto scratch = scratch_for(shape);
    channel_statistics<float>(shape, x.data(), {}, mean.data(), variance.data(), scratch);
    Reference reference{.shape = shape, .groups = 0, .epsilon = 0, .x = wide(x)};
    reference.set_statistics();
    for (std::size_t c = 0; c < mean.size(); ++c) {
        EXPECT_NEAR(static_cast<double>(variance[c]), reference.variance[c], 1e-5);
        EXPECT_NEAR(static_cast<double>(mean[c]), reference.mean[c], 1e-3);
    }
}

/// Rows of equal values, as behind the object of a photo with a white background, and random ones in the middle.
std::vector<float> mostly_flat(const Blocks& shape) {
    auto x = random_values<float>(shape.elements(), 9, -2, 3);
    const std::vector<float> background = random_values<float>(shape.channels(), 3, -2, 2);
    for (std::int64_t sample = 0; sample < shape.n; ++sample) {
        for (std::int64_t c = 0; c < shape.channels(); ++c) {
            for (std::int64_t pixel = 0; pixel < shape.pixels; ++pixel) {
                if (pixel > shape.pixels * 4 / 9 && pixel < shape.pixels * 5 / 9) continue;
                x[at(shape.offset(sample, c / shape.lanes, pixel) + c % shape.lanes)] = background[at(c)];
            }
        }
    }
    return x;
}

TEST(Statistics, FlatAreasAreSummedExactly) {
    for (const Blocks& shape :
         {Blocks{1, 1, 12544, 64}, Blocks{1, 2, 12544, 16}, Blocks{70, 1, 3136, 8}, Blocks{12, 2, 3136, 8}}) {
        const std::vector<float> x = mostly_flat(shape);
        for (const std::int64_t groups : {std::int64_t{0}, shape.channels()}) {
            Reference reference{.shape = shape, .groups = groups, .epsilon = 0, .x = wide(x)};
            reference.set_statistics();
            std::vector<float> mean(reference.mean.size());
            std::vector<float> variance(reference.mean.size());
            auto scratch = scratch_for(shape, groups);
            if (groups == 0) {
                channel_statistics<float>(shape, x.data(), {}, mean.data(), variance.data(), scratch);
            } else {
                group_statistics<float>(shape, groups, x.data(), {}, mean.data(), variance.data(), scratch);
            }
            for (std::size_t i = 0; i < mean.size(); ++i)
                EXPECT_NEAR(static_cast<double>(variance[i]) / reference.variance[i], 1, 5e-6);
        }
    }
}

/// A photo's statistics are its own, whatever the other samples of a batch.
TEST(Statistics, OfGroupsDoNotDependOnTheBatch) {
    const Blocks one{1, 2, 6400, 16};
    const Blocks many{64, 2, 6400, 16};
    const std::vector<float> x = mostly_flat(one);
    std::vector<float> batch;
    for (std::int64_t i = 0; i < many.n; ++i)
        batch.insert(batch.end(), x.begin(), x.end());
    const auto variances = [](const Blocks& shape, const std::vector<float>& values) {
        std::vector<float> mean(at(shape.n * 8));
        std::vector<float> variance(at(shape.n * 8));
        auto scratch = scratch_for(shape, 8);
        group_statistics<float>(shape, 8, values.data(), {}, mean.data(), variance.data(), scratch);
        variance.resize(8);
        return variance;
    };
    EXPECT_EQ(variances(one, x), variances(many, batch));
}

TEST(Statistics, ConstantChannelsHaveNoVariance) {
    const Blocks shape{4, 2, 100, 16};
    const std::vector<float> x(at(shape.elements()), 3.7F);
    std::vector<float> mean(32);
    std::vector<float> variance(32, -1.0F);
    auto scratch = scratch_for(shape);
    channel_statistics<float>(shape, x.data(), {}, mean.data(), variance.data(), scratch);
    EXPECT_EQ(variance, std::vector<float>(32, 0.0F));
    EXPECT_EQ(mean, std::vector<float>(32, 3.7F));
}

TEST(Statistics, NaNIsNotHidden) {
    const Blocks shape{2, 1, 50, 8};
    auto x = random_values<float>(shape.elements(), 9);
    x[100] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> mean(8);
    std::vector<float> variance(8);
    auto scratch = scratch_for(shape);
    channel_statistics<float>(shape, x.data(), {}, mean.data(), variance.data(), scratch);
    EXPECT_TRUE(std::isnan(mean[100 % 8]));
    EXPECT_TRUE(std::isnan(variance[100 % 8]));
    EXPECT_TRUE(std::isfinite(mean[0]));
}

TEST(Scratch, TooLittleIsRefused) {
    const Blocks shape{2, 1, 50, 8};
    const auto x = random_values<float>(shape.elements(), 9);
    std::vector<float> mean(8);
    std::vector<float> variance(8);
    std::vector<float> scratch(3);
    EXPECT_ANY_THROW(channel_statistics<float>(shape, x.data(), {}, mean.data(), variance.data(), scratch));
}

}  // namespace
}  // namespace cnntrain::cpu
