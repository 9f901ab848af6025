#include "cnntrain/base/elapsed.h"
#include "cnntrain/parallel/communicator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/numbers.h"
#include "parallel/comm/reduction.h"

namespace cnntrain::comm {
namespace {

using NetworkClock = std::chrono::steady_clock;

constexpr std::int64_t kSmallestMessage = 4;  // in bytes
constexpr std::int64_t kSmallestBucket = 64;
constexpr std::int64_t kFactor = 4;  // ratio of consecutive sizes
constexpr int kCallsTogether = 10;   // calls between two clock readings that all ranks agree on
constexpr std::size_t kMostCalls = 2000;

/// Ranks by node, and by their order within the node.
class NodeTable {
public:
    explicit NodeTable(Communicator& communicator) : node_(communicator.node()), local_(communicator.local_rank()) {
        const auto nodes = communicator.all_gather(static_cast<std::uint64_t>(node_), "nodes");
        members_.resize(std::ranges::max(nodes) + 1);
        for (std::size_t rank = 0; rank < nodes.size(); ++rank)
            members_[nodes[rank]].push_back(static_cast<int>(rank));
    }

    bool has_several() const { return members_.size() > 1; }
    std::size_t most_members() const { return std::ranges::max_element(members_, {}, &std::vector<int>::size)->size(); }
    /// Number of ranks of the first node that have partners on the second.
    std::size_t pairs_between() const { return std::min(members_[0].size(), members_[1].size()); }
    /// Neighbours on a node form pairs; a rank without a neighbour is its own partner.
    int partner_inside() const { return rank_at(node_, local_ ^ 1); }
    /// Neighbouring nodes form pairs; a rank's partner has the same position on its node.
    int partner_between() const { return rank_at(node_ ^ 1, local_); }

private:
    int rank_at(int node, int local) const {
        const int me = members_[static_cast<std::size_t>(node_)][static_cast<std::size_t>(local_)];
        if (std::cmp_greater_equal(node, members_.size())) return me;
        const std::vector<int>& members = members_[static_cast<std::size_t>(node)];
        return std::cmp_less(local, members.size()) ? members[static_cast<std::size_t>(local)] : me;
    }

    int node_;
    int local_;
    std::vector<std::vector<int>> members_;
};

/// Several times the largest bucket, so that a piece has left the caches before it is used again.
std::size_t walked_bytes(const Sweep& sweep) {
    constexpr std::int64_t kLargest = 4;
    return static_cast<std::size_t>(kLargest * sweep.largest_bytes);
}

/// Successive pieces of a buffer, cyclically, so that each piece is cache-cold.
class Walk {
public:
    Walk(std::size_t whole, std::size_t part) : whole_(whole), part_(part) {}
    std::size_t next() {
        const std::size_t begin = at_;
        at_ = at_ + 2 * part_ <= whole_ ? at_ + part_ : 0;
        return begin;
    }

private:
    std::size_t whole_, part_;
    std::size_t at_ = 0;
};

/// `together`: number of messages that share a link in one direction; their bytes are added.
std::vector<TimedMessage> timed_messages(Communicator& communicator, int partner, std::size_t together,
                                         const Sweep& sweep) {
    const std::vector<std::byte> out(walked_bytes(sweep), std::byte{1});
    std::vector<std::byte> in(out.size(), std::byte{1});
    std::vector<TimedMessage> result;
    for (std::int64_t bytes = kSmallestMessage; bytes <= sweep.largest_bytes; bytes *= kFactor) {
        const auto count = static_cast<std::size_t>(bytes);
        Walk walk(out.size(), count);
        const double seconds = median_seconds(communicator, sweep.seconds, [&] {
            const std::size_t at = walk.next();
            communicator.exchange(std::span(out).subspan(at, count), std::span(in).subspan(at, count), partner,
                                  "timing messages");
        });
        result.push_back({static_cast<double>(bytes) * static_cast<double>(together), seconds});
    }
    return result;
}

/// Measures all sizes twice and takes the faster result, because other programs may disturb either measurement.
std::vector<TimedMessage> exchanges(Communicator& communicator, int partner, std::size_t together, const Sweep& sweep) {
    std::vector<TimedMessage> result = timed_messages(communicator, partner, together, sweep);
    const std::vector<TimedMessage> again = timed_messages(communicator, partner, together, sweep);
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i].seconds = std::min(result[i].seconds, again[i].seconds);
    return result;
}

/// Sums several buckets in turn, as a training run does.
std::vector<TimedSum> sums(Communicator& communicator, const Sweep& sweep) {
    constexpr int kBuckets = 4;
    std::vector<float> values(walked_bytes(sweep) / sizeof(float));
    std::vector<TimedSum> result;
    for (std::int64_t bytes = kSmallestBucket; bytes <= sweep.largest_bytes; bytes *= kFactor) {
        const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(float);
        for (const Route route : {Route::flat, Route::hierarchical}) {
            for (const Wire wire : {Wire::f32, Wire::bf16}) {
                const ReduceOptions options{.wire = wire, .route = route};
                Walk walk(values.size(), count);
                int bucket = 0;
                const auto sum = [&] {
                    const auto part = std::span(values).subspan(walk.next(), count);
                    communicator.wait(communicator.start_all_reduce(bucket, part, options));
                    bucket = (bucket + 1) % kBuckets;
                };
                for (int first = 0; first < kBuckets; ++first) {
                    sum();  // allocates the buffers of each bucket
                }
                result.push_back(
                    {options, static_cast<double>(bytes), median_seconds(communicator, sweep.seconds, sum)});
            }
        }
    }
    return result;
}

/// Seconds per byte to add received data to cache-cold gradients. A barrier after each call makes ranks that share a
/// core share its time.
double adding_time(Communicator& communicator, const Sweep& sweep) {
    constexpr std::size_t kParts = 4;  // the largest bucket divided by 4: one rank's share of 4
    std::vector<float> own(walked_bytes(sweep) / sizeof(float), 1);
    const auto count = static_cast<std::size_t>(sweep.largest_bytes) / sizeof(float) / kParts;
    const std::vector<float> other(count, 2);
    const SumTree tree = {{0, 1}};
    Walk walk(own.size(), count);
    const double seconds = median_seconds(communicator, sweep.seconds, [&] {
        float* const begin = own.data() + walk.next();
        const float* const parts[] = {begin, other.data()};
        sum_parts(parts, tree, {begin, count});
        communicator.barrier("timing additions");
    });
    return seconds / static_cast<double>(count * sizeof(float));
}

}  // namespace

double median_seconds(Communicator& communicator, double seconds, const std::function<void()>& call) {
    call();  // allocates buffers and opens connections
    communicator.barrier("before timing");
    std::vector<double> times;
    const NetworkClock::time_point first = NetworkClock::now();
    bool more = true;
    while (more) {
        for (int i = 0; i < kCallsTogether; ++i) {
            const NetworkClock::time_point start = NetworkClock::now();
            call();
            times.push_back(seconds_since(start));
        }
        const bool wants_more = seconds_since(first) < seconds && times.size() < kMostCalls;
        more = communicator.all_gather(wants_more ? 1 : 0, "more calls")[0] == 1;
    }
    const auto nanoseconds = static_cast<std::uint64_t>(median(std::move(times)) * 1e9);
    return 1e-9 * static_cast<double>(std::ranges::max(communicator.all_gather(nanoseconds, "time of a call")));
}

LinkFit fit_link(std::span<const TimedMessage> messages) {
    CNNTRAIN_CHECK(messages.size() >= 2 && messages.front().bytes != messages.back().bytes, "messages of two sizes");
    // Least squares of (latency + bytes / bandwidth - seconds) / seconds: the normal equations in two unknowns, with
    // weight 1 / seconds^2 for each message.
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (const TimedMessage& message : messages) {
        CNNTRAIN_CHECK(message.bytes > 0 && message.seconds > 0, "a message that takes time");
        const double weight = 1 / (message.seconds * message.seconds);
        w += weight;
        wx += weight * message.bytes;
        wxx += weight * message.bytes * message.bytes;
        wy += weight * message.seconds;
        wxy += weight * message.bytes * message.seconds;
    }
    const double latency = std::max(0.0, (wy * wxx - wx * wxy) / (w * wxx - wx * wx));
    const double slope = std::max(0.0, (wxy - latency * wx) / wxx);  // 0: bytes take no time
    double squares = 0;
    for (const TimedMessage& message : messages) {
        const double difference = (latency + slope * message.bytes - message.seconds) / message.seconds;
        squares += difference * difference;
    }
    return {latency, 1 / slope, std::sqrt(squares / static_cast<double>(messages.size()))};
}

NetworkTimes measure_network(Communicator& communicator, const Sweep& sweep) {
    CNNTRAIN_CHECK(communicator.size() >= 2 && sweep.largest_bytes >= kSmallestBucket, "ranks and sizes to measure");
    const NodeTable nodes(communicator);
    NetworkTimes times;
    if (nodes.has_several())
        times.between_nodes = exchanges(communicator, nodes.partner_between(), nodes.pairs_between(), sweep);
    if (nodes.most_members() > 1) times.inside_node = exchanges(communicator, nodes.partner_inside(), 1, sweep);
    times.adding_seconds_per_byte = adding_time(communicator, sweep);
    times.sums = sums(communicator, sweep);
    return times;
}

double adding_seconds_per_byte() {
    return adding_time(*make_alone(), {});
}

}  // namespace cnntrain::comm
