// libjpeg's memory, kept from image to image.
//
// libjpeg asks for a dozen blocks for every image and gives them back after it. Here they come from one arena that is
// emptied instead, so that decoding allocates nothing once the arena has grown to the largest image. Only the pool that
// lives as long as one image is replaced; what lives as long as the decoder stays with libjpeg.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <vector>
// After <cstdio>: libjpeg's header uses FILE and size_t without including them.
#include <jpeglib.h>

namespace cnntrain::data {

class JpegMemory {
public:
    JpegMemory();
    ~JpegMemory();
    JpegMemory(const JpegMemory&) = delete;
    JpegMemory& operator=(const JpegMemory&) = delete;

    /// Takes over the image pool of a decompressor that was just created; `info.client_data` then points here.
    void attach(jpeg_decompress_struct& info);

    std::size_t held_bytes() const;

private:
    struct Block {
        std::byte* bytes;
        std::size_t size;
    };
    struct Hooks;

    /// Null when memory is exhausted.
    void* allocate(std::size_t size);
    void reset();

    std::vector<Block> blocks_;
    std::size_t used_ = 0;  // of the last block
    jpeg_memory_mgr original_{};
    jvirt_sarray_ptr sample_arrays_ = nullptr;  // requested, in a list
    jvirt_barray_ptr block_arrays_ = nullptr;
};

}  // namespace cnntrain::data
