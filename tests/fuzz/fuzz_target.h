// One fuzz target per executable: a function that takes any bytes, and inputs to start from.
//
// Built with clang and CNNTRAIN_FUZZ=ON the executable is a libFuzzer program; otherwise driver.cpp runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// libFuzzer's entry. Errors of the kinds that a target names are the expected answer to bad bytes; anything else ends
/// the process.
extern "C" int LLVMFuzzerTestOneInput(  // NOLINT(readability-identifier-naming)
    const std::uint8_t* data, std::size_t size);

namespace cnntrain::fuzz {

/// Sound inputs, small, one for each shape of the format.
std::vector<std::string> seeds();

/// Words of the format, which a mutation puts in once or many times; none for formats of numbers.
std::vector<std::string> words();

}  // namespace cnntrain::fuzz
