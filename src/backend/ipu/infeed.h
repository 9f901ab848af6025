// The host's end of the input streams: batches of a source, and key words of random numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include <poplar/StreamCallback.hpp>

#include "backend/ipu/device_graph.h"
#include "cnntrain/data/batch.h"

namespace cnntrain::ipu {

/// Before each micro-batch the device takes a word from the stream handle::kGo. It is 1 if there is a batch, whose data
/// the other streams then deliver, and 0 if the device shall compute no further ones. Streams are filled ahead, up to
/// the number of micro-batches that expect() has announced.
class Infeed {
public:
    /// `field`: of a batch.
    struct Stream {
        std::size_t field = 0;
        TensorDesc desc;
    };
    Infeed(std::vector<Stream> streams, std::vector<RandomSite> sites, std::uint64_t seed);

    /// Starts a run of a program. `goes_on` is asked before each batch is taken; `first_micro_batch` numbers those of a
    /// graph without inputs, whose source is never read.
    void begin(data::BatchSource& source, std::int64_t first_micro_batch, std::function<bool()> goes_on);
    void expect(std::int64_t micro_batches) { expected_ += micro_batches; }

    /// The callbacks refer to this object.
    std::unique_ptr<poplar::StreamCallback> go();
    std::unique_ptr<poplar::StreamCallback> input(std::size_t stream);
    std::unique_ptr<poplar::StreamCallback> keys();

    // Since begin()
    std::int64_t taken() const { return taken_; }  // batches
    std::int64_t samples() const { return samples_; }
    double wait_seconds() const { return wait_seconds_; }
    /// What the source threw. There are no further batches then.
    const std::exception_ptr& failure() const { return failure_; }

private:
    class Callback;
    struct Position {
        std::int64_t filled = 0;     // micro-batches that were written into a stream's buffers
        std::int64_t completed = 0;  // and that the device has taken
    };

    std::unique_ptr<poplar::StreamCallback> callback(std::size_t k);
    bool may_fill_ahead(std::size_t k) const;
    bool take();
    void fill(std::size_t k, void* buffer);
    void fill_keys(std::int64_t first_sample, std::uint32_t* words) const;
    void drop_completed();

    std::vector<Stream> streams_;
    std::vector<RandomSite> sites_;
    std::uint64_t seed_;
    std::vector<Position> positions_;  // of go, of the inputs, of the keys
    data::BatchSource* source_ = nullptr;
    std::int64_t first_micro_batch_ = 0;
    std::function<bool()> goes_on_;
    std::int64_t expected_ = 0;
    bool ended_ = false;
    std::deque<data::Batch> batches_;
    std::int64_t dropped_ = 0;  // batches before the first of batches_
    std::int64_t taken_ = 0;
    std::int64_t samples_ = 0;
    double wait_seconds_ = 0;
    std::exception_ptr failure_;
};

}  // namespace cnntrain::ipu
