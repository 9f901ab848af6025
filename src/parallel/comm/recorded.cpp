#include "cnntrain/parallel/communicator.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cnntrain::comm {
namespace {

using Clock = Timeline::Clock;

enum class Wait : std::uint8_t { barrier, broadcast, exchange, gather, start, bucket };

std::vector<Timeline::Label> wait_labels() {
    return {{"barrier"},          {"broadcast"}, {"exchange"}, {"gather small values"}, {"start the sum of a bucket"},
            {"wait for a bucket"}};
}

class Recorded final : public Communicator {
public:
    Recorded(std::shared_ptr<Communicator> inner, std::shared_ptr<Timeline> timeline)
        : inner_(std::move(inner)),
          timeline_(std::move(timeline)),
          waits_(timeline_->add_track("communication", wait_labels())),
          buckets_(timeline_->add_track("buckets", {{"sum"}, {"sum and scatter"}, {"gather"}},
                                        Timeline::Order::overlapping)) {}

    int rank() const override { return inner_->rank(); }
    int size() const override { return inner_->size(); }
    int node() const override { return inner_->node(); }
    int local_rank() const override { return inner_->local_rank(); }
    int local_size() const override { return inner_->local_size(); }

    void barrier(std::string_view what) override {
        const Span span(*this, Wait::barrier);
        inner_->barrier(what);
    }
    void broadcast(std::span<std::byte> bytes, int root, std::string_view what) override {
        const Span span(*this, Wait::broadcast);
        inner_->broadcast(bytes, root, what);
    }
    void exchange(std::span<const std::byte> out, std::span<std::byte> in, int partner,
                  std::string_view what) override {
        const Span span(*this, Wait::exchange);
        inner_->exchange(out, in, partner, what);
    }
    std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> words, std::string_view what) override {
        const Span span(*this, Wait::gather);
        return inner_->all_gather(words, what);
    }
    void all_gather_among(Group group, std::span<const std::byte> mine, std::span<std::byte> all,
                          std::string_view what) override {
        const Span span(*this, Wait::gather);
        inner_->all_gather_among(group, mine, all, what);
    }
    Handle start_all_reduce(int bucket, std::span<float> values, const ReduceOptions& options) override {
        return started(0, [&] { return inner_->start_all_reduce(bucket, values, options); });
    }
    Handle start_reduce_scatter(int bucket, std::span<float> values, Wire wire) override {
        return started(1, [&] { return inner_->start_reduce_scatter(bucket, values, wire); });
    }
    Handle start_all_gather(int bucket, std::span<float> values, Wire wire) override {
        return started(2, [&] { return inner_->start_all_gather(bucket, values, wire); });
    }
    bool progress() override {
        const bool none_is_pending = inner_->progress();
        if (none_is_pending && !pending_.empty()) {
            const Clock::time_point now = Clock::now();
            for (const Pending& operation : pending_)
                buckets_.add(operation.label, operation.begin, now, operation.bucket);
            pending_.clear();
        }
        return none_is_pending;
    }
    void wait(const Handle& handle) override {
        {
            const Span span(*this, Wait::bucket, handle.bucket);
            inner_->wait(handle);
        }
        const auto found = std::ranges::find(pending_, handle.bucket, &Pending::bucket);
        if (found == pending_.end()) return;
        buckets_.add(found->label, found->begin, Clock::now(), found->bucket);
        pending_.erase(found);
    }
    void leave(std::string_view reason) override { inner_->leave(reason); }
    void finish() override { inner_->finish(); }

private:
    /// An operation on a bucket that was started while the timeline was on.
    struct Pending {
        std::int32_t label;
        int bucket;
        Clock::time_point begin;
    };

    /// Records a wait while it exists, if the timeline is on.
    class Span {
    public:
        Span(Recorded& all, Wait wait, std::int64_t number = 0)
            : all_(all.timeline_->is_on() ? &all : nullptr), wait_(wait), number_(number) {
            if (all_ != nullptr) begin_ = Clock::now();
        }
        ~Span() {
            if (all_ != nullptr) all_->waits_.add(static_cast<std::int32_t>(wait_), begin_, Clock::now(), number_);
        }
        Span(const Span&) = delete;
        Span& operator=(const Span&) = delete;

    private:
        Recorded* all_;
        Wait wait_;
        std::int64_t number_;
        Clock::time_point begin_;
    };

    template <typename Start> Handle started(std::int32_t label, const Start& start) {
        if (!timeline_->is_on()) return start();
        const Clock::time_point begin = Clock::now();
        Handle handle;
        {
            const Span span(*this, Wait::start);
            handle = start();
        }
        pending_.push_back({label, handle.bucket, begin});
        return handle;
    }

    std::shared_ptr<Communicator> inner_;
    std::shared_ptr<Timeline> timeline_;
    Timeline::Track& waits_;
    Timeline::Track& buckets_;
    std::vector<Pending> pending_;
};

}  // namespace

std::shared_ptr<Communicator> make_recorded(std::shared_ptr<Communicator> inner, std::shared_ptr<Timeline> timeline) {
    return std::make_shared<Recorded>(std::move(inner), std::move(timeline));
}

}  // namespace cnntrain::comm
