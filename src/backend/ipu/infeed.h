// The host's end of the input streams: batches of a source, and key words of random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <poplar/StreamCallback.hpp>

#include "backend/ipu/slots.h"
#include "cnntrain/data/batch.h"

namespace cnntrain::ipu {

/// Micro-batch n of replica r of R is batch n * R + r of the source. Before each micro-batch the device takes a word
/// from the stream handle::kGo: 1 if there is a batch for each replica, whose data the other streams then deliver, or 0
/// if it shall compute no further ones. Pipelines that always finish their updates take no words; after a failure they
/// get zeros. Streams are filled ahead, up to what expect() has announced.
class Infeed {
public:
    struct Settings {
        std::vector<HostStream> streams;
        std::vector<std::size_t> fields;  // of a batch, by stream with an input
        std::vector<std::size_t> bytes;   // of a micro-batch, by stream
        std::int64_t replicas = 1;
        bool takes_go = true;
        std::uint64_t seed = 0;  // of random numbers
    };
    explicit Infeed(Settings settings);

    /// Starts a run of a program. `goes_on` is asked before batches are taken; `first_batch` numbers the batches of a
    /// graph without inputs, whose source is never read.
    void begin(data::BatchSource& source, std::int64_t first_batch, std::function<bool()> goes_on);
    void expect(std::int64_t micro_batches) { expected_ += micro_batches; }
    /// The data of an input that stays (HostStream::stays), of the first micro-batch of each replica in turn.
    std::vector<std::byte> staying(std::size_t stream);
    /// Takes the announced batches that no stream has asked for.
    void take_expected();

    /// Callbacks refer to this object.
    std::unique_ptr<poplar::StreamCallback> go();
    std::unique_ptr<poplar::StreamCallback> stream(std::size_t stream, std::int64_t replica);

    // Counts since begin():
    std::int64_t taken() const { return taken_; }  // micro-batches of each replica
    std::int64_t samples() const { return samples_; }
    double wait_seconds() const { return wait_seconds_; }
    /// The exception that the source threw. There are no further batches then.
    const std::exception_ptr& failure() const { return failure_; }

private:
    class Callback;
    struct Position {
        std::int64_t filled = 0;     // micro-batches that were written into the stream's buffers
        std::int64_t completed = 0;  // and that the device has taken
    };
    /// A copy, so that the source's memory is free at once.
    struct HostBatch {
        std::vector<std::vector<std::byte>> fields;  // empty if all inputs stay
        std::int64_t first_sample = 0;
        std::int64_t samples = 0;
    };

    /// Index of the stream to which positions_[k] belongs.
    std::size_t stream_of(std::size_t k) const { return (k - 1) / static_cast<std::size_t>(settings_.replicas); }
    bool may_fill_ahead(std::size_t k) const;
    bool take();
    HostBatch next_batch();
    HostBatch read_batch(bool with_fields);
    std::span<const std::byte> bytes_of(std::size_t stream, const HostBatch& batch) const;
    void fill(std::size_t k, void* buffer);
    void fill_keys(const RandomSite& site, std::int64_t first_sample, std::uint32_t* words) const;
    void drop_completed();

    Settings settings_;
    bool reads_batches_;
    bool copies_fields_;
    std::vector<Position> positions_;  // of go, then of each stream by replica
    data::BatchSource* source_ = nullptr;
    std::int64_t first_batch_ = 0;
    std::function<bool()> goes_on_;
    std::int64_t expected_ = 0;
    bool ended_ = false;
    std::deque<HostBatch> batches_;
    std::deque<HostBatch> looked_at_;  // by staying(), and not taken yet
    std::int64_t dropped_ = 0;         // batches before the first of batches_
    std::int64_t taken_ = 0;
    std::int64_t samples_ = 0;
    double wait_seconds_ = 0;
    std::exception_ptr failure_;
};

}  // namespace cnntrain::ipu
