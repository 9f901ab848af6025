#include "data/records/record_cache.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>
#include <tuple>

#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

constexpr std::uint64_t kTables = 8192;  // header, and slots of up to 512 records

std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What `action` says on stderr.
std::string said(const std::function<void()>& action) {
    testing::internal::CaptureStderr();
    action();
    return testing::internal::GetCapturedStderr();
}

class Cache : public testing::Test {
protected:
    Cache() {
        settings_.folder = folder_.path();
        settings_.identity = 77;
        settings_.records = 100;
        settings_.data_bytes = 1'000'000;
        settings_.budget_bytes = 1 << 20;
        settings_.chunk_bytes = 64 * 1024;
    }

    std::unique_ptr<RecordCache> open() { return RecordCache::open(settings_); }
    static bool put(RecordCache& cache, std::int64_t record, const std::string& content) {
        const auto room = cache.claim(record, content.size());
        if (!room) return false;
        if (!content.empty()) std::memcpy(room->data(), content.data(), content.size());
        cache.publish(record, *room);
        return true;
    }
    static std::string get(const RecordCache& cache, std::int64_t record, std::size_t bytes) {
        const auto found = cache.find(record, bytes);
        return found ? text(*found) : "(absent)";
    }
    std::vector<std::string> left() const { return posix_files().list(folder_.path()); }
    /// The exit status of a child that runs `action`; 0 stands for true. A killed one has 1000 + signal.
    static int in_child(const std::function<bool()>& action) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(action() ? 0 : 1);
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    /// As a process that is killed leaves it: nothing tidied up, a record claimed and not filled.
    void leave_behind(bool claim_one) {
        EXPECT_EQ(in_child([&] {
                      const auto cache = open();
                      put(*cache, 3, "three");
                      if (claim_one) cache->claim(4, 10);
                      return std::raise(SIGKILL) == 0;
                  }),
                  1000 + SIGKILL);
    }

    test::TemporaryFolder folder_;
    RecordCacheSettings settings_;
};

TEST_F(Cache, HoldsWhatIsPublished) {
    const auto cache = open();
    EXPECT_EQ(get(*cache, 0, 3), "(absent)");
    EXPECT_FALSE(cache->contains(0));
    const auto room = cache->claim(0, 3);
    ASSERT_TRUE(room);
    EXPECT_FALSE(cache->find(0, 3)) << "not yet published";
    EXPECT_FALSE(cache->claim(0, 3)) << "claimed already";
    std::memcpy(room->data(), "abc", 3);
    cache->publish(0, *room);
    EXPECT_TRUE(cache->contains(0));
    EXPECT_EQ(get(*cache, 0, 3), "abc");
    EXPECT_TRUE(put(*cache, 99, std::string(100'000, 'x')));
    EXPECT_TRUE(put(*cache, 98, ""));
    EXPECT_EQ(get(*cache, 99, 100'000), std::string(100'000, 'x'));
    EXPECT_EQ(get(*cache, 98, 0), "");
    EXPECT_EQ(get(*cache, 0, 3), "abc");
    const RecordCacheStats stats = cache->stats();
    EXPECT_EQ(stats.records, 3u);
    EXPECT_EQ(stats.bytes, 100'003u);
    EXPECT_EQ(stats.hits, 4u);
    EXPECT_EQ(stats.reserved_bytes % 4096, 0u);
    EXPECT_GE(stats.reserved_bytes, kTables + 100'003);
    EXPECT_LE(stats.reserved_bytes, kTables + 4 * settings_.chunk_bytes);
}

TEST_F(Cache, NeverTakesMoreThanItsBudget) {
    settings_.budget_bytes = kTables + 12 * 1024 + 100;  // whole pages are used
    const auto cache = open();
    for (int i = 0; i < 12; ++i) {
        EXPECT_TRUE(put(*cache, i, std::string(1024, static_cast<char>('a' + i))));
    }
    EXPECT_FALSE(put(*cache, 12, "more"));
    EXPECT_FALSE(put(*cache, 13, "more"));
    EXPECT_EQ(get(*cache, 0, 1024), std::string(1024, 'a'));
    EXPECT_EQ(get(*cache, 11, 1024), std::string(1024, 'l'));
    EXPECT_EQ(cache->stats().budget_bytes, kTables + 12 * 1024);
}

TEST_F(Cache, TakesNoMoreThanTheDataNeeds) {
    settings_.budget_bytes = std::uint64_t{1} << 40;
    settings_.data_bytes = 1000;
    const auto cache = open();
    EXPECT_TRUE(put(*cache, 0, std::string(1000, 'x')));
    EXPECT_LT(cache->stats().reserved_bytes, 30'000u);
    EXPECT_LT(cache->stats().budget_bytes, 30'000u);
}

TEST_F(Cache, TooSmallABudgetForTheTablesMeansNone) {
    settings_.budget_bytes = 4096;
    EXPECT_THAT(said([&] { EXPECT_EQ(open(), nullptr); }), Not(IsEmpty()));
    settings_.budget_bytes = 1 << 20;
    settings_.folder = "/nowhere";
    EXPECT_THAT(said([&] { EXPECT_EQ(open(), nullptr); }), HasSubstr("/nowhere"));
}

TEST_F(Cache, ProcessesSeeEachOthersRecords) {
    const auto cache = open();
    EXPECT_TRUE(put(*cache, 1, "from the parent"));
    EXPECT_EQ(in_child([&] {
                  settings_.budget_bytes *= 2;  // the first one's budget counts
                  const auto mine = open();
                  const bool same_budget = mine->stats().budget_bytes == cache->stats().budget_bytes;
                  const bool right = same_budget && get(*mine, 1, 15) == "from the parent" &&
                                     put(*mine, 2, "from the child") && mine->stats().records == 2;
                  return right && mine->claim(5, 10).has_value();  // and ends without publishing
              }),
              0);
    EXPECT_EQ(get(*cache, 2, 14), "from the child");
    EXPECT_EQ(cache->stats().records, 2u);
    EXPECT_EQ(get(*cache, 5, 10), "(absent)");
    EXPECT_FALSE(cache->claim(5, 10));
    EXPECT_TRUE(put(*cache, 6, "life goes on"));
}

TEST_F(Cache, ProcessesFillItTogether) {
    settings_.records = 400;
    const auto content = [](int record) {
        return std::string(static_cast<std::size_t>(500 + record), static_cast<char>(record));
    };
    const auto fill = [&] {
        const auto cache = open();
        const auto some = [&](int first) {
            for (int i = 0; i < 400; ++i) {
                const int record = (first + i * 7) % 400;
                const std::string expected = content(record);
                const std::string found = get(*cache, record, expected.size());
                if (found == "(absent)") put(*cache, record, expected);
                if (found != "(absent)" && found != expected) ::_exit(3);
            }
        };
        std::thread other(some, 200);
        some(0);
        other.join();
        return true;
    };
    const auto cache = open();
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        children.push_back(::fork());
        if (children.back() == 0) ::_exit(fill() ? 0 : 1);
    }
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    std::uint64_t cached = 0;
    for (int i = 0; i < 400; ++i) {
        const std::string found = get(*cache, i, content(i).size());
        if (found == "(absent)") continue;  // at the end of a piece: nobody waits for its growth
        EXPECT_EQ(found, content(i));
        ++cached;
    }
    EXPECT_EQ(cached, cache->stats().records);
    EXPECT_GT(cached, 300u);
}

TEST_F(Cache, TheLastUserRemovesTheFile) {
    auto first = open();
    auto second = open();
    EXPECT_EQ(left().size(), 1u);
    put(*first, 1, "one");
    first.reset();
    EXPECT_EQ(left().size(), 1u);
    EXPECT_EQ(get(*second, 1, 3), "one");
    auto third = open();
    second.reset();
    EXPECT_EQ(get(*third, 1, 3), "one");
    third.reset();
    EXPECT_THAT(left(), ElementsAre());
}

TEST_F(Cache, WhatAKilledProcessLeftIsTakenOverWarm) {
    leave_behind(true);
    ASSERT_EQ(left().size(), 1u);
    settings_.budget_bytes = 1 << 19;  // nobody else uses it: the new budget counts
    auto cache = open();
    EXPECT_EQ(get(*cache, 3, 5), "three");
    EXPECT_FALSE(cache->find(4, 10));
    EXPECT_FALSE(cache->claim(4, 10)) << "read from its file from now on";
    EXPECT_TRUE(put(*cache, 5, "five"));
    EXPECT_EQ(cache->stats().budget_bytes, settings_.budget_bytes);
    cache.reset();
    EXPECT_THAT(left(), ElementsAre());
}

TEST_F(Cache, ALeftOverThatIsLargerThanTheBudgetIsMadeAnew) {
    leave_behind(false);
    settings_.budget_bytes = kTables + 16 * 1024;
    const auto cache = open();
    EXPECT_EQ(get(*cache, 3, 5), "(absent)");
    EXPECT_LE(std::filesystem::file_size(cache->path()), settings_.budget_bytes);
}

TEST_F(Cache, LeftOversOfOtherDataAreRemovedAndFilesInUseAreNot) {
    leave_behind(false);
    settings_.identity = 78;
    const auto in_use = open();
    EXPECT_EQ(left().size(), 1u) << "the left-over is gone";
    write_file(folder_ / "cnntrain-other", "x");
    settings_.identity = 79;
    const auto cache = open();
    EXPECT_EQ(left().size(), 3u);
    EXPECT_TRUE(std::filesystem::exists(in_use->path()));
}

TEST_F(Cache, ADamagedLeftOverIsMadeAnew) {
    std::string path;
    {
        const auto cache = open();
        path = cache->path();
    }
    for (const std::string& content : {std::string(), std::string("short"), std::string(50'000, '\xff')}) {
        write_file(path, content);
        const auto cache = open();
        ASSERT_NE(cache, nullptr);
        EXPECT_TRUE(put(*cache, 1, "one"));
        EXPECT_EQ(get(*cache, 1, 3), "one");
        EXPECT_EQ(get(*cache, 2, 3), "(absent)");
    }
}

TEST_F(Cache, SlotsThatLeadOutsideAreNotFollowed) {
    const auto cache = open();
    put(*cache, 1, "one");
    EXPECT_FALSE(cache->find(1, 1'000'000'000));
    EXPECT_FALSE(cache->find(1, UINT64_MAX));
    const std::uint64_t outside = std::uint64_t{1} << 40;
    const int file = ::open(cache->path().c_str(), O_WRONLY);
    ASSERT_EQ(::pwrite(file, &outside, sizeof outside, 4096 + 8), ssize_t{sizeof outside});
    ::close(file);
    EXPECT_EQ(get(*cache, 1, 3), "(absent)");
}

/// A limit on the size of files stands for a small file system.
class Limited {
public:
    explicit Limited(rlim_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    Limited(const Limited&) = delete;
    Limited& operator=(const Limited&) = delete;
    ~Limited() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

TEST_F(Cache, AFullFileSystemEndsTheGrowthWithOneWarning) {
    const auto cache = open();
    std::string warnings;
    int cached = 0;
    {
        const Limited limited(kTables + 100 * 1024);
        warnings = said([&] {
            for (int i = 0; i < 50; ++i)
                cached += put(*cache, i, std::string(5000, static_cast<char>(i))) ? 1 : 0;
        });
    }
    EXPECT_GE(cached, 17);
    EXPECT_LE(cached, 20);
    EXPECT_EQ(get(*cache, 16, 5000), std::string(5000, '\x10'));
    EXPECT_THAT(warnings, HasSubstr("is full at"));
    EXPECT_THAT(warnings, HasSubstr("--shm-size"));
    EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1);
    EXPECT_EQ(static_cast<std::uint64_t>(cached), cache->stats().records);
}

TEST_F(Cache, NoRoomForTheTablesMeansNone) {
    const Limited limited(4096);
    EXPECT_THAT(said([&] { EXPECT_EQ(open(), nullptr); }), Not(IsEmpty()));
    EXPECT_THAT(left(), ElementsAre());
}

/// The cache as RecordFiles use it.
class CachedRecords : public testing::Test {
protected:
    CachedRecords() {
        for (int i = 0; i < 20; ++i)
            payloads_.push_back(std::string(static_cast<std::size_t>(1000 * i), static_cast<char>('a' + i)));
        write_records(data_ / "a", {payloads_.begin(), payloads_.begin() + 7});
        write_records(data_ / "b", {payloads_.begin() + 7, payloads_.end()});
    }
    RecordOptions options(std::int64_t cache_bytes) const {
        return {.cache_bytes = cache_bytes, .cache_folder = cache_.path()};
    }
    /// Reads everything, and how many of the records came from the cache.
    std::uint64_t read_all(const RecordFiles& records) {
        const std::uint64_t before = records.cache().hits;
        for (std::int64_t i = 0; i < records.size(); ++i) {
            EXPECT_EQ(text(records.read(i, buffer_)), payloads_[static_cast<std::size_t>(i)]);
        }
        return records.cache().hits - before;
    }

    test::TemporaryFolder data_;
    test::TemporaryFolder cache_;
    std::vector<std::string> payloads_;
    std::vector<std::byte> buffer_;
};

TEST_F(CachedRecords, AreTheSameRecords) {
    const RecordFiles records({data_ / "a", data_ / "b"}, options(1 << 20));
    EXPECT_EQ(read_all(records), 0u);
    EXPECT_EQ(read_all(records), 20u);
    EXPECT_EQ(records.cache().records, 20u);
    EXPECT_TRUE(buffer_.empty()) << "records are read into the cache itself";
    const RecordFiles others({data_ / "a", data_ / "b"}, options(1 << 20));
    EXPECT_EQ(read_all(others), 20u);
    const RecordFiles fewer({data_ / "b"}, options(1 << 20));
    EXPECT_EQ(fewer.cache().records, 0u) << "other files, other cache";
}

TEST_F(CachedRecords, ThatDoNotFitAreReadFromTheirFiles) {
    const RecordFiles records({data_ / "a", data_ / "b"}, options(8192 + 61'440));
    EXPECT_EQ(read_all(records), 0u);
    const std::uint64_t cached = records.cache().records;
    EXPECT_GT(cached, 5u);
    EXPECT_LT(cached, 20u);
    EXPECT_EQ(read_all(records), cached);
    EXPECT_LE(records.cache().reserved_bytes, 8192u + 61'440u);
}

TEST_F(CachedRecords, ChangedFilesHaveAnotherCache) {
    const RecordFiles records({data_ / "a"}, options(1 << 20));
    std::ignore = records.read(0, buffer_);
    write_records(data_ / "a", {"", std::string(20'000, 'z')});
    const RecordFiles changed({data_ / "a"}, options(1 << 20));
    EXPECT_EQ(text(changed.read(1, buffer_)), std::string(20'000, 'z'));
    EXPECT_EQ(changed.cache().hits, 0u);
}

TEST_F(CachedRecords, DamagedOnesAreReportedEachTimeAndNeverKept) {
    std::string bytes = read_file(data_ / "a");
    bytes[16 + 12 + 500] ^= 1;  // in record 1
    write_file(data_ / "a", bytes);
    const RecordFiles records({data_ / "a"}, options(1 << 20));
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { std::ignore = records.read(1, buffer_); }),
                    AllOf(HasSubstr("16"), HasSubstr("checksum")));
    }
    EXPECT_EQ(text(records.read(2, buffer_)), payloads_[2]);
    EXPECT_EQ(records.cache().records, 1u);
}

}  // namespace
}  // namespace cnntrain::data
