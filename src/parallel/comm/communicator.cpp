#include "cnntrain/parallel/communicator.h"

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "parallel/comm/transport.h"

namespace cnntrain::comm {
namespace {

constexpr std::int64_t kShardUnit = 16;  // in elements

/// The word that ranks exchange has a bit for each flag.
std::uint64_t to_word(const UpdateStatus& status) {
    return (status.stop ? 1U : 0U) | (status.not_finite ? 2U : 0U) | (status.damaged_data ? 4U : 0U);
}

UpdateStatus to_status(std::uint64_t word) {
    return {.stop = (word & 1U) != 0, .not_finite = (word & 2U) != 0, .damaged_data = (word & 4U) != 0};
}

}  // namespace

Shard shard_of(std::int64_t elements, int rank, int size) {
    const auto begin_of = [&](int number) {
        if (number == size) return elements;
        return elements / kShardUnit * number / size * kShardUnit;
    };
    return {begin_of(rank), begin_of(rank + 1) - begin_of(rank)};
}

AgreedStatus agree(Communicator& communicator, const UpdateStatus& mine, std::span<const double> values) {
    std::vector<std::uint64_t> words = {to_word(mine)};
    for (const double value : values)
        words.push_back(std::bit_cast<std::uint64_t>(value));
    AgreedStatus agreed;
    agreed.sums.resize(values.size());
    std::uint64_t any = 0;
    const std::vector<std::uint64_t> all = communicator.all_gather(words, "status of the update");
    for (std::size_t begin = 0; begin < all.size(); begin += words.size()) {
        agreed.ranks.push_back(to_status(all[begin]));
        any |= all[begin];
        for (std::size_t i = 0; i < values.size(); ++i)
            agreed.sums[i] += std::bit_cast<double>(all[begin + 1 + i]);
    }
    agreed.any = to_status(any);
    return agreed;
}

std::string text_of_first(Communicator& all, const AgreedStatus& agreed, bool UpdateStatus::*say,
                          const std::string& mine) {
    const auto first = std::ranges::find_if(agreed.ranks, [&](const auto& status) { return status.*say; });
    const auto teller = static_cast<int>(first - agreed.ranks.begin());
    std::string text = all.rank() == teller ? mine : "";
    std::uint64_t size = text.size();
    all.broadcast(std::as_writable_bytes(std::span(&size, 1)), teller, "size of an error text");
    text.resize(size);
    all.broadcast(std::as_writable_bytes(std::span(text)), teller, "error text");
    return text;
}

std::string broadcast_text(Communicator& communicator, std::string text, std::string_view what, int root) {
    std::uint64_t size = text.size();
    communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), root, what);
    text.resize(size);
    communicator.broadcast(std::as_writable_bytes(std::span(text)), root, what);
    return text;
}

void check_same(Communicator& communicator, std::uint64_t value, std::string_view what) {
    const std::vector<std::uint64_t> values = communicator.all_gather(value, what);
    std::string differing;
    for (std::size_t rank = 1; rank < values.size(); ++rank) {
        if (values[rank] == values[0]) continue;
        differing += ", rank " + std::to_string(rank) + ": " + hex_text(values[rank]);
    }
    if (differing.empty()) return;
    throw Error(ErrorKind::peers,
                std::string(what) + " differ between ranks: rank 0: " + hex_text(values[0]) + differing);
}

// The communicator of a single rank: every operation completes immediately, without copying.

namespace {

class Alone final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    int node() const override { return 0; }
    int local_rank() const override { return 0; }
    int local_size() const override { return 1; }

    void barrier(std::string_view /*what*/) override {}
    void broadcast(std::span<std::byte> /*bytes*/, int /*root*/, std::string_view /*what*/) override {}
    void exchange(std::span<const std::byte> /*out*/, std::span<std::byte> /*in*/, int /*partner*/,
                  std::string_view /*what*/) override {}
    std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> words, std::string_view /*what*/) override {
        return {words.begin(), words.end()};
    }

    void all_gather_among(Group /*group*/, std::span<const std::byte> mine, std::span<std::byte> all,
                          std::string_view /*what*/) override {
        std::ranges::copy(mine, all.begin());
    }

    Handle start_all_reduce(int bucket, std::span<float> /*values*/, const ReduceOptions& /*options*/) override {
        return {.bucket = bucket};
    }
    Handle start_reduce_scatter(int bucket, std::span<float> /*values*/, Wire /*wire*/) override {
        return {.bucket = bucket};
    }
    Handle start_all_gather(int bucket, std::span<float> /*values*/, Wire /*wire*/) override {
        return {.bucket = bucket};
    }
    bool progress() override { return true; }
    void wait(const Handle& /*handle*/) override {}

    void leave(std::string_view /*reason*/) override {}
    void finish() override {}
};

}  // namespace

std::unique_ptr<Communicator> make_alone() {
    return std::make_unique<Alone>();
}

// Checks that all ranks have the same settings, and names those that differ. A rank with other settings may take part
// in nothing else, so a comparison needs to know no more than the number of ranks.

namespace {

using Agreed = std::span<const SharedSetting>;

constexpr char kEnd = '\0';  // of a name and of a value

std::string to_text(Agreed settings) {
    std::string text;
    for (const SharedSetting& setting : settings)
        text += setting.name + kEnd + setting.value + kEnd;
    return text;
}

std::vector<SharedSetting> from_text(std::string_view text) {
    const auto next = [&] {
        const std::size_t end = text.find(kEnd);
        std::string word(text.substr(0, end));
        text.remove_prefix(end + 1);
        return word;
    };
    std::vector<SharedSetting> settings;
    while (!text.empty()) {
        std::string name = next();
        settings.push_back({std::move(name), next()});
    }
    return settings;
}

/// Ranks with the same settings.
struct Party {
    std::vector<int> ranks;
    std::map<std::string, std::string> values;  // by name
};

std::string value_in(const Party& party, const std::string& name) {
    const auto found = party.values.find(name);
    if (found == party.values.end()) return "not known";
    return found->second.empty() ? "none" : found->second;
}

std::string shortened(const std::string& value) {
    constexpr std::size_t kMost = 160;
    return value.size() <= kMost ? value : value.substr(0, kMost) + "...";
}

/// "flat on rank 1, hierarchical on ranks 0 and 2"; "" when all parties have the same value.
std::string values_of(const std::vector<Party>& parties, const std::string& name) {
    std::vector<std::pair<std::string, std::vector<int>>> values;
    for (const Party& party : parties) {
        const std::string value = value_in(party, name);
        auto found = std::ranges::find(values, value, [](const auto& entry) { return entry.first; });
        if (found == values.end()) found = values.insert(values.end(), {value, {}});
        found->second.insert(found->second.end(), party.ranks.begin(), party.ranks.end());
    }
    if (values.size() == 1) return {};
    std::string text;
    for (auto& [value, ranks] : values) {
        std::ranges::sort(ranks);
        text += (text.empty() ? "" : ", ") + shortened(value) + " on " + ranks_text(ranks);
    }
    return text;
}

}  // namespace

std::string differences(Communicator& communicator, std::span<const SharedSetting> mine, std::string_view what) {
    const std::string own = to_text(mine);
    const std::vector<std::uint64_t> hashes = communicator.all_gather(hash_text(own), what);
    if (std::ranges::count(hashes, hashes[0]) == std::ssize(hashes)) return {};

    std::vector<Party> parties;
    std::vector<std::string> names;  // in the order of the first rank that has them
    std::map<std::uint64_t, std::size_t> numbers;
    for (int rank = 0; rank < communicator.size(); ++rank) {
        const auto [found, is_new] = numbers.try_emplace(hashes[static_cast<std::size_t>(rank)], parties.size());
        if (is_new) {
            Party& party = parties.emplace_back();
            const std::string text = broadcast_text(communicator, communicator.rank() == rank ? own : "", what, rank);
            for (SharedSetting& setting : from_text(text)) {
                if (std::ranges::find(names, setting.name) == names.end()) names.push_back(setting.name);
                party.values.emplace(std::move(setting.name), std::move(setting.value));
            }
        }
        parties[found->second].ranks.push_back(rank);
    }

    constexpr std::size_t kMost = 6;
    std::vector<std::string> differing;
    for (const std::string& name : names) {
        const std::string values = values_of(parties, name);
        if (!values.empty()) differing.push_back(name + " (" + values + ")");
    }
    return some_listed(differing, kMost);
}

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
