// A data set: samples by number, readable from many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cnntrain/data/field.h"

namespace cnntrain::data {

/// Where a sample stands in the training stream; with the seed it keys every random choice made for it.
struct SamplePosition {
    std::uint32_t epoch = 0;
    std::uint64_t index = 0;  // within the epoch
};

class JpegDecoder;
struct ImageExample;
struct ResizeScratch;

/// Where the time of the samples went.
struct StageSeconds {
    double read = 0;    // bytes of the record, checked
    double parse = 0;   // the record's parts
    double decode = 0;  // header, crop, pixels
    double resize = 0;  // and flip, conversion, store

    StageSeconds& operator+=(const StageSeconds& other) {
        read += other.read;
        parse += other.parse;
        decode += other.decode;
        resize += other.resize;
        return *this;
    }
};

/// One thread's buffers, kept from sample to sample so that they stop growing.
struct Workspace {
    Workspace();
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    std::uint64_t held_bytes() const;

    std::vector<std::byte> record;          // bytes as stored
    std::vector<std::uint8_t> pixels;       // RGB, decoded
    std::unique_ptr<ImageExample> example;  // never null, nor are the others
    std::unique_ptr<JpegDecoder> jpeg;
    std::unique_ptr<ResizeScratch> resize;
    StageSeconds seconds;
};

enum class SampleState : std::uint8_t {
    counted,
    undecodable,  // left out: its fields are such that it counts for nothing
};

class Dataset {
public:
    virtual ~Dataset() = default;
    virtual std::int64_t size() const = 0;
    /// Of one sample; always the same.
    virtual std::vector<Field> fields() const = 0;
    /// Writes the fields of sample `index` (0..size-1).
    /// Depends on its arguments only. Error(data) names file, record and what is wrong.
    virtual SampleState read(std::int64_t index, SamplePosition position, SampleView out,
                             Workspace& workspace) const = 0;
    /// Writes a sample that counts for nothing: it fills up the last batch of a pass.
    virtual void pad(SampleView out) const = 0;
    /// A hint that the sample is read soon.
    virtual void will_need(std::int64_t /*index*/) const noexcept {}
    /// Held for all readers together.
    virtual std::uint64_t memory_bytes() const { return 0; }
    /// Held in memory that other processes share.
    virtual std::uint64_t cache_bytes() const { return 0; }
    /// Samples met so far that were damaged and were replaced or left out.
    virtual std::int64_t damaged() const { return 0; }
};

}  // namespace cnntrain::data
