#include "checkpoint/room.h"

#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"

namespace cnntrain::checkpoint {

void too_large(const std::string& path, const std::string& what, std::uint64_t bytes) {
    throw Error(ErrorKind::unsupported, "checkpoint '" + path + "': " + what + size_text(bytes) +
                                            " of memory, more than this machine has; use a larger one, or another "
                                            "checkpoint");
}

void require_room(const std::string& path, const std::string& what, std::uint64_t bytes) {
    if (bytes > machine_memory_bytes()) too_large(path, what, bytes);
    const MemoryLeft left = memory_left();
    if (bytes <= left.bytes) return;
    throw Error(ErrorKind::unsupported, "checkpoint '" + path + "': " + what + size_text(bytes) +
                                            " of memory, and the process has " + size_text(left.bytes) + " more " +
                                            left.limit + "; " + left.remedy);
}

}  // namespace cnntrain::checkpoint
