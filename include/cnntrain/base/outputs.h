// The one rule for output files, applied before a command writes anything: a file that this program did not write is
// replaced only if the user gave the command's overwrite option; an input, a device, a pipe or a socket never.
#pragma once

#include <functional>
#include <string>
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

/// Throws Error(usage) if an output is a folder, a device, a pipe or a socket; an input or another output, also by
/// another name; or a file that may not be replaced.
void check_outputs(const FileSystem& files, const std::vector<Output>& outputs,
                   const std::vector<NamedPath>& inputs = {});

/// True if both paths lead to one file or folder, through links, "." and ".."; it need not exist.
bool same_place(const std::string& a, const std::string& b);

}  // namespace cnntrain
