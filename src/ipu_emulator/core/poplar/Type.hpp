#pragma once

#include <cstddef>
#include <string>

namespace poplar {

/// The element type of a tensor. Types of 8 bytes that no tile computes with have no name here.
class Type {
public:
    enum class Id : unsigned char {
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

    constexpr explicit Type(Id id) : id_(id) {}

    std::string toString() const;
    bool isFloatingPoint() const { return id_ == Id::half || id_ == Id::single; }
    constexpr Id id() const { return id_; }

    friend constexpr bool operator==(Type, Type) = default;
    friend constexpr bool operator<(Type a, Type b) { return a.id_ < b.id_; }

private:
    Id id_;
};

inline constexpr Type BOOL{Type::Id::boolean};
inline constexpr Type CHAR{Type::Id::character};
inline constexpr Type SIGNED_CHAR{Type::Id::signed_char};
inline constexpr Type UNSIGNED_CHAR{Type::Id::unsigned_char};
inline constexpr Type SHORT{Type::Id::short_integer};
inline constexpr Type UNSIGNED_SHORT{Type::Id::unsigned_short};
inline constexpr Type HALF{Type::Id::half};
inline constexpr Type INT{Type::Id::integer};
inline constexpr Type UNSIGNED_INT{Type::Id::unsigned_integer};
inline constexpr Type FLOAT{Type::Id::single};
inline constexpr Type LONGLONG{Type::Id::long_long};
inline constexpr Type UNSIGNED_LONGLONG{Type::Id::unsigned_long_long};

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
