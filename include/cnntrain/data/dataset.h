// A data set: samples by number, readable from many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

/// Where a sample stands in the training stream; with the seed it keys every random choice made for it.
struct SamplePosition {
    std::uint32_t epoch = 0;
    std::uint64_t index = 0;  // within the epoch
};

class JpegDecoder;
struct ResizeScratch;

/// One thread's buffers, kept from sample to sample so that they stop growing.
struct Workspace {
    Workspace();
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    std::vector<std::byte> record;          // bytes as stored
    std::vector<std::uint8_t> pixels;       // RGB, decoded
    std::unique_ptr<JpegDecoder> jpeg;      // never null
    std::unique_ptr<ResizeScratch> resize;  // never null
};

class Dataset {
public:
    virtual ~Dataset() = default;
    virtual std::int64_t size() const = 0;
    virtual TensorDesc image_desc() const = 0;  // one sample: [H, W, C]
    /// Writes the image of sample `index` (0..size-1) to `image` (image_desc().bytes() bytes) and returns its label.
    /// Depends on its arguments only. Error(data) names file, record and what is wrong.
    virtual std::int32_t read(std::int64_t index, SamplePosition position, std::span<std::byte> image,
                              Workspace& workspace) const = 0;
};

}  // namespace cnntrain::data
