#include "comm/node_reduction.h"

#include <algorithm>
#include <numeric>

#include "cnntrain/base/error.h"

namespace cnntrain::comm {
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
