// One process at a time writes into a folder, or a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"

namespace cnntrain {

/// The file that is locked: it stays in the folder, empty while nobody writes there.
inline constexpr std::string_view kFolderLockName = ".cnntrain-lock";

/// The right to write into an existing folder. Error(usage) when another process has it, with that one's number, host,
/// start and command; `command_line` is what others are told about this one.
std::unique_ptr<FileLock> lock_folder(FileSystem& files, const std::string& folder, std::string_view command_line);
/// Likewise to make the file `path`; what is locked is ".<its name>.cnntrain-lock" beside it.
std::unique_ptr<FileLock> lock_file(FileSystem& files, const std::string& path, std::string_view command_line);

}  // namespace cnntrain
