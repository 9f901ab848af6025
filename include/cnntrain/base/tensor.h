// Element types, shapes and host tensors: plain row-major memory, no arithmetic.
//
// Axis letters used in every header: N samples, H height, W width, C channels, K kernel side,
// I input channels, O output channels, G groups. Activations are logically NHWC and kernels HWIO
// (I is per group); how a backend lays them out in memory is its own affair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain {

enum class DType : std::uint8_t { f64, f32, bf16, f16, u8, i32, i64, i8 };

std::size_t size_bytes(DType type);
constexpr bool is_float(DType type) {
    return type == DType::f64 || type == DType::f32 || type == DType::bf16 || type == DType::f16;
}
std::string_view name(DType type);  // "f32", "bf16", ...

/// bfloat16 storage: the upper half of an IEEE binary32.
struct BFloat16 {
    std::uint16_t bits = 0;
};
/// Round to nearest, ties to even; NaN stays NaN.
BFloat16 to_bfloat16(float value);
float to_float(BFloat16 value);

using Shape = std::vector<std::int64_t>;

/// 1 for a scalar (empty shape). Error(usage) when 64 bits cannot hold it.
std::int64_t element_count(const Shape& shape);
std::string to_string(const Shape& shape);  // "[32, 224, 224, 3]"

struct TensorDesc {
    DType dtype = DType::f32;
    Shape shape;

    std::int64_t elements() const { return element_count(shape); }
    std::size_t bytes() const;  // Error(usage) when 64 bits cannot hold it
    bool operator==(const TensorDesc&) const = default;
};

std::string to_string(const TensorDesc& desc);  // "f32[32, 10]"

// NOLINTBEGIN(readability-identifier-naming): named as type traits are.
template <typename T> struct DTypeOf;
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<BFloat16> { static constexpr DType value = DType::bf16; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::i8; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
// NOLINTEND(readability-identifier-naming)

/// Owning, 64-byte aligned, zero-initialised, row-major. Copies are deep.
class HostTensor {
public:
    HostTensor() = default;
    explicit HostTensor(TensorDesc desc);
    HostTensor(const HostTensor& other);
    HostTensor& operator=(const HostTensor& other);
    HostTensor(HostTensor&&) noexcept = default;
    HostTensor& operator=(HostTensor&&) noexcept = default;

    template <typename T> static HostTensor of(Shape shape, std::initializer_list<T> values);

    const TensorDesc& desc() const { return desc_; }
    const Shape& shape() const { return desc_.shape; }
    DType dtype() const { return desc_.dtype; }
    std::int64_t elements() const { return desc_.elements(); }

    std::span<std::byte> bytes() { return {data_.get(), desc_.bytes()}; }
    std::span<const std::byte> bytes() const { return {data_.get(), desc_.bytes()}; }

    /// Typed view; throws Error(internal) when T is not the element type.
    template <typename T> std::span<T> as();
    template <typename T> std::span<const T> as() const;

    /// Any element converted to double / from double (rounded to nearest).
    double at(std::int64_t index) const;
    void set(std::int64_t index, double value);

    /// The same values in another element type (rounded to nearest, even).
    HostTensor cast(DType type) const;

private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    void check_type(DType requested) const;

    TensorDesc desc_;
    std::unique_ptr<std::byte[], Free> data_;
};

template <typename T> std::span<T> HostTensor::as() {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(elements())};
}

template <typename T> std::span<const T> HostTensor::as() const {
    check_type(DTypeOf<T>::value);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(elements())};
}

template <typename T> HostTensor HostTensor::of(Shape shape, std::initializer_list<T> values) {
    HostTensor tensor(TensorDesc{DTypeOf<T>::value, std::move(shape)});
    auto out = tensor.as<T>();
    std::size_t i = 0;
    for (const T& value : values) {
        if (i < out.size()) out[i++] = value;
    }
    return tensor;
}

// IEEE binary16, the element type f16, and rounding to any element type.

/// IEEE binary16 storage.
struct Half {
    std::uint16_t bits = 0;
};
/// Round to nearest, ties to even; NaN stays NaN.
Half to_half(float value);
float to_float(Half value);

/// The nearest value that this type can hold, as HostTensor::set() stores it.
double rounded_to(DType type, double value);

// NOLINTNEXTLINE(readability-identifier-naming): named as type traits are.
template <> struct DTypeOf<Half> { static constexpr DType value = DType::f16; };

// Tensors with their axes in another order, and with other shapes of the same elements.

/// Axis i of the result is axis order[i] of the tensor; `order` has each axis once.
HostTensor with_axes(const HostTensor& tensor, const std::vector<std::size_t>& order);

/// The same elements in row-major order; `shape` has as many.
HostTensor reshaped(const HostTensor& tensor, const Shape& shape);

}  // namespace cnntrain
