// Vectors of float in float or bfloat16 memory, for code that Highway compiles once per instruction set.
//
// Tails never read or write beyond their elements. bfloat16 is rounded with integer arithmetic on all machines: the
// native conversion instruction flushes denormals, and not every processor with AVX-512 has it.
#if defined(CNNTRAIN_CPU_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_VECTOR_INL_H_
#undef CNNTRAIN_CPU_VECTOR_INL_H_
#else
#define CNNTRAIN_CPU_VECTOR_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "cnntrain/base/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;
using SignedTag = hn::RebindToSigned<FloatTag>;
using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;
using ByteTag = hn::Rebind<std::uint8_t, FloatTag>;
using Floats = hn::Vec<FloatTag>;
using Bits = hn::Vec<BitsTag>;
using SignedInts = hn::Vec<SignedTag>;

inline constexpr std::int64_t kWidth = hn::MaxLanes(FloatTag());

HWY_INLINE Floats load(const float* from) {
    return hn::LoadU(FloatTag(), from);
}

#if HWY_TARGET <= HWY_AVX3

/// Moves each half to the upper half of a float, with one shuffle.
HWY_INLINE Floats widened(hn::Vec<HalfTag> halves) {
    alignas(64) static constexpr std::uint16_t kFrom[32] = {0, 0, 0, 1, 0, 2,  0, 3,  0, 4,  0, 5,  0, 6,  0, 7,
                                                            0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
    constexpr __mmask32 kUpper = 0xaaaaaaaa;
    return Floats{_mm512_castsi512_ps(
        _mm512_maskz_permutexvar_epi16(kUpper, _mm512_load_si512(kFrom), _mm512_castsi256_si512(halves.raw)))};
}

/// The upper halves, with one shuffle.
HWY_INLINE hn::Vec<HalfTag> upper_halves(Bits bits) {
    alignas(64) static constexpr std::uint16_t kFrom[32] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    return hn::Vec<HalfTag>{_mm512_castsi512_si256(_mm512_permutexvar_epi16(_mm512_load_si512(kFrom), bits.raw))};
}

/// Returns `rounded`, except where the value is NaN: there, that NaN made quiet.
HWY_INLINE Bits quiet_nan_or(Floats value, Bits rounded) {
    // Four bits per class of numbers: both kinds of NaN become quiet (2), all other values keep `rounded` (0).
    const __m512i responses = _mm512_set1_epi32(0x22);
    return Bits{_mm512_castps_si512(_mm512_fixupimm_ps(_mm512_castsi512_ps(rounded.raw), value.raw, responses, 0))};
}

/// The number to add before the lower halves are dropped: one half, or slightly less where the upper half is even.
HWY_INLINE Bits half_to_even(Bits bits) {
    const BitsTag du;
    return hn::IfThenElse(hn::TestBit(bits, hn::Set(du, 0x10000u)), hn::Set(du, 0x8000u), hn::Set(du, 0x7fffu));
}

#else

HWY_INLINE Floats widened(hn::Vec<HalfTag> halves) {
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), halves)));
}

HWY_INLINE hn::Vec<HalfTag> upper_halves(Bits bits) {
    return hn::DemoteTo(HalfTag(), hn::BitCast(SignedTag(), hn::ShiftRight<16>(bits)));
}

HWY_INLINE Bits quiet_nan_or(Floats value, Bits rounded) {
    const BitsTag du;
    const auto quiet = hn::Or(hn::BitCast(du, value), hn::Set(du, 0x00400000u));
    return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
}

HWY_INLINE Bits half_to_even(Bits bits) {
    const BitsTag du;
    return hn::Add(hn::Set(du, 0x7fffu), hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u)));
}

#endif

HWY_INLINE Floats load(const BFloat16* from) {
    return widened(hn::LoadU(HalfTag(), reinterpret_cast<const std::uint16_t*>(from)));
}

HWY_INLINE Floats load(const std::uint8_t* from) {
    return hn::ConvertTo(FloatTag(), hn::PromoteTo(SignedTag(), hn::LoadU(ByteTag(), from)));
}

/// Stores the upper halves of values that are already rounded.
HWY_INLINE void store_upper_halves(Bits bits, BFloat16* to) {
    hn::StoreU(upper_halves(bits), HalfTag(), reinterpret_cast<std::uint16_t*>(to));
}

HWY_INLINE void store(Floats value, float* to) {
    hn::StoreU(value, FloatTag(), to);
}

/// The nearest bfloat16 in the upper half, ties to even.
HWY_INLINE Bits rounded_bits(Floats value) {
    const BitsTag du;
    const auto bits = hn::BitCast(du, value);
    return quiet_nan_or(value, hn::Add(bits, half_to_even(bits)));
}

HWY_INLINE void store(Floats value, BFloat16* to) {
    store_upper_halves(rounded_bits(value), to);
}

/// Bypasses the caches; `to` must be aligned to the vector. Callers must finish with hwy::FlushStream().
HWY_INLINE void store_past_cache(Floats value, float* to) {
    hn::Stream(value, FloatTag(), to);
}

HWY_INLINE void store_past_cache(Floats value, BFloat16* to) {
    hn::Stream(upper_halves(rounded_bits(value)), HalfTag(), reinterpret_cast<std::uint16_t*>(to));
}

/// A whole vector, or its first `count` elements: `load_from` fills up with zeros, `store_to` leaves the other elements
/// of memory unchanged.
struct Whole {
    static constexpr std::int64_t count = kWidth;  // NOLINT(readability-identifier-naming): as Part::count
    template <typename T> HWY_INLINE Floats load_from(const T* from) const { return load(from); }
    template <typename T> HWY_INLINE void store_to(Floats value, T* to) const { store(value, to); }
    template <typename T> HWY_INLINE void store_past_cache_to(Floats value, T* to) const {
        store_past_cache(value, to);
    }
};

#if HWY_TARGET <= HWY_AVX3

struct Part {
    std::int64_t count = 0;

    /// A mask with which loads and stores access no other elements.
    template <typename D> HWY_INLINE auto first(D d) const { return hn::FirstN(d, static_cast<std::size_t>(count)); }

    HWY_INLINE Floats load_from(const float* from) const { return hn::MaskedLoad(first(FloatTag()), FloatTag(), from); }
    HWY_INLINE Floats load_from(const BFloat16* from) const {
        const HalfTag d;
        return widened(hn::MaskedLoad(first(d), d, reinterpret_cast<const std::uint16_t*>(from)));
    }
    HWY_INLINE Floats load_from(const std::uint8_t* from) const {
        const ByteTag d;
        return hn::ConvertTo(FloatTag(), hn::PromoteTo(SignedTag(), hn::MaskedLoad(first(d), d, from)));
    }
    HWY_INLINE void store_to(Floats value, float* to) const {
        hn::BlendedStore(value, first(FloatTag()), FloatTag(), to);
    }
    HWY_INLINE void store_to(Floats value, BFloat16* to) const {
        const HalfTag d;
        hn::BlendedStore(upper_halves(rounded_bits(value)), first(d), d, reinterpret_cast<std::uint16_t*>(to));
    }
    template <typename T> HWY_INLINE void store_past_cache_to(Floats value, T* to) const { store_to(value, to); }
};

#else

struct Part {
    std::int64_t count = 0;

    template <typename T> HWY_INLINE Floats load_from(const T* from) const {
        T buffer[kWidth] = {};
        for (std::int64_t i = 0; i < count; ++i)
            buffer[i] = from[i];
        return load(buffer);
    }
    template <typename T> HWY_INLINE void store_to(Floats value, T* to) const {
        T buffer[kWidth];
        store(value, buffer);
        for (std::int64_t i = 0; i < count; ++i)
            to[i] = buffer[i];
    }
    template <typename T> HWY_INLINE void store_past_cache_to(Floats value, T* to) const { store_to(value, to); }
};

#endif

/// Limits numbers to those of the byte.
template <typename Byte> HWY_INLINE void store_bytes(Whole /*extent*/, SignedInts numbers, Byte* to) {
    const hn::Rebind<Byte, FloatTag> d;
    hn::StoreU(hn::DemoteTo(d, numbers), d, to);
}
template <typename Byte> HWY_INLINE void store_bytes(Part extent, SignedInts numbers, Byte* to) {
    Byte buffer[kWidth];
    store_bytes(Whole{}, numbers, buffer);
    for (std::int64_t i = 0; i < extent.count; ++i)
        to[i] = buffer[i];
}

/// Calls body(extent, offset) for vectors covering 0..count; extent is Whole or Part.
template <typename Body> HWY_INLINE void for_vectors(std::int64_t count, const Body& body) {
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        body(Whole{}, i);
    if (i < count) body(Part{count - i}, i);
}

/// Prefetch distance for memory that is read once, in order. Prefetching makes GELU of 25 MB take a third less time
/// (two cores of a Xeon with AMX, in a virtual machine).
inline constexpr std::int64_t kPrefetchBytes = 2048;

/// load_from() for memory that is read once, in order. Prefetching beyond its end is harmless.
template <typename Extent, typename T> HWY_INLINE Floats load_ahead(const Extent& extent, const T* from) {
    hwy::Prefetch(from + kPrefetchBytes / static_cast<std::int64_t>(sizeof(T)));
    return extent.load_from(from);
}

/// random_word (base/rng.h) of each index.
HWY_INLINE Bits random_words(Bits index, std::uint32_t first, std::uint32_t second) {
    const BitsTag du;
    auto x = hn::Xor(index, hn::Set(du, first));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, 0x7feb352du));
    x = hn::Add(x, hn::Set(du, second));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(du, 0x846ca68bu));
    return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// NaN stays NaN.
HWY_INLINE Floats positive_part(Floats value) {
    return hn::IfThenZeroElse(hn::Lt(value, hn::Zero(FloatTag())), value);
}

HWY_INLINE Floats where_positive(Floats condition, Floats value) {
    return hn::IfThenElseZero(hn::Gt(condition, hn::Zero(FloatTag())), value);
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
