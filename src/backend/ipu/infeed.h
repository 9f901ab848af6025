// The host's end of the input streams: batches of a source, and key words of random numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include <poplar/StreamCallback.hpp>

#include "backend/ipu/device_graph.h"
#include "cnntrain/data/batch.h"

namespace cnntrain::ipu {

/// Every stream takes a micro-batch's data once; the streams need not keep step. Not more batches are taken from the
/// source than expect() has announced.
class Infeed {
public:
    /// `fields`: of a batch, by input stream, with the bytes that a micro-batch has in each. `seed`: of random numbers.
    struct Stream {
        std::size_t field = 0;
        TensorDesc desc;
    };
    Infeed(std::vector<Stream> streams, std::vector<RandomSite> sites, std::uint64_t seed);

    /// Starts a run. `first_sample` counts micro-batches of a graph without inputs, whose source is never read.
    void begin(data::BatchSource& source, std::int64_t first_micro_batch);
    void expect(std::int64_t micro_batches) { expected_ += micro_batches; }

    /// The callback of input stream k; of the stream of keys if k is the number of inputs. Refers to this object.
    std::unique_ptr<poplar::StreamCallback> callback(std::size_t k);

    /// Since begin(): of the batches that were taken.
    std::int64_t samples() const { return samples_; }
    double wait_seconds() const { return wait_seconds_; }
    /// What the source threw. The streams have delivered zeros since.
    const std::exception_ptr& failure() const { return failure_; }

private:
    class Callback;
    struct Position {
        std::int64_t filled = 0;     // micro-batches that were written into a stream's buffers
        std::int64_t completed = 0;  // and that the device has taken
    };

    bool take();
    void fill(std::size_t k, void* buffer);
    void fill_keys(std::int64_t first_sample, std::uint32_t* words) const;
    void drop_completed();

    std::vector<Stream> streams_;
    std::vector<RandomSite> sites_;
    std::uint64_t seed_;
    data::BatchSource* source_ = nullptr;
    std::int64_t first_micro_batch_ = 0;
    std::int64_t expected_ = 0;
    std::vector<Position> positions_;  // by stream, the keys last
    std::deque<data::Batch> batches_;
    std::int64_t dropped_ = 0;  // batches before the first of batches_
    std::int64_t samples_ = 0;
    double wait_seconds_ = 0;
    std::exception_ptr failure_;
};

}  // namespace cnntrain::ipu
