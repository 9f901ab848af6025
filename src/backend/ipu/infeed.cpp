#include "backend/ipu/infeed.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

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

Infeed::Infeed(Settings settings)
    : settings_(std::move(settings)),
      reads_batches_(std::ranges::any_of(settings_.streams, [](const auto& s) { return s.input.has_value(); })),
      copies_fields_(std::ranges::any_of(settings_.streams, [](const auto& s) { return s.input && !s.stays; })),
      positions_(1 + settings_.streams.size() * static_cast<std::size_t>(settings_.replicas)) {}

void Infeed::begin(data::BatchSource& source, std::int64_t first_batch, std::function<bool()> goes_on) {
    std::ranges::fill(positions_, Position());
    source_ = &source;
    first_batch_ = first_batch;
    goes_on_ = std::move(goes_on);
    expected_ = 0;
    ended_ = false;
    batches_.clear();
    looked_at_.clear();
    dropped_ = 0;
    taken_ = 0;
    samples_ = 0;
    wait_seconds_ = 0;
    failure_ = nullptr;
}

std::unique_ptr<poplar::StreamCallback> Infeed::go() {
    return std::make_unique<Callback>(*this, kGoStream);
}

std::unique_ptr<poplar::StreamCallback> Infeed::stream(std::size_t stream, std::int64_t replica) {
    const auto replicas = static_cast<std::size_t>(settings_.replicas);
    return std::make_unique<Callback>(*this, 1 + stream * replicas + static_cast<std::size_t>(replica));
}

bool Infeed::may_fill_ahead(std::size_t k) const {
    return positions_[k].filled < (k == kGoStream || !settings_.takes_go ? expected_ : taken_);
}

Infeed::HostBatch Infeed::next_batch() {
    if (looked_at_.empty()) return read_batch(copies_fields_);
    HostBatch first = std::move(looked_at_.front());
    looked_at_.pop_front();
    return first;
}

Infeed::HostBatch Infeed::read_batch(bool with_fields) {
    const auto start = std::chrono::steady_clock::now();
    const data::Batch batch = source_->next();
    wait_seconds_ += seconds_since(start);
    HostBatch copy{{}, batch.first_sample, batch.valid_count};
    for (std::size_t f = 0; with_fields && f < batch.fields.size(); ++f)
        copy.fields.emplace_back(batch.fields[f].begin(), batch.fields[f].end());
    return copy;
}

std::vector<std::byte> Infeed::staying(std::size_t stream) {
    while (std::ssize(looked_at_) < settings_.replicas)
        looked_at_.push_back(read_batch(/*with_fields=*/true));
    std::vector<std::byte> all;
    for (const HostBatch& batch : looked_at_) {
        const std::span<const std::byte> bytes = bytes_of(stream, batch);
        all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
}

void Infeed::take_expected() {
    while (taken_ < expected_ && take()) {
    }
    drop_completed();
}

std::span<const std::byte> Infeed::bytes_of(std::size_t stream, const HostBatch& batch) const {
    const std::vector<std::byte>& bytes = batch.fields.at(settings_.fields[stream]);
    CNNTRAIN_CHECK(bytes.size() == settings_.bytes[stream],
                   "a batch of another size: " + settings_.streams[stream].handle);
    return bytes;
}

/// The next batch of each replica. False at the end.
bool Infeed::take() {
    ended_ = ended_ || !goes_on_();
    if (ended_) return false;
    const std::int64_t samples = samples_;
    try {
        for (std::int64_t replica = 0; replica < settings_.replicas; ++replica) {
            batches_.push_back(reads_batches_ ? next_batch()
                                              : HostBatch{{}, first_batch_ + taken_ * settings_.replicas + replica, 0});
            samples_ += batches_.back().samples;
        }
        ++taken_;
        return true;
    } catch (...) {
        failure_ = std::current_exception();
        samples_ = samples;
        batches_.resize(static_cast<std::size_t>(taken_ * settings_.replicas - dropped_));
        ended_ = true;
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
    const std::size_t stream = stream_of(k);
    const std::int64_t replica = static_cast<std::int64_t>(k - 1) % settings_.replicas;
    const HostStream& about = settings_.streams[stream];
    if (number >= taken_ && (settings_.takes_go || !take())) {
        CNNTRAIN_CHECK(!settings_.takes_go, "the device takes a micro-batch that there is not");
        std::memset(buffer, 0, settings_.bytes[stream]);
        return;
    }
    const HostBatch& batch = batches_.at(static_cast<std::size_t>(number * settings_.replicas + replica - dropped_));
    if (!about.input) {
        fill_keys(about.site, batch.first_sample, static_cast<std::uint32_t*>(buffer));
        return;
    }
    const std::span<const std::byte> bytes = bytes_of(stream, batch);
    std::memcpy(buffer, bytes.data(), bytes.size());
}

void Infeed::fill_keys(const RandomSite& site, std::int64_t first_sample, std::uint32_t* words) const {
    for (std::size_t n = 0; n < site.samples; ++n) {
        const auto number = static_cast<std::uint64_t>(first_sample) + n;
        const WordKey key = word_key(settings_.seed, RngStream::random_scale, site.site, number);
        *words++ = key.first;
        *words++ = key.second;
    }
}

void Infeed::drop_completed() {
    std::int64_t completed = taken_;
    if (settings_.takes_go) completed = std::min(completed, positions_[kGoStream].completed);
    for (std::size_t k = kGoStream + 1; k < positions_.size(); ++k) {
        if (!settings_.streams[stream_of(k)].stays) completed = std::min(completed, positions_[k].completed);
    }
    for (; dropped_ < completed * settings_.replicas && !batches_.empty(); ++dropped_)
        batches_.pop_front();
}

}  // namespace cnntrain::ipu
