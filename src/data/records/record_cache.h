// Encoded records in memory that the processes of one user on one host share.
//
// A file on a file system in memory, mapped by everyone who reads the same data. A record is read into it the first
// time that anybody wants it, until the budget is used up; nothing is ever replaced, because with a fresh permutation
// each epoch a fixed part of the records is hit as often as any other choice. Memory is reserved before it is touched,
// so that a full file system ends the growth and not the process. Whoever uses the file holds a shared lock on it: the
// last one removes it, and an unlocked one was left behind by killed processes and is taken over or removed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "cnntrain/data/tfrecord.h"

namespace cnntrain::data {

struct RecordCacheSettings {
    std::string folder = "/dev/shm";
    std::uint64_t identity = 0;  // same number: same records
    std::int64_t records = 0;
    std::uint64_t data_bytes = 0;    // of all records together, at most; more room is never taken
    std::uint64_t budget_bytes = 0;  // tables included; of processes that share, the first one's counts
    std::uint64_t chunk_bytes = std::uint64_t{64} << 20;  // reserved at a time
};

class RecordCache {
public:
    /// Null when there can be none; log::warning says why.
    static std::unique_ptr<RecordCache> open(const RecordCacheSettings& settings);
    ~RecordCache();
    RecordCache(const RecordCache&) = delete;
    RecordCache& operator=(const RecordCache&) = delete;

    bool contains(std::int64_t record) const noexcept;
    /// The `bytes` bytes published for the record, valid as long as this object.
    std::optional<std::span<const std::byte>> find(std::int64_t record, std::uint64_t bytes) const;
    /// Room for a record that nobody has claimed; to be filled and published. A claim that is not published (damaged
    /// record, killed process) keeps that record out of the cache, and nothing else.
    std::optional<std::span<std::byte>> claim(std::int64_t record, std::uint64_t bytes);
    void publish(std::int64_t record, std::span<const std::byte> room);

    RecordCacheStats stats() const;
    const std::string& path() const { return path_; }

private:
    struct Header;
    using Shared = std::atomic_ref<std::uint64_t>;

    /// Owns `descriptor`, which holds the shared lock.
    RecordCache(std::string path, int descriptor, std::uint64_t mapped_bytes);
    static bool prepare(int descriptor, const RecordCacheSettings& settings);
    static std::uint64_t ready_bytes(int descriptor, const RecordCacheSettings& settings);
    Header& header() const;
    Shared slot(std::int64_t record) const;
    std::uint64_t allocate(std::uint64_t bytes);
    bool reserve(std::uint64_t end_bytes);

    std::string path_;
    int descriptor_;
    std::uint64_t chunk_bytes_ = 0;
    std::byte* memory_ = nullptr;
    std::uint64_t mapped_bytes_;
    std::mutex growing_;
    mutable std::atomic<std::uint64_t> hits_ = 0;
};

}  // namespace cnntrain::data
