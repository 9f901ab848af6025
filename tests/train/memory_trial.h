// Commands of which one allocation fails. faulty_memory.cpp and memory_trial.cpp belong into an executable of their
// own.
#pragma once

#include <cstddef>
#include <string_view>

#include "train/disturbed.h"

namespace cnntrain::run::testing {

/// Larger blocks are buffers, tensors and files.
inline constexpr std::size_t kLargeBytes = std::size_t{64} << 10U;

/// These allocate in functions that are noexcept, so that an allocation that fails there ends the process: the folders
/// of libstdc++ 12, and JSON values, which need memory to be destroyed.
inline constexpr std::string_view kSpared[] = {"18directory_iterator", "8nlohmann"};

/// Every allocation of a large block fails in turn, with larger batches.
void try_large_blocks(const Subject& subject);
/// About `faults` of the others fail in turn, at equal distances.
void try_small_blocks(const Subject& subject, int faults);

}  // namespace cnntrain::run::testing
