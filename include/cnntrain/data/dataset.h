// A data set: samples by number, readable from several threads at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"

namespace cnntrain::data {

// Identifies data, so that a resumed run can check them. Large data sets are not read for this.

/// A file, or a folder of many.
struct OriginPart {
    std::string name;            // below the folder of the data, so that data may be moved
    std::uint64_t bytes = 0;     // for a folder of many files: total of some of them
    std::int64_t samples = 0;    // total number in it
    std::uint32_t checksum = 0;  // crc32c of all bytes if they are read anyway, otherwise of lengths or names

    bool operator==(const OriginPart&) const = default;
};

struct Origin {
    std::int64_t samples = 0;            // number of used samples
    std::string recipe = {};             // how samples are generated; empty for files
    std::vector<OriginPart> parts = {};  // in the order of the samples

    bool operator==(const Origin&) const = default;
};

/// The paths relative to the folder that contains all of them.
std::vector<std::string> names_below_common_folder(const std::vector<std::string>& paths);

/// Describes a file that is small enough to be read as a whole.
OriginPart part_of_file(const FileSystem& files, const std::string& path, std::int64_t samples);

/// The position of a sample in the training stream. Together with the seed, it keys every random choice for the sample.
struct SamplePosition {
    std::uint32_t epoch = 0;
    std::uint64_t index = 0;  // within the epoch
};

class JpegDecoder;
struct ImageExample;
struct AntialiasScratch;
struct ResizeScratch;

/// Time spent in each stage of making samples.
struct StageSeconds {
    double read = 0;     // reading and checking the record's bytes
    double parse = 0;    // splitting the record into its parts
    double decode = 0;   // decoding the image: header, crop, pixels
    double resize = 0;   // resizing, with mirroring, conversion and storing
    double augment = 0;  // further changes of training images

    struct Stage {
        const char* name;
        double StageSeconds::*seconds;
    };
    static constexpr std::array<Stage, 5> kAll = {{{"read", &StageSeconds::read},
                                                   {"parse", &StageSeconds::parse},
                                                   {"decode", &StageSeconds::decode},
                                                   {"resize", &StageSeconds::resize},
                                                   {"augment", &StageSeconds::augment}}};

    double total() const { return read + parse + decode + resize + augment; }
    StageSeconds& operator+=(const StageSeconds& other) {
        for (const Stage& stage : kAll)
            this->*stage.seconds += other.*stage.seconds;
        return *this;
    }
    StageSeconds& operator-=(const StageSeconds& other) {
        for (const Stage& stage : kAll)
            this->*stage.seconds -= other.*stage.seconds;
        return *this;
    }
};

/// One thread's buffers, reused for all its samples so that they stop growing.
struct Workspace {
    Workspace();
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    std::uint64_t held_bytes() const;

    std::vector<std::byte> record;          // the record's bytes as stored
    std::vector<std::uint8_t> pixels;       // decoded RGB pixels
    std::vector<std::uint8_t> turned;       // the same of an image that was stored turned
    std::unique_ptr<ImageExample> example;  // never null; neither are the other pointers
    std::unique_ptr<JpegDecoder> jpeg;
    std::unique_ptr<ResizeScratch> resize;
    std::unique_ptr<AntialiasScratch> antialias;
    std::vector<std::uint8_t> levels;   // an image in 8 bits, before it is stored
    std::vector<std::uint8_t> scratch;  // of operations on `levels`
    StageSeconds seconds;
    std::int64_t stored_pixels = 0;  // of the image files that were opened
};

/// The number of the padding sample, which fills the last batch of a sweep over the data.
inline constexpr std::int64_t kPaddingSample = -1;

enum class SampleState : std::uint8_t {
    counted,
    padding,      // its fields are set to values that do not count
    undecodable,  // left out: likewise
};

/// The place of a sample.
struct SamplePlace {
    std::string text;       // for messages and lists: a file, or a file and a record
    std::string file = {};  // relative to the data folder, for results; "" if samples have no files of their own
};

struct DatasetState {
    std::uint64_t memory_bytes = 0;      // shared by all readers
    std::int64_t damaged = 0;            // samples met so far, whether replaced or left out
    std::string_view unused_files = {};  // a table of the files among the data that are not used; "" if there are none
};

/// The data set is read in rows. A row is a sample, unless several samples share it.
class Dataset {
public:
    virtual ~Dataset() = default;
    /// Number of rows.
    virtual std::int64_t size() const = 0;
    /// Number of samples in a row, and in all rows.
    virtual std::int64_t samples_in(std::int64_t /*index*/) const { return 1; }
    virtual std::int64_t samples() const { return size(); }
    /// Fields of a row; they do not change.
    virtual std::vector<Field> fields() const = 0;
    /// Writes the fields of row `index` (0..size-1, or kPaddingSample). The result depends only on the arguments.
    /// Error(data) names the file, the record and the problem.
    virtual SampleState read(std::int64_t index, SamplePosition position, SampleView out,
                             Workspace& workspace) const = 0;
    /// Hint that the row will be read soon.
    virtual void will_need(std::int64_t /*index*/) const noexcept {}
    /// The label that read() stores for a classified sample if it can be decoded; else -1. May read the record.
    virtual std::int32_t label(std::int64_t index, Workspace& workspace) const;
    /// Adds 1 for the class of a sample, or for each of its labels.
    virtual void count_labels(std::int64_t index, Workspace& workspace, std::span<std::int64_t> counts) const;
    virtual SamplePlace place(std::int64_t index) const { return {"sample " + std::to_string(index)}; }
    /// May look at some of the files again. By default, data sets are distinguished by size only.
    virtual Origin origin() const { return {.samples = size()}; }
    virtual DatasetState state() const { return {}; }
};

}  // namespace cnntrain::data
