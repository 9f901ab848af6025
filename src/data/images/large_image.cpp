#include "data/images/large_image.h"

#include <condition_variable>
#include <mutex>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "data/images/rgb_buffer.h"

namespace cnntrain::data {
namespace {

/// Of all threads.
struct Taken {
    std::mutex mutex;
    std::condition_variable given_back;
    std::uint64_t bytes = 0;
};

Taken& taken() {
    static Taken all;
    return all;
}

}  // namespace

LargeImage::LargeImage(ImageSize size, std::uint64_t bytes_per_pixel) {
    constexpr std::uint64_t kShareOfMemory = 2;                  // the network and other threads need some, too
    if (!size_problem(size.height, size.width).empty()) return;  // the decoder refuses it
    const std::uint64_t bytes = static_cast<std::uint64_t>(size.height * size.width) * bytes_per_pixel;
    if (bytes <= kMostPixelBytesKept) return;
    Taken& all = taken();
    std::unique_lock lock(all.mutex);
    for (;;) {
        const MemoryLeft left = memory_left();
        if (all.bytes + bytes <= left.bytes / kShareOfMemory) break;
        if (all.bytes == 0) {
            throw Error(ErrorKind::data, "the image claims " + std::to_string(size.width) + " x " +
                                             std::to_string(size.height) + " pixels, which take " + size_text(bytes) +
                                             " to decode, more than half of " + size_text(left.bytes) +
                                             " that the process has " + left.limit);
        }
        all.given_back.wait(lock);
    }
    all.bytes += bytes;
    bytes_ = bytes;
}

LargeImage::~LargeImage() {
    if (bytes_ == 0) return;
    Taken& all = taken();
    {
        const std::lock_guard lock(all.mutex);
        all.bytes -= bytes_;
    }
    all.given_back.notify_all();
}

}  // namespace cnntrain::data
