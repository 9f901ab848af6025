// One fuzz target per executable: a function that takes any bytes, and inputs to start from.
//
// Built with clang and CNNTRAIN_FUZZ=ON the executable is a libFuzzer program; otherwise driver.cpp runs it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"

/// libFuzzer's entry. Errors of the kinds that a target names are the expected answer to bad bytes; anything else ends
/// the process.
extern "C" int LLVMFuzzerTestOneInput(  // NOLINT(readability-identifier-naming)
    const std::uint8_t* data, std::size_t size);

namespace cnntrain::fuzz {

/// Sound inputs, small, one for each shape of the format.
std::vector<std::string> seeds();

/// Words of the format, which a mutation puts in once or many times; none for formats of numbers.
std::vector<std::string> words();

inline void require(bool holds) {
    if (!holds) std::abort();
}

/// False if `action` ends with an Error of one of these kinds, the answer that bad bytes deserve.
template <typename Action> bool accepted(Action action, std::initializer_list<ErrorKind> expected = {ErrorKind::data}) {
    try {
        action();
        return true;
    } catch (const Error& error) {
        require(std::ranges::find(expected, error.kind()) != expected.end());
        return false;
    }
}

}  // namespace cnntrain::fuzz
