#pragma once

#include <string>

namespace ipu_emulator {

struct Access;
struct TypeMaker;
enum class TypeId : unsigned char {
    boolean,
    character,
    signed_char,
    unsigned_char,
    short_integer,
    unsigned_short,
    half,
    integer,
    unsigned_integer,
    single,
    long_long,
    unsigned_long_long,
};

}  // namespace ipu_emulator

namespace poplar {

/// The element type of a tensor. Types of 8 bytes that no tile computes with have no name here.
class Type {
public:
    std::string toString() const;
    bool isFloatingPoint() const { return id_ == ipu_emulator::TypeId::half || id_ == ipu_emulator::TypeId::single; }

    friend constexpr bool operator==(Type, Type) = default;
    friend constexpr bool operator<(Type a, Type b) { return a.id_ < b.id_; }

private:
    friend struct ipu_emulator::Access;
    friend struct ipu_emulator::TypeMaker;
    constexpr explicit Type(ipu_emulator::TypeId id) : id_(id) {}

    ipu_emulator::TypeId id_;
};

}  // namespace poplar

namespace ipu_emulator {

/// Makes the constants below.
struct TypeMaker {
    static constexpr poplar::Type make(TypeId id) { return poplar::Type(id); }
};

}  // namespace ipu_emulator

namespace poplar {

inline constexpr Type BOOL = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::boolean);
inline constexpr Type CHAR = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::character);
inline constexpr Type SIGNED_CHAR = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::signed_char);
inline constexpr Type UNSIGNED_CHAR = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::unsigned_char);
inline constexpr Type SHORT = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::short_integer);
inline constexpr Type UNSIGNED_SHORT = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::unsigned_short);
inline constexpr Type HALF = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::half);
inline constexpr Type INT = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::integer);
inline constexpr Type UNSIGNED_INT = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::unsigned_integer);
inline constexpr Type FLOAT = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::single);
inline constexpr Type LONGLONG = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::long_long);
inline constexpr Type UNSIGNED_LONGLONG = ipu_emulator::TypeMaker::make(ipu_emulator::TypeId::unsigned_long_long);

/// The device's type for a type of the host.
template <class T> struct equivalent_device_type;
template <> struct equivalent_device_type<bool> { static constexpr Type value = BOOL; };
template <> struct equivalent_device_type<char> { static constexpr Type value = CHAR; };
template <> struct equivalent_device_type<signed char> { static constexpr Type value = SIGNED_CHAR; };
template <> struct equivalent_device_type<unsigned char> { static constexpr Type value = UNSIGNED_CHAR; };
template <> struct equivalent_device_type<short> { static constexpr Type value = SHORT; };
template <> struct equivalent_device_type<unsigned short> { static constexpr Type value = UNSIGNED_SHORT; };
template <> struct equivalent_device_type<int> { static constexpr Type value = INT; };
template <> struct equivalent_device_type<unsigned> { static constexpr Type value = UNSIGNED_INT; };
template <> struct equivalent_device_type<float> { static constexpr Type value = FLOAT; };
template <> struct equivalent_device_type<long long> { static constexpr Type value = LONGLONG; };
template <> struct equivalent_device_type<unsigned long long> { static constexpr Type value = UNSIGNED_LONGLONG; };

}  // namespace poplar
