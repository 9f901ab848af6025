// Files in tar archives, read in place, by paths such as "photos.tar/cat/1.jpg".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::data {

struct TarMember {
    std::string name;         // a path inside the archive, without "./"
    std::uint64_t begin = 0;  // of the content, in bytes from the archive's begin
    std::uint64_t bytes = 0;
};

/// True for the name of an archive that may hold photos: .tar, or a compressed one, which tar_members() refuses.
bool is_named_as_tar(std::string_view path);

/// The regular files in an archive (POSIX.1-1988 ustar, POSIX.1-2001 pax, GNU and V7), in its order; of a name that
/// comes again, the last one. Links, devices and sparse files are skipped. Error(data) names the archive and the byte
/// of a damaged header, of a file that ends beyond the archive, or of a name that leads out of it.
std::vector<TarMember> tar_members(const InputFile& archive);

/// The same, sorted by name. The members of an archive are found once and kept for all threads; they are found again if
/// its size or time changed.
std::shared_ptr<const std::vector<TarMember>> kept_tar_members(const InputFile& archive);

/// Opens a file of the real file system, or a member of an archive there, by kept_tar_members(). Error(data) like
/// FileSystem::open().
std::unique_ptr<InputFile> open_in_tar(const std::string& path);

/// True for a file that open_in_tar() opens, and for a folder.
bool exists_in_tar(const std::string& path);

}  // namespace cnntrain::data
