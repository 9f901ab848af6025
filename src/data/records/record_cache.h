// A cache of encoded records in memory shared by one user's processes on a host.
//
// The cache is a file on an in-memory file system, mapped by all processes that read the same data. A record is stored
// when any process first reads it, until the budget is used up. Records are never replaced: with a new permutation in
// each epoch, a fixed subset of the records gets as many hits as any other. Memory is reserved before it is touched, so
// that a full file system stops the cache's growth and does not kill the process. Every user holds a shared lock on the
// file. The last user removes it; an unlocked file was left by killed processes and is taken over or removed.
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
    std::uint64_t identity = 0;  // equal for equal records
    std::int64_t records = 0;
    std::uint64_t data_bytes = 0;                         // total size of all records; an upper limit of the cache
    std::uint64_t budget_bytes = 0;                       // including tables; processes that share use the first one's
    std::uint64_t chunk_bytes = std::uint64_t{64} << 20;  // size of each reservation
};

class RecordCache {
public:
    /// Null if no cache is possible; a warning gives the reason.
    static std::unique_ptr<RecordCache> open(const RecordCacheSettings& settings);
    ~RecordCache();
    RecordCache(const RecordCache&) = delete;
    RecordCache& operator=(const RecordCache&) = delete;

    bool contains(std::int64_t record) const noexcept;
    /// The `bytes` bytes published for the record, valid as long as this object.
    std::optional<std::span<const std::byte>> find(std::int64_t record, std::uint64_t bytes) const;
    /// Room for a record that no process has claimed; the caller fills and publishes it. A claim that is never
    /// published (damaged record, killed process) only keeps that record out of the cache.
    std::optional<std::span<std::byte>> claim(std::int64_t record, std::uint64_t bytes);
    void publish(std::int64_t record, std::span<const std::byte> room);

    RecordCacheStats stats() const;
    const std::string& path() const { return path_; }

private:
    struct Header;
    using Shared = std::atomic_ref<std::uint64_t>;

    /// Takes ownership of `descriptor`, which holds the shared lock.
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
