#include "cnntrain/base/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain {
namespace {

constexpr std::align_val_t kAlignment{64};

/// The 16-bit patterns of bfloat16 and IEEE half.
struct SmallFloat {
    int exponent_bits;
    int mantissa_bits;
};
constexpr SmallFloat kBFloat16{8, 7};
constexpr SmallFloat kHalf{5, 10};

std::uint16_t encode(double value, SmallFloat format) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000u : 0u);
    const auto infinity = ((1u << format.exponent_bits) - 1u) << format.mantissa_bits;
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | (1u << (format.mantissa_bits - 1)));
    if (magnitude == 0) return sign;

    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    if (std::isinf(value) || std::ilogb(magnitude) > bias) return static_cast<std::uint16_t>(sign | infinity);
    const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
    // The magnitude in units of the last place; nearbyint rounds ties to even.
    const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
    // Adding (instead of or-ing) lets a carry out of the mantissa raise the exponent, up to infinity; a subnormal
    // has exponent field 0 and no hidden bit.
    const unsigned hidden = 1u << format.mantissa_bits;
    const unsigned field = static_cast<unsigned>(exponent + bias) << format.mantissa_bits;
    return static_cast<std::uint16_t>(sign | (units < hidden ? units : field + (units - hidden)));
}

double decode(std::uint16_t bits, SmallFloat format) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const int field = (bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
    const int fraction = bits & ((1 << format.mantissa_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (field == (1 << format.exponent_bits) - 1) {
        return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                             : sign * std::numeric_limits<double>::infinity();
    }
    const int significand = field == 0 ? fraction : fraction | (1 << format.mantissa_bits);
    return sign * std::ldexp(significand, std::max(field, 1) - bias - format.mantissa_bits);
}

template <typename T> T load_element(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <typename T> void store_element(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof(T));
}

template <typename T> T to_integer(double value) {
    if (std::isnan(value)) return 0;
    const double rounded = std::nearbyint(value);
    // The upper limit of i64 is not a double; comparing with >= keeps the conversion defined.
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(rounded);
}

double read_as_double(DType type, const std::byte* at) {
    switch (type) {
        case DType::f64:
            return load_element<double>(at);
        case DType::f32:
            return static_cast<double>(load_element<float>(at));
        case DType::bf16:
            return decode(load_element<std::uint16_t>(at), kBFloat16);
        case DType::f16:
            return decode(load_element<std::uint16_t>(at), kHalf);
        case DType::u8:
            return load_element<std::uint8_t>(at);
        case DType::i8:
            return load_element<std::int8_t>(at);
        case DType::i32:
            return load_element<std::int32_t>(at);
        case DType::i64:
            return static_cast<double>(load_element<std::int64_t>(at));
    }
    fail_check("a known DType", "unknown element type", __FILE__, __LINE__);
}

void write_from_double(DType type, std::byte* at, double value) {
    switch (type) {
        case DType::f64:
            return store_element(at, value);
        case DType::f32:
            return store_element(at, static_cast<float>(value));
        case DType::bf16:
            return store_element(at, encode(value, kBFloat16));
        case DType::f16:
            return store_element(at, encode(value, kHalf));
        case DType::u8:
            return store_element(at, to_integer<std::uint8_t>(value));
        case DType::i8:
            return store_element(at, to_integer<std::int8_t>(value));
        case DType::i32:
            return store_element(at, to_integer<std::int32_t>(value));
        case DType::i64:
            return store_element(at, to_integer<std::int64_t>(value));
    }
}

struct DTypeRow {
    DType type;
    std::string_view name;
    std::size_t bytes;
};
constexpr DTypeRow kDTypes[] = {
    {DType::f64, "f64", 8}, {DType::f32, "f32", 4}, {DType::bf16, "bf16", 2}, {DType::f16, "f16", 2},
    {DType::u8, "u8", 1},   {DType::i32, "i32", 4}, {DType::i64, "i64", 8},   {DType::i8, "i8", 1},
};

const DTypeRow& row(DType type) {
    const auto index = static_cast<std::size_t>(type);
    CNNTRAIN_CHECK(index < std::size(kDTypes), "unknown element type");
    return kDTypes[index];
}

}  // namespace

std::size_t size_bytes(DType type) {
    return row(type).bytes;
}

std::string_view name(DType type) {
    return row(type).name;
}

BFloat16 to_bfloat16(float value) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};  // quiet, so never infinity
    bits += 0x7fffu + ((bits >> 16) & 1u);
    return {static_cast<std::uint16_t>(bits >> 16)};
}

float to_float(BFloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

Half to_half(float value) {
    constexpr std::uint32_t kInfinity = 0x7f800000;
    constexpr std::uint32_t kTooLarge = 0x477ff000;  // halfway from the largest half to 2^16
    constexpr std::uint32_t kSmallestNormal = 0x38800000;
    constexpr std::uint32_t kBiasDifference = (127 - 15) << 23;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > kInfinity) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (magnitude >= kTooLarge) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
    if (magnitude < kSmallestNormal) {
        // Floats near 1/2 and subnormal halves have the same last place: this addition rounds.
        constexpr float kHalf = 0.5F;
        const float shifted = std::bit_cast<float>(magnitude) + kHalf;
        return {static_cast<std::uint16_t>(
            sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kHalf)))};
    }
    magnitude += 0xfffu + ((magnitude >> 13) & 1u);
    return {static_cast<std::uint16_t>(sign | ((magnitude - kBiasDifference) >> 13))};
}

float to_float(Half value) {
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
    const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
    const std::uint32_t fraction = value.bits & 0x3ffu;
    if (exponent == 0) {
        constexpr float kSmallest = 0x1p-24F;
        const float magnitude = static_cast<float>(fraction) * kSmallest;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    const std::uint32_t wide = exponent == 0x1fu ? 0xffu : exponent + (127 - 15);
    return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

double rounded_to(DType type, double value) {
    if (type == DType::f64) return value;
    std::byte element[sizeof(std::int64_t)];
    write_from_double(type, element, value);
    return read_as_double(type, element);
}

std::size_t TensorDesc::bytes() const {
    const auto size = static_cast<std::int64_t>(size_bytes(dtype));
    return static_cast<std::size_t>(checked_product(elements(), size, "a tensor"));
}

std::int64_t element_count(const Shape& shape) {
    std::optional<std::int64_t> count = 1;
    for (const std::int64_t extent : shape) {
        count = product(*count, extent);
        if (!count) fail_too_large("a tensor", "the number of elements of " + to_string(shape));
    }
    return *count;
}

std::string to_string(const Shape& shape) {
    return "[" + joined(shape, ", ", [](std::int64_t length) { return std::to_string(length); }) + "]";
}

std::string to_string(const TensorDesc& desc) {
    return std::string(name(desc.dtype)) + to_string(desc.shape);
}

HostTensor::HostTensor(TensorDesc desc) : desc_(std::move(desc)) {
    for (const std::int64_t extent : desc_.shape) {
        CNNTRAIN_CHECK(extent >= 0, "negative extent in " + to_string(desc_));
    }
    const std::size_t bytes = desc_.bytes();
    data_.reset(static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), kAlignment)));
    std::memset(data_.get(), 0, bytes);
}

HostTensor::HostTensor(const HostTensor& other) {
    *this = other;
}

HostTensor& HostTensor::operator=(const HostTensor& other) {
    if (this == &other) return *this;
    if (other.data_ == nullptr) {
        *this = HostTensor();
        return *this;
    }
    HostTensor copy(other.desc_);
    std::memcpy(copy.data_.get(), other.data_.get(), other.desc_.bytes());
    *this = std::move(copy);
    return *this;
}

void HostTensor::Free::operator()(std::byte* memory) const {
    ::operator delete[](memory, kAlignment);
}

void HostTensor::check_type(DType requested) const {
    CNNTRAIN_CHECK(requested == desc_.dtype,
                   "a view of " + std::string(name(requested)) + " was asked of a tensor " + to_string(desc_));
}

double HostTensor::at(std::int64_t index) const {
    CNNTRAIN_CHECK(index >= 0 && index < elements(),
                   "element " + std::to_string(index) + " of a tensor " + to_string(desc_));
    return read_as_double(desc_.dtype, data_.get() + static_cast<std::size_t>(index) * size_bytes(desc_.dtype));
}

void HostTensor::set(std::int64_t index, double value) {
    CNNTRAIN_CHECK(index >= 0 && index < elements(),
                   "element " + std::to_string(index) + " of a tensor " + to_string(desc_));
    write_from_double(desc_.dtype, data_.get() + static_cast<std::size_t>(index) * size_bytes(desc_.dtype), value);
}

HostTensor HostTensor::cast(DType type) const {
    if (type == desc_.dtype) return *this;
    HostTensor result({type, desc_.shape});
    // The pairs that whole models are converted between get plain loops.
    if (desc_.dtype == DType::f32 && type == DType::bf16) {
        std::ranges::transform(as<float>(), result.as<BFloat16>().begin(), to_bfloat16);
    } else if (desc_.dtype == DType::bf16 && type == DType::f32) {
        std::ranges::transform(as<BFloat16>(), result.as<float>().begin(), [](BFloat16 v) { return to_float(v); });
    } else if (desc_.dtype == DType::f32 && type == DType::f16) {
        std::ranges::transform(as<float>(), result.as<Half>().begin(), to_half);
    } else if (desc_.dtype == DType::f16 && type == DType::f32) {
        std::ranges::transform(as<Half>(), result.as<float>().begin(), [](Half v) { return to_float(v); });
    } else {
        for (std::int64_t i = 0; i < elements(); ++i)
            result.set(i, at(i));
    }
    return result;
}

HostTensor with_axes(const HostTensor& tensor, const std::vector<std::size_t>& order) {
    const Shape& from = tensor.shape();
    CNNTRAIN_CHECK(order.size() == from.size(), "an order of other axes than those of " + to_string(from));
    std::vector<std::size_t> steps(from.size(), 1);
    for (std::size_t i = from.size(); i-- > 1;)
        steps[i - 1] = steps[i] * static_cast<std::size_t>(from[i]);
    Shape shape;
    for (const std::size_t axis : order)
        shape.push_back(from[axis]);
    HostTensor result({tensor.dtype(), shape});
    const std::size_t width = size_bytes(tensor.dtype());
    const std::byte* source = tensor.bytes().data();
    std::byte* target = result.bytes().data();
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::int64_t i = 0, count = result.elements(); i < count; ++i) {
        std::size_t place = 0;
        for (std::size_t axis = 0; axis < order.size(); ++axis)
            place += static_cast<std::size_t>(index[axis]) * steps[order[axis]];
        std::copy_n(source + place * width, width, target + static_cast<std::size_t>(i) * width);
        for (std::size_t axis = order.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
    return result;
}

HostTensor reshaped(const HostTensor& tensor, const Shape& shape) {
    HostTensor result({tensor.dtype(), shape});
    CNNTRAIN_CHECK(result.elements() == tensor.elements(), to_string(tensor.shape()) + " as " + to_string(shape));
    std::ranges::copy(tensor.bytes(), result.bytes().begin());
    return result;
}

}  // namespace cnntrain
