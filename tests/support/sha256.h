// SHA-256 (FIPS 180-4), for comparing with digests that other programs have printed.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cnntrain {

/// The first 32 bits after the point of a root of the n-th prime: the standard's constants.
inline std::uint32_t root_bits(int n, long double (*root)(long double)) {
    int prime = 1;
    for (int count = 0; count <= n;) {
        ++prime;
        bool divided = false;
        for (int i = 2; i * i <= prime; ++i)
            divided = divided || prime % i == 0;
        count += divided ? 0 : 1;
    }
    const long double value = root(static_cast<long double>(prime));
    return static_cast<std::uint32_t>((value - std::floor(value)) * 4294967296.0L);
}

/// 64 hexadecimal digits.
inline std::string sha256(std::string text) {
    std::array<std::uint32_t, 64> k{};
    for (int i = 0; i < 64; ++i)
        k[static_cast<std::size_t>(i)] = root_bits(i, [](long double x) { return std::cbrt(x); });
    std::array<std::uint32_t, 8> hash{};
    for (int i = 0; i < 8; ++i)
        hash[static_cast<std::size_t>(i)] = root_bits(i, [](long double x) { return std::sqrt(x); });
    const std::uint64_t bits = text.size() * 8;
    text += '\x80';
    text.resize((text.size() + 8 + 63) / 64 * 64 - 8, '\0');
    for (int shift = 56; shift >= 0; shift -= 8)
        text += static_cast<char>(bits >> shift);
    for (std::size_t block = 0; block < text.size(); block += 64) {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t i = 0; i < 64; ++i)
            w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(text[block + i]);
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
            const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        auto [a, b, c, d, e, f, g, h] = hash;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
            const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k[i] + w[i];
            const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
            const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        const std::array<std::uint32_t, 8> round = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i)
            hash[i] += round[i];
    }
    std::string hex;
    for (const std::uint32_t word : hash) {
        std::array<char, 9> digits{};
        std::snprintf(digits.data(), digits.size(), "%08x", word);
        hex += digits.data();
    }
    return hex;
}

}  // namespace cnntrain
