// Memory for libjpeg, reused for all images.
//
// libjpeg allocates about a dozen blocks per image and frees them afterwards. Here they come from an arena that is
// reset after each image, so that decoding makes no allocation once the arena fits the largest image. Only the pool
// with the lifetime of one image is replaced; libjpeg keeps the pool with the lifetime of the decoder.
#pragma once

#include <cstddef>
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

    /// Replaces the image pool of a newly created decompressor; `info.client_data` then points to this object.
    void attach(jpeg_decompress_struct& info);

    std::size_t held_bytes() const;

private:
    struct Block {
        std::byte* bytes;
        std::size_t size;
    };
    struct Hooks;

    /// Null if memory is exhausted.
    void* allocate(std::size_t size);
    void reset();

    std::vector<Block> blocks_;
    std::size_t used_ = 0;  // in the last block
    jpeg_memory_mgr original_{};
    jvirt_sarray_ptr sample_arrays_ = nullptr;  // requested arrays, as a list
    jvirt_barray_ptr block_arrays_ = nullptr;
};

}  // namespace cnntrain::data
