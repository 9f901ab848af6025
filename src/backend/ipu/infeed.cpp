#include "backend/ipu/infeed.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::ipu {

class Infeed::Callback : public poplar::StreamCallback {
public:
    Callback(Infeed& infeed, std::size_t stream) : infeed_(infeed), stream_(stream) {}

    Result prefetch(void* buffer) override {
        if (position().filled >= infeed_.expected_) return Result::NotAvailable;
        infeed_.fill(stream_, buffer);
        return Result::Success;
    }
    void fetch(void* buffer) override { infeed_.fill(stream_, buffer); }
    void complete() override {
        ++position().completed;
        infeed_.drop_completed();
    }
    void invalidatePrefetched() override { position().filled = position().completed; }

private:
    Position& position() { return infeed_.positions_[stream_]; }

    Infeed& infeed_;
    std::size_t stream_;
};

Infeed::Infeed(std::vector<Stream> streams, std::vector<RandomSite> sites, std::uint64_t seed)
    : streams_(std::move(streams)),
      sites_(std::move(sites)),
      seed_(seed),
      positions_(streams_.size() + (sites_.empty() ? 0 : 1)) {}

void Infeed::begin(data::BatchSource& source, std::int64_t first_micro_batch) {
    source_ = &source;
    first_micro_batch_ = first_micro_batch;
    expected_ = 0;
    std::ranges::fill(positions_, Position());
    batches_.clear();
    dropped_ = 0;
    samples_ = 0;
    wait_seconds_ = 0;
    failure_ = nullptr;
}

std::unique_ptr<poplar::StreamCallback> Infeed::callback(std::size_t k) {
    return std::make_unique<Callback>(*this, k);
}

/// False after a failure of the source.
bool Infeed::take() {
    if (failure_) return false;
    try {
        const auto start = std::chrono::steady_clock::now();
        batches_.push_back(source_->next());
        wait_seconds_ += seconds_since(start);
        samples_ += batches_.back().valid_count;
        return true;
    } catch (...) {
        failure_ = std::current_exception();
        return false;
    }
}

void Infeed::fill(std::size_t k, void* buffer) {
    const std::int64_t number = positions_[k].filled++;
    const bool keys = k == streams_.size();
    if (streams_.empty()) {
        fill_keys(first_micro_batch_ + number, static_cast<std::uint32_t*>(buffer));
        return;
    }
    while (dropped_ + std::ssize(batches_) <= number) {
        if (take()) continue;
        if (!keys) std::memset(buffer, 0, streams_[k].desc.bytes());
        return;
    }
    const data::Batch& batch = batches_[static_cast<std::size_t>(number - dropped_)];
    if (keys) {
        fill_keys(batch.first_sample, static_cast<std::uint32_t*>(buffer));
    } else {
        const auto bytes = backend::field_bytes(batch, streams_[k].field, streams_[k].desc);
        std::memcpy(buffer, bytes.data(), bytes.size());
    }
}

void Infeed::fill_keys(std::int64_t first_sample, std::uint32_t* words) const {
    for (const RandomSite& site : sites_) {
        for (std::size_t n = 0; n < site.samples; ++n) {
            const auto number = static_cast<std::uint64_t>(first_sample) + n;
            const WordKey key = word_key(seed_, RngStream::random_scale, site.site, number);
            *words++ = key.first;
            *words++ = key.second;
        }
    }
}

void Infeed::drop_completed() {
    if (streams_.empty()) return;
    const std::int64_t completed = std::ranges::min(positions_, {}, &Position::completed).completed;
    while (dropped_ < completed && !batches_.empty()) {
        batches_.pop_front();
        ++dropped_;
    }
}

}  // namespace cnntrain::ipu
