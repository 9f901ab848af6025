// One process at a time writes into a folder, or a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"

namespace cnntrain {

/// The locked file. It stays in the folder, empty while no process holds the lock.
inline constexpr std::string_view kFolderLockName = ".cnntrain-lock";

/// Locks an existing folder for writing. Error(usage) when another process holds the lock, with its number, host, start
/// and command; `command_line` is shown to other processes in the same way.
std::unique_ptr<FileLock> lock_folder(FileSystem& files, const std::string& folder, std::string_view command_line);
/// Locks the file `path` for writing, by ".<its name>.cnntrain-lock" in the same folder.
std::unique_ptr<FileLock> lock_file(FileSystem& files, const std::string& path, std::string_view command_line);

}  // namespace cnntrain
