#include "parallel/comm/reduction.h"

#include <algorithm>
#include <numeric>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/parallel/communicator.h"

namespace cnntrain::comm {
namespace {

std::uint64_t digest_of(std::span<const Parameter> parameters, const BucketPlan& plan) {
    Digest digest;
    for (const Parameter& parameter : parameters) {
        digest.add(parameter.name);
        digest.add(static_cast<std::uint64_t>(parameter.elements));
    }
    for (const Bucket& bucket : plan.buckets) {
        digest.add(static_cast<std::uint64_t>(bucket.count));
        digest.add(static_cast<std::uint64_t>(bucket.sharded));
    }
    return hash_text(digest.text());
}

}  // namespace

BucketPlan plan_buckets(std::span<const Parameter> parameters, std::int64_t max_bytes) {
    constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
    if (max_bytes < kFloat) {
        throw Error(ErrorKind::usage, "buckets of gradients of " + std::to_string(max_bytes) +
                                          " bytes: expected at least " + std::to_string(kFloat));
    }
    BucketPlan plan;
    for (const Parameter& parameter : parameters) {
        CNNTRAIN_CHECK(parameter.elements > 0, "elements of " + parameter.name);
        checked_product(plan.elements + parameter.elements, kFloat, "the buffer of gradients");
        const bool fits = !plan.buckets.empty() && plan.buckets.back().sharded == parameter.sharded &&
                          plan.buckets.back().elements + parameter.elements <= max_bytes / kFloat;
        if (!fits) {
            plan.buckets.push_back({.offset = plan.elements,
                                    .first = static_cast<int>(plan.offsets.size()),
                                    .sharded = parameter.sharded});
        }
        plan.buckets.back().elements += parameter.elements;
        ++plan.buckets.back().count;
        plan.offsets.push_back(plan.elements);
        plan.elements += parameter.elements;
    }
    plan.digest = digest_of(parameters, plan);
    return plan;
}

std::span<float> FlatReduction::values_of(int member) {
    const Shard part = shard(member);
    return values_.subspan(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.count));
}

std::span<BFloat16> FlatReduction::packed_of(int member) {
    const Shard part = shard(member);
    return std::span(packed_).subspan(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.count));
}

template <typename Stored> std::span<Stored> FlatReduction::received_from(std::vector<Stored>& from, int member) const {
    const auto count = static_cast<std::size_t>(shard(team_->me).count);
    return std::span(from).subspan(static_cast<std::size_t>(member) * count, count);
}

void FlatReduction::start(Transport& transport, const Team& team, std::span<float> values, Part part, Wire wire,
                          int tag) {
    CNNTRAIN_CHECK(state_ == State::done, "a reduction begins while it is under way");
    team_ = &team;
    values_ = values;
    part_ = part;
    wire_ = wire;
    tag_ = tag;
    if (members() == 1) return;
    if (wire == Wire::bf16) packed_.resize(values.size());
    if (part == Part::all_gather) {
        start_gather(transport);
    } else {
        start_scatter(transport);
    }
}

bool FlatReduction::advance(Transport& transport) {
    if (state_ == State::scattering && all_complete(transport)) {
        sum_own_shard();
        if (part_ == Part::reduce_scatter) {
            state_ = State::done;
        } else {
            start_gather(transport);
        }
    }
    if (state_ == State::gathering && all_complete(transport)) {
        if (wire_ == Wire::bf16) unpack(packed_, values_);
        state_ = State::done;
    }
    return state_ == State::done;
}

/// Sends each member's shard to it. Each rank starts with its successor, so that not all send to the same rank at once.
void FlatReduction::start_scatter(Transport& transport) {
    state_ = State::scattering;
    const auto received = static_cast<std::size_t>(shard(team_->me).count) * team_->ranks.size();
    if (wire_ == Wire::f32) {
        received_.resize(received);
    } else {
        received_packed_.resize(received);
        pack(values_, packed_);
    }
    for (int step = 1; step < members(); ++step) {
        const int from = (team_->me - step + members()) % members();
        if (received == 0) break;
        const auto bytes = wire_ == Wire::f32 ? std::as_writable_bytes(received_from(received_, from))
                                              : std::as_writable_bytes(received_from(received_packed_, from));
        open_.push_back(transport.receive(team_->ranks[static_cast<std::size_t>(from)], tag_, bytes));
    }
    for (int step = 1; step < members(); ++step) {
        const int to = (team_->me + step) % members();
        const auto bytes = wire_ == Wire::f32 ? std::as_bytes(values_of(to)) : std::as_bytes(packed_of(to));
        if (!bytes.empty()) open_.push_back(transport.send(team_->ranks[static_cast<std::size_t>(to)], tag_, bytes));
    }
}

void FlatReduction::sum_own_shard() {
    const std::span<float> own = values_of(team_->me);
    if (wire_ == Wire::f32) {
        parts_.clear();
        for (int member = 0; member < members(); ++member)
            parts_.push_back(member == team_->me ? own.data() : received_from(received_, member).data());
        sum_parts(parts_, team_->tree, own);
    } else {
        packed_parts_.clear();
        for (int member = 0; member < members(); ++member) {
            packed_parts_.push_back(member == team_->me ? packed_of(member).data()
                                                        : received_from(received_packed_, member).data());
        }
        sum_parts(packed_parts_, team_->tree, own);
    }
}

/// Sends this rank's reduced shard to all other members.
void FlatReduction::start_gather(Transport& transport) {
    state_ = State::gathering;
    if (wire_ == Wire::bf16) pack(values_of(team_->me), packed_of(team_->me));
    for (int step = 1; step < members(); ++step) {
        const int from = (team_->me - step + members()) % members();
        const auto bytes =
            wire_ == Wire::f32 ? std::as_writable_bytes(values_of(from)) : std::as_writable_bytes(packed_of(from));
        if (bytes.empty()) continue;
        open_.push_back(transport.receive(team_->ranks[static_cast<std::size_t>(from)], tag_ + 1, bytes));
    }
    const auto own = wire_ == Wire::f32 ? std::as_bytes(values_of(team_->me)) : std::as_bytes(packed_of(team_->me));
    for (int step = 1; step < members() && !own.empty(); ++step) {
        const int to = (team_->me + step) % members();
        open_.push_back(transport.send(team_->ranks[static_cast<std::size_t>(to)], tag_ + 1, own));
    }
}

bool FlatReduction::all_complete(Transport& transport) {
    while (!open_.empty() && transport.complete(open_.back()))
        open_.pop_back();
    return open_.empty();
}

namespace {

constexpr std::size_t kLine = 64;  // bytes: each counter has its own cache line
constexpr std::size_t kPoints = 4;

/// Number of elements of a contribution, padded to whole cache lines.
std::size_t padded(std::size_t elements) {
    constexpr std::size_t kPerLine = kLine / sizeof(float);
    return (elements + kPerLine - 1) / kPerLine * kPerLine;
}

}  // namespace

std::size_t NodeReduction::zeroed_bytes(int local_size) {
    return kPoints * static_cast<std::size_t>(local_size) * kLine;
}

std::size_t NodeReduction::shared_bytes(std::size_t elements, int local_size) {
    return zeroed_bytes(local_size) + (static_cast<std::size_t>(local_size) + 1) * padded(elements) * sizeof(float);
}

NodeReduction::NodeReduction(std::span<std::byte> shared, std::size_t capacity, int local_rank, int local_size,
                             const Team& leaders)
    : shared_(shared), capacity_(capacity), local_rank_(local_rank), local_size_(local_size), leaders_(&leaders) {
    CNNTRAIN_CHECK(shared.size() >= shared_bytes(capacity, local_size), "shared memory of a bucket");
    tree_.emplace_back(static_cast<std::size_t>(local_size));
    std::iota(tree_[0].begin(), tree_[0].end(), 0);
}

std::atomic_ref<std::uint64_t> NodeReduction::counter(Point point, int local_rank) const {
    const std::size_t number =
        static_cast<std::size_t>(point) * static_cast<std::size_t>(local_size_) + static_cast<std::size_t>(local_rank);
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(shared_.data() + number * kLine));
}

bool NodeReduction::all_reached(Point point, std::uint64_t use) const {
    for (int local = 0; local < local_size_; ++local) {
        if (counter(point, local).load(std::memory_order_acquire) < use) return false;
    }
    return true;
}

float* NodeReduction::contribution(int local_rank) const {
    const std::size_t offset =
        zeroed_bytes(local_size_) / sizeof(float) + static_cast<std::size_t>(local_rank) * padded(capacity_);
    return reinterpret_cast<float*>(shared_.data()) + offset;
}

std::span<float> NodeReduction::sum() const {
    return {contribution(local_size_), values_.size()};
}

void NodeReduction::start(std::span<float> values, Wire wire, int tag) {
    CNNTRAIN_CHECK(state_ == State::done && values.size() <= capacity_, "a bucket in shared memory");
    values_ = values;
    wire_ = wire;
    tag_ = tag;
    ++use_;
    state_ = State::writing;
}

bool NodeReduction::advance(Transport& transport) {
    while (state_ != State::done && advance_once(transport)) {
    }
    return state_ == State::done;
}

/// Returns true if it reached the next state.
bool NodeReduction::advance_once(Transport& transport) {
    switch (state_) {
        case State::writing:
            if (!all_reached(Point::taken, use_ - 1)) return false;
            std::ranges::copy(values_, contribution(local_rank_));
            reach(Point::written);
            state_ = State::adding;
            return true;
        case State::adding:
            if (!all_reached(Point::written, use_)) return false;
            add_own_share();
            reach(Point::summed);
            state_ = local_rank_ == 0 ? State::gathering : State::taking;
            return true;
        case State::gathering:
            if (!all_reached(Point::summed, use_)) return false;
            between_nodes_.start(transport, *leaders_, sum(), FlatReduction::Part::all_reduce, wire_, tag_);
            state_ = State::exchanging;
            return true;
        case State::exchanging:
            if (!between_nodes_.advance(transport)) return false;
            reach(Point::total);
            state_ = State::taking;
            return true;
        case State::taking:
            if (counter(Point::total, 0).load(std::memory_order_acquire) < use_) return false;
            std::ranges::copy(sum(), values_.begin());
            reach(Point::taken);
            state_ = State::done;
            return true;
        case State::done:
            break;
    }
    return false;
}

void NodeReduction::add_own_share() {
    const Shard own = shard_of(static_cast<std::int64_t>(values_.size()), local_rank_, local_size_);
    parts_.clear();
    for (int local = 0; local < local_size_; ++local)
        parts_.push_back(contribution(local) + own.begin);
    sum_parts(parts_, tree_, sum().subspan(static_cast<std::size_t>(own.begin), static_cast<std::size_t>(own.count)));
}

}  // namespace cnntrain::comm
