// Locks of the process's real file system.
#pragma once

#include <string>
#include <string_view>

#include "cnntrain/base/io.h"

namespace cnntrain {

/// FileSystem::try_lock(). The lock is on a byte far behind the text: on some network file systems nobody can read
/// bytes that another has locked. NFS (from version 4, and 3 with its lock service), SMB, CephFS and GPFS keep such
/// locks between hosts; Lustre with its mount option `flock`. A mount with `nolock` or `localflock` keeps them within
/// one host.
LockAttempt lock_posix_file(const std::string& path, std::string_view holder);

}  // namespace cnntrain
