// Reads a file of another program's weights whole; Error(data), Error(unsupported) and Error(usage) are what bad bytes
// deserve.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {

/// Reads a file of tests/golden/foreign.
inline std::string golden_weights(const std::string& name) {
    std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/foreign/" + name, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.empty()) std::abort();
    return text;
}

/// Returns how many tensors were read.
inline std::size_t read_weights(const FileSystem& files, const std::string& path) {
    log::set_level(log::Level::error);
    constexpr std::uint64_t kMostShared = 16;  // see open_foreign()
    std::size_t count = 0;
    const auto read_all = [&] {
        weights::content(files, path);
        if (!weights::foreign_format(files, path)) return;
        const weights::Checkpoint read = weights::load_foreign(files, path);
        std::uint64_t bytes = 0;
        for (const auto& [name, tensor] : read.tensors)
            bytes += tensor.bytes().size();
        std::uint64_t stored = 0;
        for (const std::string& name : files.list("."))
            stored += files.open("./" + name)->size_bytes();
        if (bytes / kMostShared > stored) std::abort();
        count = read.tensors.size();
    };
    accepted(read_all, {ErrorKind::data, ErrorKind::unsupported, ErrorKind::usage});
    return count;
}

}  // namespace cnntrain::fuzz
