// Chains of view operations against a tensor that holds the number of each of its elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/machine_support.h"
#include "ipu_emulator/model/graph_data.h"
#include "ipu_emulator/model/regions.h"

namespace {

using ipu_emulator::Access;
using namespace ipu_emulator::test;

/// Elements as numbers, in row-major order.
struct Naive {
    std::vector<std::size_t> shape;
    std::vector<std::size_t> elements;

    std::size_t at(const Shape& index) const {
        std::size_t flat = 0;
        for (std::size_t i = 0; i < shape.size(); ++i)
            flat = flat * shape[i] + index[i];
        return elements[flat];
    }

    /// A tensor whose element at an index is this one's at `source(index)`.
    Naive mapped(std::vector<std::size_t> new_shape,
                 const std::function<std::vector<std::size_t>(std::vector<std::size_t>)>& source) const {
        Naive result{std::move(new_shape), {}};
        const std::size_t count =
            std::accumulate(result.shape.begin(), result.shape.end(), std::size_t{1}, std::multiplies<>());
        std::vector<std::size_t> index(result.shape.size(), 0);
        for (std::size_t n = 0; n < count; ++n) {
            result.elements.push_back(at(source(index)));
            for (std::size_t i = index.size(); i-- > 0;) {
                if (++index[i] < result.shape[i]) break;
                index[i] = 0;
            }
        }
        return result;
    }
};

std::vector<std::size_t> numbers_of(const Tensor& t, const Shape& first_number) {
    std::vector<std::size_t> result;
    for (const ipu_emulator::Run& run : Access::data(t).view.runs()) {
        for (std::size_t i = 0; i < run.count; ++i)
            result.push_back(first_number[run.variable] + run.at(i));
    }
    return result;
}

class Chain {
public:
    Chain(Bench& bench, std::mt19937& random, std::vector<std::size_t>& first_number)
        : bench_(bench), random_(random), first_number_(first_number) {
        std::tie(tensor, naive) = fresh(random_shape());
    }

    void step() {
        switch (pick(9)) {
            case 0:
                return slice();
            case 1:
                return shuffle();
            case 2:
                return reshape();
            case 3:
                return broadcast();
            case 4:
                return reverse();
            case 5:
                return subsample();
            case 6:
                return concat();
            case 7:
                tensor = tensor.flatten();
                naive.shape = {naive.elements.size()};
                return;
            default:
                return index();
        }
    }

    Tensor tensor;
    Naive naive;

private:
    std::size_t pick(std::size_t count) { return random_() % count; }
    std::size_t pick_dim() { return pick(naive.shape.size()); }

    std::vector<std::size_t> random_shape() {
        std::vector<std::size_t> shape;
        for (std::size_t i = 0; i < 2 + pick(3); ++i)
            shape.push_back(1 + pick(5));
        return shape;
    }

    std::pair<Tensor, Naive> fresh(const Shape& shape) {
        const Tensor t = bench_.variable(FLOAT, shape);
        const std::size_t first = first_number_.empty() ? 0 : first_number_.back() + 1000000;
        first_number_.push_back(first);
        Naive n{shape, std::vector<std::size_t>(t.numElements())};
        std::iota(n.elements.begin(), n.elements.end(), first);
        return {t, n};
    }

    void slice() {
        if (naive.shape.empty()) return;
        const std::size_t dim = pick_dim();
        const std::size_t begin = pick(naive.shape[dim]);
        const std::size_t end = begin + 1 + pick(naive.shape[dim] - begin);
        tensor = tensor.slice(begin, end, static_cast<unsigned>(dim));
        std::vector<std::size_t> shape = naive.shape;
        shape[dim] = end - begin;
        naive = naive.mapped(shape, [&](auto i) { return i[dim] += begin, i; });
    }

    void shuffle() {
        std::vector<unsigned> permutation(naive.shape.size());
        std::iota(permutation.begin(), permutation.end(), 0u);
        std::ranges::shuffle(permutation, random_);
        tensor = tensor.dimShuffle(permutation);
        std::vector<std::size_t> shape;
        for (const unsigned dim : permutation)
            shape.push_back(naive.shape[dim]);
        naive = naive.mapped(shape, [&](auto i) {
            std::vector<std::size_t> source(i.size());
            for (std::size_t n = 0; n < i.size(); ++n)
                source[permutation[n]] = i[n];
            return source;
        });
    }

    void reshape() {
        std::vector<std::size_t> shape;
        std::size_t rest = naive.elements.size();
        while (rest > 1 && shape.size() < 4) {
            std::vector<std::size_t> divisors;
            for (std::size_t d = 1; d <= rest; ++d)
                if (rest % d == 0) divisors.push_back(d);
            shape.push_back(divisors[pick(divisors.size())]);
            rest /= shape.back();
        }
        shape.push_back(rest);
        tensor = tensor.reshape(shape);
        naive.shape = shape;
    }

    void broadcast() {
        if (naive.shape.empty() || naive.elements.size() > 300) return;
        const std::size_t dim = pick_dim();
        const std::size_t times = 1 + pick(3);
        tensor = tensor.broadcast(static_cast<unsigned>(times), static_cast<unsigned>(dim));
        std::vector<std::size_t> shape = naive.shape;
        const std::size_t period = shape[dim];
        shape[dim] *= times;
        naive = naive.mapped(shape, [&](auto i) { return i[dim] %= period, i; });
    }

    void reverse() {
        if (naive.shape.empty()) return;
        const std::size_t dim = pick_dim();
        tensor = tensor.reverse(static_cast<unsigned>(dim));
        const std::size_t last = naive.shape[dim] - 1;
        naive = naive.mapped(naive.shape, [&](auto i) { return i[dim] = last - i[dim], i; });
    }

    void subsample() {
        if (naive.shape.empty()) return;
        const std::size_t dim = pick_dim();
        const std::size_t step = 1 + pick(3);
        tensor = tensor.subSample(static_cast<unsigned>(step), static_cast<unsigned>(dim));
        std::vector<std::size_t> shape = naive.shape;
        shape[dim] = (shape[dim] + step - 1) / step;
        naive = naive.mapped(shape, [&](auto i) { return i[dim] *= step, i; });
    }

    void concat() {
        if (naive.shape.empty() || naive.elements.size() > 300) return;
        const std::size_t dim = pick_dim();
        std::vector<std::size_t> shape = naive.shape;
        shape[dim] = 1 + pick(3);
        const auto [other, other_naive] = fresh(shape);
        tensor = poplar::concat(tensor, other, static_cast<unsigned>(dim));
        const Naive first = naive;
        shape[dim] += first.shape[dim];
        Naive result{shape, {}};
        const std::size_t outer = std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(dim),
                                                  std::size_t{1}, std::multiplies<>());
        for (std::size_t i = 0; i < outer; ++i) {
            for (const Naive* part : {&first, &other_naive}) {
                const auto block = static_cast<std::ptrdiff_t>(part->elements.size() / outer);
                const auto begin = part->elements.begin() + static_cast<std::ptrdiff_t>(i) * block;
                result.elements.insert(result.elements.end(), begin, begin + block);
            }
        }
        naive = result;
    }

    void index() {
        if (naive.shape.size() < 2) return;
        const std::size_t i = pick(naive.shape[0]);
        tensor = tensor[i];
        const std::vector<std::size_t> shape(naive.shape.begin() + 1, naive.shape.end());
        naive = naive.mapped(shape, [&](auto at) { return at.insert(at.begin(), i), at; });
    }

    Bench& bench_;
    std::mt19937& random_;
    std::vector<std::size_t>& first_number_;
};

TEST(View, TenThousandRandomChainsEqualANaiveTensor) {
    std::mt19937 random(7);
    for (unsigned group = 0; group < 100; ++group) {
        Bench bench;
        std::vector<std::size_t> first_number;
        for (unsigned n = 0; n < 100; ++n) {
            Chain chain(bench, random, first_number);
            for (unsigned i = 0; i < 1 + random() % 8; ++i)
                chain.step();
            const Tensor& t = chain.tensor;
            ASSERT_EQ(t.shape(), chain.naive.shape);
            ASSERT_EQ(numbers_of(t, first_number), chain.naive.elements);
            const std::set<std::size_t> distinct(chain.naive.elements.begin(), chain.naive.elements.end());
            ASSERT_EQ(t.containsAliases(), distinct.size() != chain.naive.elements.size());

            // The form that programs walk gives the same elements, from any place on.
            const ipu_emulator::Regions regions(Access::data(bench.graph), Access::data(t));
            std::vector<std::size_t> walked;
            regions.for_each(0, regions.count(),
                             [&](std::uint32_t v, std::size_t e) { walked.push_back(first_number[v] + e); });
            ASSERT_EQ(walked, chain.naive.elements);
        }
    }
}

TEST(View, GatherAndScatterBeginAnywhere) {
    Bench bench;
    const Tensor whole = bench.variable(INT, {4, 5, 6});
    const Tensor t = poplar::concat(whole.dimShuffle({2, 0, 1}).flatten(), whole.reverse(1).flatten());
    const ipu_emulator::Regions regions(Access::data(bench.graph), Access::data(whole.dimShuffle({2, 0, 1})));
    const ipu_emulator::Regions both(Access::data(bench.graph), Access::data(t));
    std::vector<std::int32_t> memory(120);
    std::iota(memory.begin(), memory.end(), 0);
    std::byte* base = reinterpret_cast<std::byte*>(memory.data());
    for (const ipu_emulator::Regions* r : {&regions, &both}) {
        std::vector<std::int32_t> all(r->count());
        r->gather(&base, 0, all.size(), all.data());
        for (std::size_t begin = 0; begin < all.size(); begin += 7) {
            std::vector<std::int32_t> part(std::min<std::size_t>(11, all.size() - begin));
            r->gather(&base, begin, part.size(), part.data());
            ASSERT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(begin)));
        }
    }
    std::vector<std::int32_t> fresh(120);
    std::byte* target = reinterpret_cast<std::byte*>(fresh.data());
    std::vector<std::int32_t> values(120);
    regions.gather(&base, 0, 120, values.data());
    for (std::size_t begin = 0; begin < 120; begin += 13)
        regions.scatter(&target, begin, std::min<std::size_t>(13, 120 - begin), values.data() + begin);
    EXPECT_EQ(fresh, memory);
}

TEST(View, OtherViewsAreMadeOfThese) {
    Bench bench;
    const Tensor t = bench.variable(FLOAT, {2, 3, 4});
    EXPECT_EQ(t.transpose().shape(), (Shape{4, 3, 2}));
    EXPECT_EQ(t.dimRoll(2).shape(), (Shape{4, 2, 3}));
    EXPECT_EQ(t.dimRoll(0, 2).shape(), (Shape{3, 4, 2}));
    EXPECT_EQ(t.dimShufflePartial({0, 2}, {1, 0}).shape(), (Shape{4, 2, 3}));
    EXPECT_EQ(t.expand({0, 2}).shape(), (Shape{1, 2, 3, 1, 4})) << "before dimensions 0 and 2";
    EXPECT_EQ(t.expand({0, 2}).squeeze({0, 3}).shape(), t.shape());
    EXPECT_EQ(t.flatten(1, 3).shape(), (Shape{2, 12}));
    EXPECT_EQ(t.reshapePartial(1, 2, {1, 3}).shape(), (Shape{2, 1, 3, 4}));
    EXPECT_EQ(t.reinterpret(INT).elementType(), INT);
    EXPECT_TRUE(Access::data(t).view.contiguous());
    EXPECT_FALSE(Access::data(t.transpose()).view.contiguous());
    EXPECT_TRUE(Access::data(t.slice(1, 2)).view.contiguous());
    EXPECT_EQ(Access::data(t.slice(0, 2, 2)).view.runs().size(), 6u);
}

TEST(View, WrongArgumentsAreIndexErrors) {
    Bench bench;
    const Tensor t = bench.variable(FLOAT, {2, 3});
    EXPECT_THROW(t.slice(1, 4, 1), poplar::index_error);
    EXPECT_THROW(t.slice(2, 1, 1), poplar::index_error);
    EXPECT_THROW(t.dim(2), poplar::index_error);
    EXPECT_THROW(t.reshape({7}), poplar::index_error);
    EXPECT_THROW(t.dimShuffle({0, 0}), poplar::index_error);
    EXPECT_THROW(t.squeeze({0}), poplar::index_error);
    EXPECT_THROW(t[2], poplar::index_error);
    EXPECT_THROW(t.reinterpret(HALF), poplar::type_error);
    EXPECT_THROW(poplar::concat(t, bench.variable(HALF, {2, 3})), poplar::type_error);
    EXPECT_THROW(poplar::concat(t, bench.variable(FLOAT, {2, 4})), poplar::index_error);
    EXPECT_THROW(poplar::Tensor().shape(), poplar::tensor_creation_error);
}

}  // namespace
