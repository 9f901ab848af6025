#include "data/records/record_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"

namespace cnntrain::data {
namespace {

constexpr const char* kLayout = "1";  // part of the file name, so that each layout has its own file
constexpr std::uint64_t kCacheMagic = 0x64726f6365726363;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kAlignment = 64;  // keeps records in separate cache lines
/// If the file system is nearly full, a smaller part of the usual chunk may still fit. The rest is left to other
/// programs.
constexpr std::uint64_t kSmallestPart = 16;
constexpr int kCacheAttempts = 100;
constexpr auto kBetweenAttempts = std::chrono::milliseconds(5);

// Values of a record's slot; larger numbers are the record's offset in the file.
constexpr std::uint64_t kAbsent = 0;
constexpr std::uint64_t kClaimed = 1;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// The header takes the first page, the slots the following ones.
constexpr std::uint64_t records_begin(std::int64_t records) {
    return kPageBytes + round_up(static_cast<std::uint64_t>(records) * sizeof(std::uint64_t), kPageBytes);
}

/// Size of the file once everything that fits is in it.
std::uint64_t capacity_bytes(const RecordCacheSettings& settings) {
    const std::uint64_t all = records_begin(settings.records) + settings.data_bytes +
                              static_cast<std::uint64_t>(settings.records) * kAlignment;
    return std::min(settings.budget_bytes, round_up(all, kPageBytes)) / kPageBytes * kPageBytes;
}

std::string file_prefix() {
    return "cnntrain-records-" + std::to_string(::geteuid()) + "-";
}

[[noreturn]] void fail_system(const std::string& what, int error) {
    throw Error(ErrorKind::storage, what + ": " + std::generic_category().message(error));
}

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int get() const { return number_; }
    int release() { return std::exchange(number_, -1); }

private:
    int number_;
};

/// Returns false if LOCK_NB is given and another process holds a lock.
bool lock(int descriptor, int how) {
    while (::flock(descriptor, how) != 0) {
        if (errno == EWOULDBLOCK) return false;
        if (errno != EINTR) fail_system("cannot lock it", errno);
    }
    return true;
}

/// Whether `path` still names the open file: its last user may have removed it after it was opened.
bool is_named(int descriptor, const std::string& path) {
    struct stat open {};
    struct stat named {};
    return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
           open.st_dev == named.st_dev;
}

int open_own_file(const std::string& path, int flags) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (descriptor < 0) return descriptor;
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() && S_ISREG(status.st_mode)) return descriptor;
    ::close(descriptor);
    errno = EPERM;
    return -1;
}

/// Removes files left by killed processes; they would keep their memory indefinitely.
void remove_left_overs(const std::string& folder, const std::string& wanted) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string path = entry->path().string();
        if (path == wanted || !entry->path().filename().string().starts_with(file_prefix())) continue;
        const Descriptor file(open_own_file(path, 0));
        if (file.get() < 0 || !lock(file.get(), LOCK_EX | LOCK_NB) || !is_named(file.get(), path)) continue;
        log::debug("removed " + path + ", which a killed process left behind");
        ::unlink(path.c_str());
    }
}

int allocate_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
    int error = EINTR;
    while (error == EINTR)
        error = ::posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    return error;
}

/// Prevents other processes from reserving memory. Never blocks: the holder may be stopped, so a process that does not
/// get the lock continues without caching.
class GrowthLock {
public:
    explicit GrowthLock(int descriptor) : descriptor_(descriptor), held_(set(F_WRLCK)) {}
    GrowthLock(const GrowthLock&) = delete;
    GrowthLock& operator=(const GrowthLock&) = delete;
    ~GrowthLock() {
        if (held_) set(F_UNLCK);
    }
    bool held() const { return held_; }

private:
    bool set(short type) const {
        struct flock range {};
        range.l_type = type;
        range.l_whence = SEEK_SET;
        range.l_len = 1;
        return ::fcntl(descriptor_, F_OFD_SETLK, &range) == 0;
    }

    int descriptor_;
    bool held_;
};

}  // namespace

/// Located at the start of the file. The first four members are written only while no other process uses the file.
struct RecordCache::Header {
    std::uint64_t magic;
    std::uint64_t identity;
    std::uint64_t records;
    std::uint64_t capacity_bytes;
    std::uint64_t reserved_bytes;  // reserved memory, which may be accessed
    std::uint64_t used_bytes;      // allocated part of it
    std::uint64_t full;            // 1: nothing more is allocated
    std::uint64_t cached_records;
    std::uint64_t cached_bytes;
};

std::unique_ptr<RecordCache> RecordCache::open(const RecordCacheSettings& settings) {
    const std::string path = settings.folder + "/" + file_prefix() + hex_text(hash_text(kLayout, settings.identity));
    try {
        if (capacity_bytes(settings) <= records_begin(settings.records)) {
            throw Error(ErrorKind::usage, size_text(settings.budget_bytes) + " do not even hold the list of " +
                                              std::to_string(settings.records) + " records");
        }
        remove_left_overs(settings.folder, path);
        for (int attempt = 0; attempt < kCacheAttempts; ++attempt) {
            if (attempt > 0) std::this_thread::sleep_for(kBetweenAttempts);
            Descriptor file(open_own_file(path, O_CREAT));
            if (file.get() < 0) fail_system("cannot open it", errno);
            const bool alone = lock(file.get(), LOCK_EX | LOCK_NB);
            if (alone && is_named(file.get(), path) && !prepare(file.get(), settings)) {
                const int error = errno;
                ::unlink(path.c_str());
                fail_system("cannot reserve its tables", error);
            }
            lock(file.get(), LOCK_SH);
            // 0 if the last user removed the file meanwhile, or if its creator was killed before it was ready.
            const std::uint64_t bytes = is_named(file.get(), path) ? ready_bytes(file.get(), settings) : 0;
            if (bytes == 0) continue;
            std::unique_ptr<RecordCache> cache(new RecordCache(path, file.release(), bytes));
            cache->chunk_bytes_ = settings.chunk_bytes;
            return cache;
        }
        throw Error(ErrorKind::storage, "another program seems to use it");
    } catch (const Error& error) {
        log::warning("no record cache: " + path + ": " + error.what() +
                     "; all records are read from their files (--dataset-cache-gb sets the size of the cache)");
        return nullptr;
    }
}

/// Takes over a left-over file or initialises a new one, while no other process uses it. Returns false, with errno, if
/// there is no room.
bool RecordCache::prepare(int descriptor, const RecordCacheSettings& settings) {
    Header header{};
    const std::uint64_t capacity = capacity_bytes(settings);
    const bool usable = ready_bytes(descriptor, settings) != 0 &&
                        ::pread(descriptor, &header, sizeof header, 0) == ssize_t{sizeof header} &&
                        header.reserved_bytes <= capacity;
    if (!usable) {
        const std::uint64_t begin = records_begin(settings.records);
        header = {
            kCacheMagic, settings.identity, static_cast<std::uint64_t>(settings.records), 0, begin, begin, 0, 0, 0};
        if (::ftruncate(descriptor, 0) != 0) return false;
        if (const int error = allocate_file(descriptor, 0, begin); error != 0) {
            errno = error;
            return false;
        }
    }
    header.capacity_bytes = capacity;
    header.full = 0;
    return ::pwrite(descriptor, &header, sizeof header, 0) == ssize_t{sizeof header};
}

/// The size of a file that holds these records, or 0 for any other file.
std::uint64_t RecordCache::ready_bytes(int descriptor, const RecordCacheSettings& settings) {
    Header header{};
    struct stat status {};
    const bool fits = ::pread(descriptor, &header, sizeof header, 0) == ssize_t{sizeof header} &&
                      ::fstat(descriptor, &status) == 0 && header.magic == kCacheMagic &&
                      header.identity == settings.identity &&
                      header.records == static_cast<std::uint64_t>(settings.records) &&
                      header.reserved_bytes >= records_begin(settings.records) &&
                      header.used_bytes <= header.reserved_bytes && header.reserved_bytes <= header.capacity_bytes &&
                      header.reserved_bytes <= static_cast<std::uint64_t>(status.st_size);
    return fits ? header.capacity_bytes : 0;
}

RecordCache::RecordCache(std::string path, int descriptor, std::uint64_t mapped_bytes)
    : path_(std::move(path)), descriptor_(descriptor), mapped_bytes_(mapped_bytes) {
    // Maps more than the file's present size: memory reserved later appears in the mapping.
    void* memory = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) {
        const int error = errno;
        ::close(descriptor_);
        fail_system("cannot map it", error);
    }
    memory_ = static_cast<std::byte*>(memory);
}

RecordCache::~RecordCache() {
    ::munmap(memory_, mapped_bytes_);
    // Succeeds only for the last user. The attempt may drop our shared lock, which is not needed any more.
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && is_named(descriptor_, path_)) ::unlink(path_.c_str());
    ::close(descriptor_);
}

RecordCache::Header& RecordCache::header() const {
    return *reinterpret_cast<Header*>(memory_);
}

RecordCache::Shared RecordCache::slot(std::int64_t record) const {
    CNNTRAIN_CHECK(record >= 0 && static_cast<std::uint64_t>(record) < header().records, "record out of range");
    return Shared(reinterpret_cast<std::uint64_t*>(memory_ + kPageBytes)[record]);
}

bool RecordCache::contains(std::int64_t record) const noexcept {
    return slot(record).load(std::memory_order_relaxed) > kClaimed;
}

std::optional<std::span<const std::byte>> RecordCache::find(std::int64_t record, std::uint64_t bytes) const {
    const std::uint64_t begin = slot(record).load(std::memory_order_acquire);
    const std::uint64_t end = Shared(header().used_bytes).load(std::memory_order_relaxed);
    // Data written by other processes must not lead outside the mapping.
    if (begin <= kClaimed || end > mapped_bytes_ || begin > end || bytes > end - begin) return std::nullopt;
    hits_.fetch_add(1, std::memory_order_relaxed);
    return std::span<const std::byte>(memory_ + begin, bytes);
}

std::optional<std::span<std::byte>> RecordCache::claim(std::int64_t record, std::uint64_t bytes) {
    if (Shared(header().full).load(std::memory_order_relaxed) != 0) return std::nullopt;
    const Shared own = slot(record);
    std::uint64_t state = kAbsent;
    if (!own.compare_exchange_strong(state, kClaimed, std::memory_order_relaxed)) return std::nullopt;
    const std::uint64_t begin = allocate(bytes);
    if (begin == 0) {
        own.store(kAbsent, std::memory_order_relaxed);
        return std::nullopt;
    }
    return std::span<std::byte>(memory_ + begin, bytes);
}

void RecordCache::publish(std::int64_t record, std::span<const std::byte> room) {
    Shared(header().cached_records).fetch_add(1, std::memory_order_relaxed);
    Shared(header().cached_bytes).fetch_add(room.size(), std::memory_order_relaxed);
    slot(record).store(static_cast<std::uint64_t>(room.data() - memory_), std::memory_order_release);
}

/// Offset of the allocated room; 0 if there is none, possibly only at the moment.
std::uint64_t RecordCache::allocate(std::uint64_t bytes) {
    const Shared used(header().used_bytes);
    std::uint64_t begin = used.load(std::memory_order_relaxed);
    std::uint64_t end = 0;
    do {
        if (begin > mapped_bytes_ || bytes > mapped_bytes_ - begin ||
            (end = round_up(begin + bytes, kAlignment)) > mapped_bytes_) {
            Shared(header().full).store(1, std::memory_order_relaxed);
            return 0;
        }
        if (end > Shared(header().reserved_bytes).load(std::memory_order_acquire) && !reserve(end)) return 0;
    } while (!used.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return begin;
}

bool RecordCache::reserve(std::uint64_t end_bytes) {
    const std::unique_lock<std::mutex> threads(growing_, std::try_to_lock);
    if (!threads.owns_lock()) return false;
    const GrowthLock processes(descriptor_);
    if (!processes.held()) return false;
    const Shared reserved(header().reserved_bytes);
    const std::uint64_t now = reserved.load(std::memory_order_acquire);
    if (now >= end_bytes) return true;
    int error = 0;
    for (std::uint64_t part = 1; part <= kSmallestPart; part *= 2) {
        const std::uint64_t piece = round_up(std::max(end_bytes - now, chunk_bytes_ / part), kPageBytes);
        const std::uint64_t end = std::min(now + piece, mapped_bytes_);
        error = allocate_file(descriptor_, now, end - now);
        if (error == 0) {
            reserved.store(end, std::memory_order_release);
            return true;
        }
    }
    Shared(header().full).store(1, std::memory_order_relaxed);
    log::warning("the record cache " + path_ + " is full at " + size_text(now) + " of " + size_text(mapped_bytes_) +
                 " (" + std::generic_category().message(error) +
                 "); the other records are read from their files. Give the file system more room (docker run "
                 "--shm-size, mount -o remount,size=...) or the cache a smaller budget (--dataset-cache-gb)");
    return false;
}

RecordCacheStats RecordCache::stats() const {
    const auto value = [](std::uint64_t& number) { return Shared(number).load(std::memory_order_relaxed); };
    Header& shared = header();
    return {value(shared.cached_records), value(shared.cached_bytes), value(shared.reserved_bytes), mapped_bytes_,
            hits_.load(std::memory_order_relaxed)};
}

}  // namespace cnntrain::data
