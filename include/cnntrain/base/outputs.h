// The one rule for output files, applied before a command writes anything: a file that this program did not write, or
// that was changed since, is replaced only if the user gave the command's overwrite option; an input, a device, a pipe,
// a socket or a link that leads nowhere never.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain {

/// A path, and what the user knows it by: "--to" or "the vocabulary".
struct NamedPath {
    std::string name;
    std::string path;
};

/// A file that will be written as a whole.
struct Output : NamedPath {
    bool overwrite = false;             // the user gave `overwrite_option`
    std::string overwrite_option = {};  // that replaces files of others; empty: the command has none
    /// True for a file that this program wrote for the same purpose: it is replaced without an option. Empty: for none.
    std::function<bool(const FileSystem& files, const std::string& path)> is_own = {};
};

/// Throws Error(usage) if an output is a folder, a device, a pipe, a socket or a link that leads nowhere; an input or
/// another output, also by another name; or a file that may not be replaced.
void check_outputs(const FileSystem& files, const std::vector<Output>& outputs,
                   const std::vector<NamedPath>& inputs = {});

/// Size and checksum of a file that a program wrote, by which it recognises the file later.
struct FileContent {
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0;  // crc32c

    void add(std::span<const std::byte> more);
    bool operator==(const FileContent&) const = default;
};
FileContent content_of(std::string_view text);

/// True if `path` is a file with this content, byte for byte.
bool holds(const FileSystem& files, const std::string& path, const FileContent& content);

}  // namespace cnntrain
