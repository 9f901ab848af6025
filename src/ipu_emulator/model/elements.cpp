#include "ipu_emulator/model/elements.h"

#include <cstdint>
#include <cstring>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/access.h"
#include "ipu_emulator/numerics/half.h"

namespace ipu_emulator {
namespace {

using Id = TypeId;

template <class T> T read(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class T> void write(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

/// Calls f with a value of the C++ type of `id`, or of a half's bits as float.
template <class F> void with_value(Id id, const std::byte* at, F f) {
    switch (id) {
        case Id::boolean:
            return f(read<std::uint8_t>(at) != 0);
        case Id::character:
        case Id::signed_char:
            return f(read<std::int8_t>(at));
        case Id::unsigned_char:
            return f(read<std::uint8_t>(at));
        case Id::short_integer:
            return f(read<std::int16_t>(at));
        case Id::unsigned_short:
            return f(read<std::uint16_t>(at));
        case Id::half:
            return f(half_value(read<std::uint16_t>(at)));
        case Id::integer:
            return f(read<std::int32_t>(at));
        case Id::unsigned_integer:
            return f(read<std::uint32_t>(at));
        case Id::single:
            return f(read<float>(at));
        case Id::long_long:
            return f(read<std::int64_t>(at));
        case Id::unsigned_long_long:
            return f(read<std::uint64_t>(at));
    }
}

template <class T> void store(Id id, std::byte* at, T value) {
    switch (id) {
        case Id::boolean:
            return write(at, static_cast<std::uint8_t>(value != T{}));
        case Id::character:
        case Id::signed_char:
            return write(at, static_cast<std::int8_t>(value));
        case Id::unsigned_char:
            return write(at, static_cast<std::uint8_t>(value));
        case Id::short_integer:
            return write(at, static_cast<std::int16_t>(value));
        case Id::unsigned_short:
            return write(at, static_cast<std::uint16_t>(value));
        case Id::half:
            return write(at, ieee_half(static_cast<float>(value)));
        case Id::integer:
            return write(at, static_cast<std::int32_t>(value));
        case Id::unsigned_integer:
            return write(at, static_cast<std::uint32_t>(value));
        case Id::single:
            return write(at, static_cast<float>(value));
        case Id::long_long:
            return write(at, static_cast<std::int64_t>(value));
        case Id::unsigned_long_long:
            return write(at, static_cast<std::uint64_t>(value));
    }
}

std::size_t size_of(Id id) {
    constexpr std::size_t kSizes[] = {1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8};
    return kSizes[static_cast<std::size_t>(id)];
}

}  // namespace

std::vector<std::byte> converted(poplar::Type from, const void* values, std::size_t count, poplar::Type to,
                                 std::size_t elements) {
    std::vector<std::byte> result(elements * size_of(Access::id(to)));
    const auto* source = static_cast<const std::byte*>(values);
    const std::size_t step = count == 1 ? 0 : size_of(Access::id(from));
    for (std::size_t i = 0; i < elements; ++i) {
        std::byte* at = result.data() + i * size_of(Access::id(to));
        with_value(Access::id(from), source + i * step, [&](auto value) { store(Access::id(to), at, value); });
    }
    return result;
}

}  // namespace ipu_emulator
