// Ranks that are threads of one process: messages are copied into mailboxes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "parallel/comm/transport.h"

namespace cnntrain::comm {

/// State shared by the ranks of one process.
struct ThreadWorld {
    struct Block {
        std::unique_ptr<std::uint64_t[]> words;
        std::size_t bytes = 0;
    };

    explicit ThreadWorld(const Nodes& grouped) : nodes(grouped), notices(grouped.node_of.size()) {}

    const Nodes nodes;
    std::mutex mutex;  // guards all following members
    std::condition_variable changed;
    std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> mail;  // by sender, receiver, tag
    std::vector<std::deque<Notice>> notices;                                       // by receiver
    std::map<std::pair<int, std::size_t>, Block> shared;                           // by node and block number
};

class ThreadTransport final : public Transport {
public:
    ThreadTransport(std::shared_ptr<ThreadWorld> world, int rank) : world_(std::move(world)), rank_(rank) {}

    int rank() const override { return rank_; }
    const Nodes& nodes() const override { return world_->nodes; }

    Ticket send(int to, int tag, std::span<const std::byte> bytes) override {
        const std::lock_guard lock(world_->mutex);
        world_->mail[{rank_, to, tag}].emplace_back(bytes.begin(), bytes.end());
        world_->changed.notify_all();
        return kSent;
    }

    Ticket receive(int from, int tag, std::span<std::byte> bytes) override {
        receives_[++last_ticket_] = {from, tag, bytes};
        return last_ticket_;
    }

    bool complete(Ticket ticket) override {
        if (ticket == kSent) return true;
        const Receive& receive = receives_.at(ticket);
        std::vector<std::byte> message;
        {
            const std::lock_guard lock(world_->mutex);
            const auto box = world_->mail.find({receive.from, rank_, receive.tag});
            if (box == world_->mail.end()) return false;
            message = std::move(box->second.front());
            box->second.pop_front();
            if (box->second.empty()) world_->mail.erase(box);
        }
        CNNTRAIN_CHECK(message.size() == receive.into.size(), "ranks disagree on the size of a message");
        if (!message.empty()) std::memcpy(receive.into.data(), message.data(), message.size());
        receives_.erase(ticket);
        return true;
    }

    std::span<std::byte> share_memory(std::size_t bytes, std::size_t /*zeroed*/) override {
        const std::lock_guard lock(world_->mutex);
        const int node = world_->nodes.node_of[static_cast<std::size_t>(rank_)];
        ThreadWorld::Block& block = world_->shared[{node, blocks_++}];
        if (block.words == nullptr) {
            block.words =
                std::make_unique<std::uint64_t[]>((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
            block.bytes = bytes;
        }
        CNNTRAIN_CHECK(block.bytes == bytes, "ranks disagree on the size of shared memory");
        return std::as_writable_bytes(std::span(block.words.get(), bytes / sizeof(std::uint64_t)));
    }

    void post(const Notice& notice) override {
        const std::lock_guard lock(world_->mutex);
        for (std::size_t to = 0; to < world_->notices.size(); ++to) {
            if (to != static_cast<std::size_t>(rank_)) world_->notices[to].push_back(notice);
        }
        world_->changed.notify_all();
    }

    bool next_notice(Notice& notice) override {
        const std::lock_guard lock(world_->mutex);
        auto& mine = world_->notices[static_cast<std::size_t>(rank_)];
        if (mine.empty()) return false;
        notice = mine.front();
        mine.pop_front();
        return true;
    }

    /// Changes in shared memory cannot be signalled, so the wait is short.
    void idle(int /*turn*/) override {
        std::unique_lock lock(world_->mutex);
        world_->changed.wait_for(lock, std::chrono::microseconds(100));
    }

    /// Threads of other ranks may still use the world; the last one destroys it.
    void close(bool /*orderly*/) override {}

private:
    struct Receive {
        int from = 0, tag = 0;
        std::span<std::byte> into;
    };
    static constexpr Ticket kSent = 0;  // messages are copied when sent

    std::shared_ptr<ThreadWorld> world_;
    int rank_;
    std::map<Ticket, Receive> receives_;
    Ticket last_ticket_ = kSent;
    std::size_t blocks_ = 0;
};

/// One communicator for each of `ranks` threads.
inline std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks, const Settings& settings) {
    const std::vector<std::uint64_t> one_host(static_cast<std::size_t>(ranks));
    const auto world = std::make_shared<ThreadWorld>(group_nodes(one_host, settings.ranks_per_node));
    std::vector<std::unique_ptr<Communicator>> communicators;
    communicators.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
        communicators.push_back(make_over_transport(std::make_unique<ThreadTransport>(world, rank), settings));
    return communicators;
}

}  // namespace cnntrain::comm
