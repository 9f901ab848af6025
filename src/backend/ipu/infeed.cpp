#include "backend/ipu/infeed.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::ipu {

namespace {
constexpr std::size_t kGoStream = 0;
}

class Infeed::Callback : public poplar::StreamCallback {
public:
    Callback(Infeed& infeed, std::size_t k) : infeed_(infeed), k_(k) {}

    Result prefetch(void* buffer) override {
        if (!infeed_.may_fill_ahead(k_)) return Result::NotAvailable;
        infeed_.fill(k_, buffer);
        return Result::Success;
    }
    void fetch(void* buffer) override { infeed_.fill(k_, buffer); }
    void complete() override {
        ++position().completed;
        infeed_.drop_completed();
    }
    void invalidatePrefetched() override { position().filled = position().completed; }

private:
    Position& position() { return infeed_.positions_[k_]; }

    Infeed& infeed_;
    std::size_t k_;
};

Infeed::Infeed(std::vector<Stream> streams, std::vector<RandomSite> sites, std::uint64_t seed)
    : streams_(std::move(streams)),
      sites_(std::move(sites)),
      seed_(seed),
      positions_(1 + streams_.size() + (sites_.empty() ? 0 : 1)) {}

void Infeed::begin(data::BatchSource& source, std::int64_t first_micro_batch, std::function<bool()> goes_on) {
    std::ranges::fill(positions_, Position());
    source_ = &source;
    first_micro_batch_ = first_micro_batch;
    goes_on_ = std::move(goes_on);
    expected_ = 0;
    ended_ = false;
    batches_.clear();
    dropped_ = 0;
    taken_ = 0;
    samples_ = 0;
    wait_seconds_ = 0;
    failure_ = nullptr;
}

std::unique_ptr<poplar::StreamCallback> Infeed::callback(std::size_t k) {
    return std::make_unique<Callback>(*this, k);
}

std::unique_ptr<poplar::StreamCallback> Infeed::go() {
    return callback(kGoStream);
}

std::unique_ptr<poplar::StreamCallback> Infeed::input(std::size_t stream) {
    return callback(1 + stream);
}

std::unique_ptr<poplar::StreamCallback> Infeed::keys() {
    return callback(1 + streams_.size());
}

bool Infeed::may_fill_ahead(std::size_t k) const {
    return positions_[k].filled < (k == kGoStream ? expected_ : taken_);
}

/// The next batch. False at the end.
bool Infeed::take() {
    ended_ = ended_ || !goes_on_();
    if (ended_) return false;
    ++taken_;
    if (streams_.empty()) return true;
    try {
        const auto start = std::chrono::steady_clock::now();
        batches_.push_back(source_->next());
        wait_seconds_ += seconds_since(start);
        samples_ += batches_.back().valid_count;
        return true;
    } catch (...) {
        failure_ = std::current_exception();
        ended_ = true;
        --taken_;
        return false;
    }
}

void Infeed::fill(std::size_t k, void* buffer) {
    const std::int64_t number = positions_[k].filled++;
    if (k == kGoStream) {
        const std::uint32_t goes = number < taken_ || take() ? 1 : 0;
        std::memcpy(buffer, &goes, sizeof goes);
        return;
    }
    CNNTRAIN_CHECK(number < taken_, "the device takes a micro-batch that there is not");
    if (streams_.empty()) {
        fill_keys(first_micro_batch_ + number, static_cast<std::uint32_t*>(buffer));
        return;
    }
    const data::Batch& batch = batches_.at(static_cast<std::size_t>(number - dropped_));
    if (k > streams_.size()) {
        fill_keys(batch.first_sample, static_cast<std::uint32_t*>(buffer));
        return;
    }
    const Stream& stream = streams_[k - 1];
    const auto bytes = backend::field_bytes(batch, stream.field, stream.desc);
    std::memcpy(buffer, bytes.data(), bytes.size());
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
    const std::int64_t completed = std::ranges::min(positions_, {}, &Position::completed).completed;
    for (; dropped_ < completed && !batches_.empty(); ++dropped_)
        batches_.pop_front();
}

}  // namespace cnntrain::ipu
