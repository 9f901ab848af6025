#include "parallel/comm/transport.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::comm {

int Nodes::local_rank(int rank) const {
    const std::vector<int>& node = members[static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)])];
    return static_cast<int>(std::ranges::find(node, rank) - node.begin());
}

Nodes group_nodes(std::span<const std::uint64_t> keys, int ranks_per_node) {
    Nodes nodes;
    std::map<std::uint64_t, std::size_t> open;  // node that takes the next rank, by key
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
        const auto found = open.find(keys[rank]);
        const bool full = found != open.end() && ranks_per_node > 0 &&
                          nodes.members[found->second].size() == static_cast<std::size_t>(ranks_per_node);
        if (found == open.end() || full) {
            open[keys[rank]] = nodes.members.size();
            nodes.members.emplace_back();
        }
        const std::size_t node = open[keys[rank]];
        nodes.members[node].push_back(static_cast<int>(rank));
        nodes.node_of.push_back(static_cast<int>(node));
    }
    return nodes;
}

namespace {

/// The part of the timeout reserved for the roll call.
double roll_call_seconds(double timeout_seconds) {
    return std::min(2.0, timeout_seconds / 4);
}

auto as_duration(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
    constexpr std::size_t kMost = 8;
    std::vector<std::string> numbers;
    for (const int rank : ranks)
        numbers.push_back(std::to_string(rank));
    return (ranks.size() == 1 ? "rank " : "ranks ") + listed(numbers, kMost);
}

std::string Operation::text() const {
    std::string text = name;
    if (bucket >= 0) text += " of bucket " + std::to_string(bucket);
    if (!what.empty()) text += " (" + std::string(what) + ")";
    return text;
}

Notice make_notice(Notice::Kind kind, int rank, std::string_view text) {
    Notice notice;
    notice.kind = kind;
    notice.rank = rank;
    const std::size_t length = std::min(text.size(), notice.text.size() - 1);
    std::copy_n(text.begin(), length, notice.text.begin());
    return notice;
}

Watch::Watch(Transport& transport, double timeout_seconds, const Operation& operation, Leavers& left)
    : transport_(&transport),
      operation_(operation),
      timeout_seconds_(timeout_seconds),
      last_check_(Clock::now()),
      left_(left) {
    end_ = last_check_ + as_duration(timeout_seconds);
    roll_call_ = end_ - as_duration(roll_call_seconds(timeout_seconds));
}

void Watch::check() {
    // Reads the clock once per check: this process may be suspended during it, which the next check then detects.
    leave_out_pauses();
    read_notices();
    if (!calling_ && last_check_ >= roll_call_) call_roll();
    if (!calling_) return;
    const std::size_t others = transport_->nodes().node_of.size() - 1;
    const std::size_t known =
        present_.size() + static_cast<std::size_t>(std::ranges::count_if(
                              left_, [&](const auto& entry) { return !present_.contains(entry.first); }));
    if (known >= others || last_check_ >= end_) fail_missing();
}

/// Checks follow each other within milliseconds. A longer gap means that this process did not run: a batch system
/// suspended the job, or the machine slept. Then the other ranks have not run either, or have ended.
void Watch::leave_out_pauses() {
    constexpr std::chrono::seconds kLongestGap{1};
    const Clock::time_point now = Clock::now();
    const Clock::duration gap = now - last_check_;
    last_check_ = now;
    if (gap < kLongestGap) return;
    end_ += gap;
    roll_call_ += gap;
}

void Watch::read_notices() {
    Notice notice;
    bool called = false;
    while (transport_->next_notice(notice)) {
        if (notice.kind == Notice::Kind::left) {
            left_.emplace(notice.rank, notice);
        } else {
            present_.emplace(notice.rank, notice.text.data());
            called = true;
        }
    }
    // A rank that leaves during the roll call was present; a rank that left before it caused this wait.
    if (!calling_ && is_let_down()) fail_left();
    if (called && !calling_) call_roll();
}

/// A rank that left after its part of this operation has sent everything that the others wait for.
bool Watch::is_let_down() const {
    return std::ranges::any_of(left_, [&](const auto& entry) { return entry.second.finished <= operation_.number; });
}

void Watch::call_roll() {
    calling_ = true;
    end_ = std::min(end_, last_check_ + as_duration(roll_call_seconds(timeout_seconds_)));
    transport_->post(make_notice(Notice::Kind::present, transport_->rank(), operation_.text()));
}

void Watch::fail_left() const {
    std::string message = operation_.text();
    const char* separator = ": ";
    for (const auto& [rank, notice] : left_) {
        message += separator + ("rank " + std::to_string(rank)) + " has left: " + notice.text.data();
        separator = "; ";
    }
    throw Error(ErrorKind::peers, message);
}

void Watch::fail_missing() const {
    std::vector<int> missing;
    std::string left;
    for (int rank = 0; rank < static_cast<int>(transport_->nodes().node_of.size()); ++rank) {
        if (rank == transport_->rank() || present_.contains(rank)) continue;
        if (left_.contains(rank)) {
            left += "; rank " + std::to_string(rank) + " has left: " + left_.at(rank).text.data();
        } else {
            missing.push_back(rank);
        }
    }
    std::string message = operation_.text() + ": ";
    if (!missing.empty()) {
        message += ranks_text(missing) + " did not take part within " + decimal(timeout_seconds_) +
                   " s: dead, stalled or cut off; start the run again with restore, or allow more time";
    } else if (left.empty()) {
        message += "not finished within " + decimal(timeout_seconds_) + " s, though no rank is missing; rank " +
                   std::to_string(present_.begin()->first) + " waits in " + present_.begin()->second +
                   "; allow more time if the network is slow";
    } else {
        message += "not finished";
    }
    throw Error(ErrorKind::peers, message + left);
}

}  // namespace cnntrain::comm
