// A tile of a matrix product that is summed in vector registers, for code that Highway compiles once per instruction
// set.
#if defined(CNNTRAIN_CPU_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_REGISTER_TILE_INL_H_
#undef CNNTRAIN_CPU_REGISTER_TILE_INL_H_
#else
#define CNNTRAIN_CPU_REGISTER_TILE_INL_H_
#endif

#include <cstdint>

#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

/// Rows and vectors of the largest tile. Its sums take most registers: 28 of 32 with AVX-512, 12 of 16 otherwise.
inline constexpr std::int64_t kTileRows = kWidth == 16 ? 14 : 6;
inline constexpr std::int64_t kTileVectors = 2;

/// Numbers of the rows of the left operand: number k of row r is at[r * row + k * next].
struct LeftRows {
    const float* at = nullptr;
    std::int64_t row = 0, next = 0;
};

/// Vectors of the columns of the right operand: vector v of row k begins at at[v] + k * next.
template <std::int64_t kVectors> struct RightColumns {
    const float* at[kVectors] = {};
    std::int64_t next = 0;
};

/// Sums of rows and of vectors of columns, which stay in registers: loops over them must be unrolled.
template <std::int64_t kRows, std::int64_t kVectors> struct RegisterTile {
    Floats sums[kRows][kVectors];

    /// Calls body(row, vector, sum).
    template <typename Body> HWY_INLINE void for_each(const Body& body) {
#pragma GCC unroll 16
        for (std::int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
            for (std::int64_t v = 0; v < kVectors; ++v)
                body(r, v, sums[r][v]);
        }
    }

    /// Adds the products of `count` numbers of each row with as many rows of columns.
    HWY_INLINE void add_products(std::int64_t count, const LeftRows& left, const RightColumns<kVectors>& right) {
        for (std::int64_t k = 0; k < count; ++k) {
            Floats columns[kVectors];
#pragma GCC unroll 4
            for (std::int64_t v = 0; v < kVectors; ++v)
                columns[v] = load(right.at[v] + k * right.next);
#pragma GCC unroll 16
            for (std::int64_t r = 0; r < kRows; ++r) {
                const Floats everywhere = hn::Set(FloatTag(), left.at[r * left.row + k * left.next]);
#pragma GCC unroll 4
                for (std::int64_t v = 0; v < kVectors; ++v)
                    sums[r][v] = hn::MulAdd(everywhere, columns[v], sums[r][v]);
            }
        }
    }
};

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
