// Implements the collective operations with messages between pairs of ranks.
#include <algorithm>
#include <bit>
#include <exception>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "cnntrain/base/error.h"
#include "parallel/comm/reduction.h"
#include "parallel/comm/transport.h"

namespace cnntrain::comm {
namespace {

constexpr std::size_t kLargestBytes = 0x7fffffff;    // MPI counts are of type int
constexpr std::size_t kBroadcastPiece = 16u << 20u;  // bytes: a rank forwards one piece while the next one arrives
constexpr int kTurnsPerCheck = 16;                   // polling for notices costs as much as polling for messages
constexpr int kTagsPerOperation = 2;
// Tags go up to 32767, the minimum that MPI guarantees. One half is used for operations of all ranks, the other for
// operations of groups, since groups may have done different numbers of operations.
constexpr std::uint64_t kTagOperations = 1u << 13u;
constexpr int kFirstGroupTag = static_cast<int>(kTagOperations) * kTagsPerOperation;

class MessageCommunicator final : public Communicator {
public:
    MessageCommunicator(std::unique_ptr<Transport> transport, const Settings& settings)
        : transport_(std::move(transport)),
          timeout_seconds_(settings.timeout_seconds),
          everyone_(everyone()),
          leaders_(leaders()) {}
    ~MessageCommunicator() override {
        leave("ended early");
        transport_->close(state_ == State::finished);
    }

    int rank() const override { return transport_->rank(); }
    int size() const override { return static_cast<int>(nodes().node_of.size()); }
    int node() const override { return nodes().node_of[static_cast<std::size_t>(rank())]; }
    int local_rank() const override { return nodes().local_rank(rank()); }
    int local_size() const override { return static_cast<int>(own_node().size()); }

    void barrier(std::string_view what) override {
        guarded([&] { meet({.name = "barrier", .what = what}); });
    }

    void broadcast(std::span<std::byte> bytes, int root, std::string_view what) override {
        CNNTRAIN_CHECK(root >= 0 && root < size(), "root of a broadcast");
        guarded([&] {
            for (std::size_t begin = 0; begin < bytes.size(); begin += kBroadcastPiece) {
                const std::size_t count = std::min(kBroadcastPiece, bytes.size() - begin);
                broadcast_piece({.name = "broadcast", .what = what}, bytes.subspan(begin, count), root);
            }
        });
    }

    void exchange(std::span<const std::byte> out, std::span<std::byte> in, int partner,
                  std::string_view what) override {
        CNNTRAIN_CHECK(partner >= 0 && partner < size() && std::max(out.size(), in.size()) <= kLargestBytes,
                       "partner or size of an exchange");
        guarded([&] {
            const Operation operation{.name = "exchange", .what = what, .number = operations_};
            const int tag = next_tag();
            if (partner == rank()) return;
            const Transport::Ticket received = transport_->receive(partner, tag, in);
            const Transport::Ticket sent = transport_->send(partner, tag, out);
            await(operation, received);
            await(operation, sent);
        });
    }

    std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> words, std::string_view what) override {
        return guarded([&] { return gather_words({.name = "all-gather", .what = what}, words); });
    }

    /// Every rank sends to all others, because groups and messages are small.
    void all_gather_among(Group group, std::span<const std::byte> mine, std::span<std::byte> all,
                          std::string_view what) override {
        const int me = rank() - group.first;
        CNNTRAIN_CHECK(group.first >= 0 && me >= 0 && me < group.count && group.first + group.count <= size() &&
                           all.size() == mine.size() * static_cast<std::size_t>(group.count) &&
                           mine.size() <= kLargestBytes,
                       "group or size of an all-gather");
        guarded([&] {
            const Operation operation{.name = "all-gather", .what = what, .number = operations_};
            const int tag = kFirstGroupTag + static_cast<int>(group_operations_++ % kTagOperations) * kTagsPerOperation;
            const auto part = [&](int member) {
                return all.subspan(static_cast<std::size_t>(member) * mine.size(), mine.size());
            };
            std::ranges::copy(mine, part(me).begin());
            under_way_.clear();
            for (int member = 0; member < group.count; ++member) {
                if (member == me) continue;
                under_way_.push_back(transport_->receive(group.first + member, tag, part(member)));
                under_way_.push_back(transport_->send(group.first + member, tag, part(me)));
            }
            for (const Transport::Ticket ticket : under_way_)
                await(operation, ticket);
        });
    }

    Handle start_all_reduce(int bucket, std::span<float> values, const ReduceOptions& options) override {
        const bool one_rank_a_node = nodes().members.size() == nodes().node_of.size();
        if (options.route == Route::flat || one_rank_a_node)
            return start_flat("all-reduce", bucket, values, FlatReduction::Part::all_reduce, options.wire);
        return guarded([&] {
            BucketWork& work = begin("all-reduce", bucket, values.size());
            if (!work.in_node || work.in_node->capacity() < values.size()) share_bucket(work, values.size());
            work.hierarchical = true;
            work.busy = true;
            work.operation.number = operations_;
            work.in_node->start(values, options.wire, next_tag());
            return Handle{bucket, work.use};
        });
    }

    Handle start_reduce_scatter(int bucket, std::span<float> values, Wire wire) override {
        return start_flat("reduce-scatter", bucket, values, FlatReduction::Part::reduce_scatter, wire);
    }

    Handle start_all_gather(int bucket, std::span<float> values, Wire wire) override {
        return start_flat("all-gather", bucket, values, FlatReduction::Part::all_gather, wire);
    }

    bool progress() override {
        return guarded([&] {
            bool idle = true;
            for (auto& [number, work] : buckets_) {
                if (!work.busy) continue;
                work.busy = !(work.hierarchical ? work.in_node->advance(*transport_) : work.flat.advance(*transport_));
                idle = idle && !work.busy;
            }
            return idle;
        });
    }

    void wait(const Handle& handle) override {
        guarded([&] {
            const auto found = buckets_.find(handle.bucket);
            CNNTRAIN_CHECK(found != buckets_.end() && found->second.use == handle.use, "handle of a bucket");
            BucketWork& work = found->second;
            progress();
            wait_until(work.operation, [&] { return !work.busy; });
        });
    }

    void leave(std::string_view reason) override {
        const bool busy = std::ranges::any_of(buckets_, [](const auto& entry) { return entry.second.busy; });
        announce_leaving(reason, busy ? 0 : operations_);
    }

    void finish() override {
        guarded([&] {
            CNNTRAIN_CHECK(progress(), "the run ends while a bucket is under way");
            meet({.name = "end of the run", .what = {}});
            state_ = State::finished;
        });
    }

private:
    struct BucketWork {
        Operation operation;
        FlatReduction flat;
        std::unique_ptr<NodeReduction> in_node;
        bool hierarchical = false;  // which of the two reductions is in progress
        bool busy = false;
        std::uint64_t use = 0;
    };

    const Nodes& nodes() const { return transport_->nodes(); }
    const std::vector<int>& own_node() const { return nodes().members[static_cast<std::size_t>(node())]; }

    Team everyone() const {
        Team team;
        team.ranks.resize(static_cast<std::size_t>(size()));
        std::iota(team.ranks.begin(), team.ranks.end(), 0);
        team.me = rank();
        team.tree = nodes().members;
        return team;
    }

    Team leaders() const {
        Team team;
        for (const std::vector<int>& node : nodes().members) {
            team.tree.push_back({static_cast<int>(team.ranks.size())});
            team.ranks.push_back(node[0]);
        }
        team.me = node();
        return team;
    }

    /// All ranks start operations in the same order, so their tags agree.
    int next_tag() { return static_cast<int>(operations_++ % kTagOperations) * kTagsPerOperation; }

    void check_usable() const {
        if (state_ == State::in_use) return;
        throw Error(ErrorKind::internal, "an operation is started on a communicator that has ended");
    }

    /// Runs a part of an operation. A rank whose operation fails does not take part in later ones. It therefore
    /// notifies the others before the memory of pending messages is freed.
    template <typename Work> std::invoke_result_t<Work> guarded(Work&& work) {
        check_usable();
        try {
            return std::forward<Work>(work)();
        } catch (const std::exception& error) {
            announce_leaving(error.what(), 0);
            throw;
        }
    }

    template <typename Condition> void wait_until(const Operation& operation, Condition&& reached) {
        if (reached()) return;
        Watch watch(*transport_, timeout_seconds_, operation, left_);
        for (int turn = 0; !reached(); ++turn) {
            progress();
            if (turn % kTurnsPerCheck == 0) watch.check();
            transport_->idle(turn);
        }
    }

    void await(const Operation& operation, Transport::Ticket ticket) {
        wait_until(operation, [&] { return transport_->complete(ticket); });
    }

    void meet(const Operation& operation) {
        constexpr std::uint64_t kNothing = 0;
        gather_words(operation, std::span(&kNothing, 1));
    }

    /// Gathers in rounds: in round k, every rank has the words of 2^k ranks, starting with its own, and sends them to
    /// the rank 2^k before it. This takes log2(size) messages (Bruck et al. 1997, "Efficient algorithms for all-to-all
    /// communications in multiport message-passing systems").
    std::vector<std::uint64_t> gather_words(Operation operation, std::span<const std::uint64_t> own) {
        operation.number = operations_;
        const int tag = next_tag();
        const auto ranks = static_cast<std::size_t>(size());
        const auto me = static_cast<std::size_t>(rank());
        const std::size_t each = own.size();
        std::vector<std::uint64_t> words(ranks * each);  // words of rank me + i start at i * each
        std::ranges::copy(own, words.begin());
        try {
            for (std::size_t known = 1; known < ranks; known *= 2) {
                const std::size_t count = std::min(known, ranks - known) * each;
                const auto into = std::as_writable_bytes(std::span(words).subspan(known * each, count));
                const auto from = static_cast<int>((me + known) % ranks);
                const auto to = static_cast<int>((me + ranks - known) % ranks);
                const Transport::Ticket received = transport_->receive(from, tag, into);
                const Transport::Ticket sent = transport_->send(to, tag, std::as_bytes(std::span(words).first(count)));
                await(operation, received);
                await(operation, sent);
            }
        } catch (...) {
            unfinished_ = std::move(words);
            throw;
        }
        std::rotate(words.begin(), words.end() - static_cast<std::ptrdiff_t>(me * each), words.end());
        return words;
    }

    /// A binomial tree. With ranks counted from the root, each rank receives the piece from the rank without its lowest
    /// set bit, and sends it to ranks with one additional lower bit.
    void broadcast_piece(Operation operation, std::span<std::byte> piece, int root) {
        operation.number = operations_;
        const int tag = next_tag();
        const auto ranks = static_cast<unsigned>(size());
        const auto from_root = static_cast<unsigned>((rank() - root + size()) % size());
        const auto rank_of = [&](unsigned number) {
            return static_cast<int>((number + static_cast<unsigned>(root)) % ranks);
        };
        unsigned lowest = std::bit_ceil(ranks);
        if (from_root != 0) {
            lowest = from_root & (~from_root + 1);
            await(operation, transport_->receive(rank_of(from_root - lowest), tag, piece));
        }
        std::vector<Transport::Ticket> sent;
        for (unsigned bit = lowest / 2; bit > 0; bit /= 2) {
            if (from_root + bit < ranks) sent.push_back(transport_->send(rank_of(from_root + bit), tag, piece));
        }
        for (const Transport::Ticket ticket : sent)
            await(operation, ticket);
    }

    BucketWork& begin(const char* name, int bucket, std::size_t elements) {
        CNNTRAIN_CHECK(bucket >= 0 && elements <= kLargestBytes / sizeof(float), "number or size of a bucket");
        BucketWork& work = buckets_[bucket];
        CNNTRAIN_CHECK(!work.busy, "bucket " + std::to_string(bucket) + " is started while it is under way");
        work.operation = {.name = name, .bucket = bucket, .what = {}};
        ++work.use;
        return work;
    }

    Handle start_flat(const char* name, int bucket, std::span<float> values, FlatReduction::Part part, Wire wire) {
        return guarded([&] {
            BucketWork& work = begin(name, bucket, values.size());
            work.hierarchical = false;
            work.busy = true;
            work.operation.number = operations_;
            work.flat.start(*transport_, everyone_, values, part, wire, next_tag());
            return Handle{bucket, work.use};
        });
    }

    /// Sharing memory waits without a timeout, so the ranks synchronise before it. Smaller memory of an earlier use is
    /// kept, since a slower rank may still read it.
    void share_bucket(BucketWork& work, std::size_t elements) {
        meet({.name = "sharing memory", .bucket = work.operation.bucket, .what = {}});
        const std::size_t bytes = NodeReduction::shared_bytes(elements, local_size());
        try {
            const auto memory = transport_->share_memory(bytes, NodeReduction::zeroed_bytes(local_size()));
            work.in_node = std::make_unique<NodeReduction>(memory, elements, local_rank(), local_size(), leaders_);
        } catch (const Error& error) {
            throw error.within(work.operation.text());
        }
    }

    void announce_leaving(std::string_view reason, std::uint64_t finished) {
        if (state_ != State::in_use) return;
        state_ = State::left;
        Notice notice = make_notice(Notice::Kind::left, rank(), reason);
        notice.finished = finished;
        transport_->post(notice);
    }

    std::unique_ptr<Transport> transport_;
    double timeout_seconds_;
    Team everyone_;
    Team leaders_;
    std::map<int, BucketWork> buckets_;
    std::uint64_t operations_ = 0;
    std::uint64_t group_operations_ = 0;
    std::vector<Transport::Ticket> under_way_;  // messages of a group's operation
    Leavers left_;
    std::vector<std::uint64_t> unfinished_;  // buffer of a failed all-gather: messages may still arrive in it
    enum class State : std::uint8_t { in_use, left, finished } state_ = State::in_use;
};

}  // namespace

std::unique_ptr<Communicator> make_over_transport(std::unique_ptr<Transport> transport, const Settings& settings) {
    return std::make_unique<MessageCommunicator>(std::move(transport), settings);
}

}  // namespace cnntrain::comm
