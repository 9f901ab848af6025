#include "comm/flat_reduction.h"

#include "cnntrain/base/error.h"

namespace cnntrain::comm {

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

}  // namespace cnntrain::comm
