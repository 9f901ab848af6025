// Views of variables' elements, as tensors hold them.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <poplar/Type.hpp>
#include <span>
#include <type_traits>
#include <vector>

#include "ipu_emulator/numerics/half.h"

namespace ipu_emulator {

// Elements of any type: how memory holds them, and how they are converted.

// Kinds of floats, distinguished by their bits: comparisons of NaN would be invalid operations.
constexpr std::uint32_t kInfinityBits = 0x7f800000;
inline std::uint32_t magnitude_bits(float x) {
    return std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
}

/// An element of HALF.
struct Half {
    std::uint16_t bits;
};
/// An element of BOOL: any byte that is not 0 is true.
struct Truth {
    std::uint8_t byte;
};

/// Calls f with an element of the type, as memory holds it.
template <class F> auto with_element(TypeId id, F f) {
    switch (id) {
        case TypeId::boolean:
            return f(Truth{});
        case TypeId::unsigned_char:
            return f(std::uint8_t{});
        case TypeId::short_integer:
            return f(std::int16_t{});
        case TypeId::unsigned_short:
            return f(std::uint16_t{});
        case TypeId::half:
            return f(Half{});
        case TypeId::integer:
            return f(std::int32_t{});
        case TypeId::unsigned_integer:
            return f(std::uint32_t{});
        case TypeId::single:
            return f(float{});
        case TypeId::long_long:
            return f(std::int64_t{});
        case TypeId::unsigned_long_long:
            return f(std::uint64_t{});
        case TypeId::character:
        case TypeId::signed_char:
            break;
    }
    return f(std::int8_t{});
}

/// Rounds towards zero. Beyond the range it gives the ends of the range; NaN gives 0.
template <class T> T to_integer(float x) {
    constexpr float kEnd = static_cast<float>(std::numeric_limits<T>::max() / 2 + 1) * 2;
    if (std::isnan(x)) return 0;
    if (x >= kEnd) return std::numeric_limits<T>::max();
    if (x <= static_cast<float>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(x);
}

/// `value` as a cast converts it: to half nearest-even, from floats by to_integer() of 32 bits at least; integers keep
/// their lower bits.
template <class To, class From> To converted(From value) {
    if constexpr (std::is_same_v<From, Half>) {
        return converted<To>(half_value(value.bits));
    } else if constexpr (std::is_same_v<From, Truth>) {
        return converted<To>(value.byte != 0 ? 1 : 0);
    } else if constexpr (std::is_same_v<To, Half>) {
        return {ieee_half(static_cast<float>(value))};
    } else if constexpr (std::is_same_v<To, Truth>) {
        return {value != From{} ? std::uint8_t{1} : std::uint8_t{0}};
    } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
        using Wide = std::conditional_t<sizeof(To) < 4, std::int32_t, To>;
        return static_cast<To>(to_integer<Wide>(value));
    } else {
        return static_cast<To>(value);
    }
}

/// `count` values of the type `from` (1: the same for all) as `elements` elements of the type `to`; to half they are
/// rounded to nearest-even.
std::vector<std::byte> converted(poplar::Type from, const void* values, std::size_t count, poplar::Type to,
                                 std::size_t elements);

/// The offset `steps` strides further on.
inline std::size_t moved(std::size_t offset, std::size_t steps, std::ptrdiff_t stride) {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(offset) + static_cast<std::ptrdiff_t>(steps) * stride);
}

/// `extent` elements, `stride` apart.
struct Loop {
    std::size_t extent = 1;
    std::ptrdiff_t stride = 0;

    friend bool operator==(const Loop&, const Loop&) = default;
};

/// Elements offset, offset + stride, ... of a variable.
struct Run {
    std::uint32_t variable = 0;
    std::size_t offset = 0;
    std::ptrdiff_t stride = 1;
    std::size_t count = 0;

    std::size_t at(std::size_t i) const { return moved(offset, i, stride); }
    friend bool operator==(const Run&, const Run&) = default;
};

/// Elements of a tensor in row-major order, in one of two forms. Strided: one variable; each dimension is a nest of
/// loops (outermost first), so that merged dimensions need no equal strides. Runs: a list in the order of the elements,
/// for concatenations and for what does not fit the first form.
class View {
public:
    View() = default;
    /// All elements of a variable.
    View(std::uint32_t variable, std::span<const std::size_t> shape);

    const std::vector<std::size_t>& shape() const { return shape_; }
    std::size_t elements() const;
    bool strided() const { return strided_; }

    // Arguments are checked by the caller.
    View slice(std::size_t begin, std::size_t end, std::size_t dim) const;
    View reshape(std::span<const std::size_t> shape) const;
    View shuffle(std::span<const unsigned> permutation) const;
    View broadcast(std::size_t times, std::size_t dim) const;
    View reverse(std::size_t dim) const;
    View subsample(std::size_t step, std::size_t dim) const;
    static View concat(std::span<const View> views, std::size_t dim);

    /// The runs in the order of the elements, as few as possible.
    std::vector<Run> runs() const;
    /// All loops of a strided view, outermost first, as few as possible.
    std::vector<Loop> loops() const;
    std::uint32_t variable() const { return variable_; }
    std::size_t offset() const { return offset_; }
    /// The stride of each dimension of a strided view; empty if a dimension has none.
    std::vector<std::ptrdiff_t> strides() const;

    /// The same shape in a new variable without gaps. The dimensions of a strided view keep the order of its memory;
    /// runs and broadcasts get the order of the elements.
    View dense(std::uint32_t variable) const;

    bool contiguous() const;
    bool has_aliases() const;

    /// The same elements in the same form.
    friend bool operator==(const View&, const View&) = default;

private:
    /// The places of elements in row-major order, as a strided view of the same shape.
    View places() const { return View(0, shape_); }
    /// The elements of a view of runs at these places.
    View taken(const View& places) const;
    View as_runs() const;

    std::vector<std::size_t> shape_;
    bool strided_ = true;
    std::uint32_t variable_ = 0;
    std::size_t offset_ = 0;
    std::vector<std::vector<Loop>> dims_;
    std::vector<Run> runs_;
};

}  // namespace ipu_emulator
