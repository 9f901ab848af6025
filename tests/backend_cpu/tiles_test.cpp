// Tile products against sums in double, and their panels against loops over elements.
#include "backend/cpu/kernels/tiles.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

class Tiles : public testing::TestWithParam<TileUnit> {
protected:
    void SetUp() override {
        if (!has(GetParam())) GTEST_SKIP() << "this processor does not have the unit, or the system does not give it";
    }
};
INSTANTIATE_TEST_SUITE_P(Units, Tiles, testing::Values(TileUnit::amx, TileUnit::dot_products),
                         [](const auto& unit) { return unit.param == TileUnit::amx ? "amx" : "dot_products"; });

class TilePanels : public testing::Test {
protected:
    void SetUp() override {
        if (!has(TileUnit::dot_products)) GTEST_SKIP() << "this processor has no AVX512-BF16";
    }
};

std::string text(const TileProduct& p) {
    return std::to_string(p.rows) + " x " + std::to_string(p.inner) + " x " + std::to_string(p.columns);
}

template <typename T> std::vector<T> turned(std::int64_t rows, std::int64_t columns, const std::vector<T>& m) {
    std::vector<T> result(m.size());
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column)
            result[at(column * rows + row)] = m[at(row * columns + column)];
    }
    return result;
}

std::vector<BFloat16> right_panels(const TileProduct& p, const std::vector<BFloat16>& w) {
    std::vector<BFloat16> panels(w.size());
    copy_to_panels(Panels{p.inner, p.columns, p.inner, kTileBlock}, w.data(), panels.data());
    return panels;
}

/// x * w, row-major, and the bias where there is one.
template <typename T> std::vector<double> sums_of_products(const TileProduct& product, const std::vector<T>& x,
                                                           const std::vector<T>& w, const std::vector<float>& bias) {
    std::vector<double> y(at(product.rows * product.columns));
    for (std::int64_t row = 0; row < product.rows; ++row) {
        double* const to = y.data() + row * product.columns;
        for (std::size_t i = 0; i < bias.size(); ++i)
            to[i] = static_cast<double>(bias[i]);
        for (std::int64_t k = 0; k < product.inner; ++k) {
            const double factor = widened(x[at(row * product.inner + k)]);
            for (std::int64_t i = 0; i < product.columns; ++i)
                to[i] += factor * widened(w[at(k * product.columns + i)]);
        }
    }
    return y;
}

/// The terms of a sum are up to 4; f32 sums lose their last digits in the order of the chunks.
double slack_of(const TileProduct& product) {
    return 1e-6 * std::sqrt(static_cast<double>(product.inner)) * 4;
}

std::vector<double> added_to(double start, std::vector<double> values) {
    for (double& value : values)
        value += start;
    return values;
}

std::vector<float> scratch_for(TileUnit unit) {
    return std::vector<float>(at(tile_scratch_floats(unit, omp_get_max_threads())),
                              std::numeric_limits<float>::quiet_NaN());
}

struct Operands {
    Operands(TileUnit by, const TileProduct& p)
        : unit(by),
          product(p),
          x(random_values<BFloat16>(p.rows * p.inner, 1)),
          w(random_values<BFloat16>(p.inner * p.columns, 2)),
          panels(right_panels(p, w)),
          bias(random_values<float>(p.columns, 3)) {}

    std::vector<double> expected(bool with_bias) const {
        return sums_of_products(product, x, w, with_bias ? bias : std::vector<float>{});
    }

    std::vector<BFloat16> halves(bool with_bias) const {
        std::vector<BFloat16> y(at(product.rows * product.columns));
        std::vector<float> scratch = scratch_for(unit);
        tile_product(unit, product, {x.data()}, panels.data(), with_bias ? bias.data() : nullptr, y.data(), scratch);
        return y;
    }

    std::vector<float> floats(bool left_in_panels, bool adds) const {
        std::vector<BFloat16> left = x;
        if (left_in_panels) {
            const std::vector<BFloat16> columns = turned(product.rows, product.inner, x);
            copy_to_turned_left_panels(product.inner, product.rows, columns.data(), left.data());
        }
        std::vector<float> y(at(product.rows * product.columns),
                             adds ? 100.0F : std::numeric_limits<float>::quiet_NaN());
        std::vector<float> scratch = scratch_for(unit);
        tile_product(unit, product, {left.data(), left_in_panels}, panels.data(), {y.data(), adds, nullptr}, scratch);
        return y;
    }

    TileUnit unit;
    TileProduct product;
    std::vector<BFloat16> x, w, panels;
    std::vector<float> bias;
};

/// One block; blocks of rows and columns that threads share unevenly; chunks and slices of the inner axis that end
/// early; more rows, and more columns, than are done at a time, of whole and of sliced operands; rows that are a
/// multiple of a page apart.
const TileProduct kProducts[] = {
    {32, 32, 32},     {64, 96, 160},  {160, 288, 96}, {32, 1024, 64}, {96, 1056, 64},
    {320, 2112, 544}, {1056, 64, 32}, {544, 768, 32}, {64, 2048, 64}, {32, 32, 1120},
};

TEST_P(Tiles, ProductsAreSumsOfProducts) {
    for (const TileProduct& product : kProducts) {
        SCOPED_TRACE(text(product));
        const Operands operands(GetParam(), product);
        const std::vector<double> plain = operands.expected(false);
        const double slack = slack_of(product);
        expect_near(operands.halves(false), plain, slack, "bfloat16");
        expect_near(operands.halves(true), operands.expected(true), slack, "with bias");
        expect_near(operands.floats(false, false), plain, slack, "f32");
        expect_near(operands.floats(true, false), plain, slack, "of left panels");
        expect_near(operands.floats(true, true), added_to(100, plain), slack, "added");
    }
}

TEST_P(Tiles, ProductsDoNotDependOnThreads) {
    for (const TileProduct& product : {TileProduct{160, 288, 96}, {320, 2112, 544}, {32, 32, 1120}}) {
        SCOPED_TRACE(text(product));
        const Operands operands(GetParam(), product);
        expect_thread_independent([&] { return operands.halves(true); });
        expect_thread_independent([&] { return operands.floats(true, true); });
    }
}

/// Large aligned results are stored past the caches: the elements are the same.
TEST_P(Tiles, LargeAlignedResultsAreTheSame) {
    const TileProduct product{32 * 11, 64, 4096};
    const Operands operands(GetParam(), product);
    std::vector<float> scratch = scratch_for(GetParam());
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);  // the size that counts as large grows with the threads
    HostTensor halves({DType::bf16, {product.rows, product.columns}});
    tile_product(GetParam(), product, {operands.x.data()}, operands.panels.data(), operands.bias.data(),
                 halves.as<BFloat16>().data(), scratch);
    HostTensor floats({DType::f32, {product.rows, product.columns}});
    tile_product(GetParam(), product, {operands.x.data()}, operands.panels.data(), {.data = floats.as<float>().data()},
                 scratch);
    omp_set_num_threads(threads);
    const std::vector<double> plain = operands.expected(false);
    const auto got = floats.as<float>();
    expect_near(std::vector<float>(got.begin(), got.end()), plain, 1e-5, "f32");
    const auto rounded_result = halves.as<BFloat16>();
    expect_near(std::vector<BFloat16>(rounded_result.begin(), rounded_result.end()), operands.expected(true), 1e-5,
                "bfloat16");
}

/// One thread computes everything if the scratch memory has room for one thread only.
TEST_P(Tiles, LessScratchMeansFewerThreads) {
    const Operands operands(GetParam(), {64, 96, 160});
    std::vector<BFloat16> y(at(64 * 160));
    std::vector<float> scratch(at(tile_scratch_floats(GetParam(), 1)));
    tile_product(GetParam(), operands.product, {operands.x.data()}, operands.panels.data(), nullptr, y.data(), scratch);
    EXPECT_TRUE(same_bits(y, operands.halves(false)));
}

std::vector<double> squares_of_blocks(const TileProduct& product, const std::vector<float>& y) {
    std::vector<double> squares(at(product.blocks()));
    for (std::int64_t i = 0; i < product.rows * product.columns; ++i) {
        const std::int64_t block = i / product.columns / 32 * (product.columns / 32) + i % product.columns / 32;
        squares[at(block)] += static_cast<double>(y[at(i)]) * static_cast<double>(y[at(i)]);
    }
    return squares;
}

TEST_P(Tiles, SquaresAreThoseOfTheStoredResult) {
    for (const TileProduct& product : {TileProduct{64, 96, 160}, {160, 288, 96}, {96, 1056, 64}}) {
        SCOPED_TRACE(text(product));
        const Operands operands(GetParam(), product);
        std::vector<float> scratch = scratch_for(GetParam());
        std::vector<float> y(at(product.rows * product.columns), 0.5F);
        std::vector<float> squares(at(product.blocks()), std::numeric_limits<float>::quiet_NaN());
        for (const bool adds : {false, true}) {
            tile_product(GetParam(), product, {operands.x.data()}, operands.panels.data(),
                         {y.data(), adds, squares.data()}, scratch);
            expect_near(squares, squares_of_blocks(product, y), 1e-5, adds ? "added" : "written");
        }
    }
}

TEST_P(Tiles, WhatIsNotFiniteStaysSo) {
    Operands operands(GetParam(), {32, 64, 32});
    operands.x[at(5 * 64 + 7)] = rounded<BFloat16>(std::numeric_limits<double>::quiet_NaN());
    operands.x[at(9 * 64 + 3)] = rounded<BFloat16>(std::numeric_limits<double>::infinity());
    const std::vector<BFloat16> y = operands.halves(true);
    for (std::int64_t column = 0; column < 32; ++column) {
        EXPECT_TRUE(std::isnan(to_float(y[at(5 * 32 + column)])));
        EXPECT_FALSE(std::isfinite(to_float(y[at(9 * 32 + column)])));
        EXPECT_TRUE(std::isfinite(to_float(y[at(8 * 32 + column)])));
    }
}

/// A copy whose last element is the last one of a page, before one that must not be read.
class GuardedFloats {
public:
    explicit GuardedFloats(const std::vector<float>& values) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t bytes = values.size() * sizeof(float);
        const std::size_t readable = (bytes + page - 1) / page * page;
        mapped_ = readable + page;
        memory_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory_ == MAP_FAILED) throw std::bad_alloc();
        auto* const first = static_cast<std::byte*>(memory_);
        if (mprotect(first + readable, page, PROT_NONE) != 0) throw std::bad_alloc();
        data_ = reinterpret_cast<float*>(first + readable - bytes);
        std::ranges::copy(values, data_);
    }
    GuardedFloats(const GuardedFloats&) = delete;
    GuardedFloats& operator=(const GuardedFloats&) = delete;
    ~GuardedFloats() { munmap(memory_, mapped_); }

    const float* data() const { return data_; }

private:
    void* memory_ = nullptr;
    std::size_t mapped_ = 0;
    float* data_ = nullptr;
};

class FloatTiles : public testing::Test {
protected:
    void SetUp() override {
        if (!has(TileUnit::multiply_adds)) GTEST_SKIP() << "this processor has no AVX-512";
    }
};

struct FloatOperands {
    explicit FloatOperands(const TileProduct& p)
        : product(p),
          x(random_values<float>(p.rows * p.inner, 1)),
          turned_x(turned(p.rows, p.inner, x)),
          w(random_values<float>(p.inner * p.columns, 2)),
          bias(random_values<float>(p.columns, 3)) {}

    std::vector<float> multiplied(bool is_turned, bool with_bias, bool adds) const {
        std::vector<float> y(at(product.rows * product.columns),
                             adds ? 100.0F : std::numeric_limits<float>::quiet_NaN());
        std::vector<float> scratch = scratch_for(TileUnit::multiply_adds);
        tile_product(product, {is_turned ? turned_x.data() : x.data(), is_turned}, w.data(),
                     with_bias ? bias.data() : nullptr, {y.data(), adds, nullptr}, scratch);
        return y;
    }

    TileProduct product;
    std::vector<float> x, turned_x, w, bias;
};

/// Slices whose copies are larger and smaller than the ones before; the rows of 1024 floats are a page apart.
const TileProduct kFloatProducts[] = {
    {32, 32, 32},   {64, 96, 160},  {160, 288, 96},   {32, 1024, 64}, {96, 1056, 64},    {320, 1056, 544},
    {1056, 64, 32}, {544, 768, 32}, {64, 2048, 1088}, {32, 32, 1120}, {288, 1024, 1056}, {1184, 160, 96},
};

TEST_F(FloatTiles, ProductsAreSumsOfProducts) {
    for (const TileProduct& product : kFloatProducts) {
        SCOPED_TRACE(text(product));
        const FloatOperands operands(product);
        const std::vector<double> plain = sums_of_products(product, operands.x, operands.w, {});
        const std::vector<double> biased = sums_of_products(product, operands.x, operands.w, operands.bias);
        const double slack = 2 * slack_of(product);  // twice as many sums are rounded as of pairs
        expect_near(operands.multiplied(false, false, false), plain, slack, "row-major");
        expect_near(operands.multiplied(false, true, false), biased, slack, "with bias");
        expect_near(operands.multiplied(true, false, false), plain, slack, "turned");
        expect_near(operands.multiplied(true, true, true), added_to(100, biased), slack, "added");
    }
}

/// More threads than blocks of rows or of columns, too.
TEST_F(FloatTiles, ProductsDoNotDependOnThreads) {
    for (const TileProduct& product :
         {TileProduct{160, 288, 96}, {320, 1056, 544}, {32, 32, 1120}, {64, 96, 32}, {32, 96, 64}}) {
        SCOPED_TRACE(text(product));
        const FloatOperands operands(product);
        expect_thread_independent([&] { return operands.multiplied(false, true, false); });
        expect_thread_independent([&] { return operands.multiplied(true, false, true); });
    }
}

TEST_F(FloatTiles, SquaresAreThoseOfTheStoredResult) {
    const FloatOperands operands({160, 288, 96});
    const TileProduct& product = operands.product;
    std::vector<float> scratch = scratch_for(TileUnit::multiply_adds);
    std::vector<float> y(at(product.rows * product.columns), 0.5F);
    std::vector<float> squares(at(product.blocks()), std::numeric_limits<float>::quiet_NaN());
    for (const bool adds : {false, true}) {
        tile_product(product, {operands.turned_x.data(), true}, operands.w.data(), nullptr,
                     {y.data(), adds, squares.data()}, scratch);
        expect_near(squares, squares_of_blocks(product, y), 1e-5, adds ? "added" : "written");
    }
}

/// Nothing past the end of an operand is read, although copies run ahead. Rows of 1024 floats are copied, too.
TEST_F(FloatTiles, OperandsAreReadToTheirEnds) {
    for (const TileProduct& product : {TileProduct{288, 544, 96}, {288, 1024, 96}}) {
        SCOPED_TRACE(text(product));
        const FloatOperands operands(product);
        const GuardedFloats w(operands.w);
        for (const bool is_turned : {false, true}) {
            const GuardedFloats x(is_turned ? operands.turned_x : operands.x);
            std::vector<float> y(at(product.rows * product.columns));
            std::vector<float> scratch = scratch_for(TileUnit::multiply_adds);
            tile_product(product, {x.data(), is_turned}, w.data(), nullptr, {y.data(), false, nullptr}, scratch);
            EXPECT_TRUE(same_bits(y, operands.multiplied(is_turned, false, false)));
        }
    }
}

template <typename From> void compare_turned_right(std::int64_t rows, std::int64_t columns) {
    const std::vector<From> m = random_values<From>(rows * columns, 4);
    std::vector<BFloat16> halves(m.size());
    for (std::size_t i = 0; i < m.size(); ++i)
        halves[i] = rounded<BFloat16>(widened(m[i]));
    const std::vector<BFloat16> want = right_panels({0, columns, rows}, turned(rows, columns, halves));
    expect_thread_independent([&] {
        std::vector<BFloat16> got(m.size());
        copy_to_right_panels(RightPanels<From>{rows, columns, m.data(), got.data()});
        EXPECT_TRUE(same_bits(got, want)) << rows << " x " << columns;
        return got;
    });
}

TEST_F(TilePanels, TurnedRightPanelsAreThoseOfTheTransposedMatrix) {
    for (const std::int64_t rows : {32, 96, 1024}) {
        for (const std::int64_t columns : {32, 160, 800}) {
            compare_turned_right<float>(rows, columns);
            compare_turned_right<BFloat16>(rows, columns);
        }
    }
}

TEST_F(TilePanels, BothRightPanelsAreThoseOfTheTwoCopies) {
    for (const std::int64_t rows : {32, 96, 1024}) {
        for (const std::int64_t columns : {32, 160, 800}) {
            SCOPED_TRACE(text({rows, 0, columns}));
            const std::vector<float> m = random_values<float>(rows * columns, 6);
            std::vector<BFloat16> panels(m.size()), turned_panels(m.size());
            copy_to_panels(Panels{rows, columns, rows, kTileBlock}, m.data(), panels.data());
            copy_to_right_panels(RightPanels<float>{rows, columns, m.data(), turned_panels.data()});
            std::vector<BFloat16> got(m.size()), got_turned(m.size());
            copy_to_right_panels(RightPanels<float>{rows, columns, m.data(), got_turned.data(), got.data()});
            EXPECT_TRUE(same_bits(got, panels));
            EXPECT_TRUE(same_bits(got_turned, turned_panels));
            std::vector<BFloat16> pieces(m.size()), turned_pieces(m.size());
            const RightPanels<float> by_blocks{rows, columns, m.data(), turned_pieces.data(), pieces.data()};
            copy_to_right_panels(by_blocks, {0, 0, rows, 32});
            copy_to_right_panels(by_blocks, {0, 32, 32, columns - 32});
            copy_to_right_panels(by_blocks, {32, 32, rows - 32, columns - 32});
            EXPECT_TRUE(same_bits(pieces, panels));
            EXPECT_TRUE(same_bits(turned_pieces, turned_panels));
        }
    }
}

TEST_F(TilePanels, TurnedLeftPanelsHoldBlocksOfColumns) {
    for (const std::int64_t rows : {32, 96, 1024}) {
        for (const std::int64_t columns : {32, 160, 800}) {
            const std::vector<BFloat16> m = random_values<BFloat16>(rows * columns, 5);
            std::vector<BFloat16> want(m.size());
            for (std::int64_t row = 0; row < rows; ++row) {
                for (std::int64_t column = 0; column < columns; ++column) {
                    const std::int64_t block = column / 32 * (rows / 32) + row / 32;
                    want[at((block * 32 + column % 32) * 32 + row % 32)] = m[at(row * columns + column)];
                }
            }
            std::vector<BFloat16> got(m.size());
            copy_to_turned_left_panels(rows, columns, m.data(), got.data());
            EXPECT_TRUE(same_bits(got, want)) << rows << " x " << columns;
        }
    }
}

}  // namespace
}  // namespace cnntrain::cpu
