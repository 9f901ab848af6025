#include "data/records/tfrecord.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cnntrain/base/hash.h"
#include "cnntrain/base/wire.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

constexpr const char* kIndexName = "train.cnntrain-index";

FolderIndex example_index() {
    return {
        {"a", {21 + 16, 7, {5, 0}}}, {"b", {0, -1, {}}}, {"long name", {16 + 300, 1'700'000'000'123'456'789, {300}}}};
}

TEST(IndexBytes, AreReadAsWritten) {
    EXPECT_EQ(decode_index(encode_index(example_index())), example_index());
    EXPECT_EQ(decode_index(encode_index({})), FolderIndex{});
}

TEST(IndexBytes, AreAsDescribed) {
    const std::string bytes = encode_index({{"ab", {16 + 3, 0x0102030405060708, {3}}}});
    const std::string expected = std::string("cnnTFidx") + std::string("\1\0\0\0\1\0\0\0\2\0\0\0", 12) + "ab" +
                                 std::string("\x13\0\0\0\0\0\0\0", 8) + "\x08\x07\x06\x05\x04\x03\x02\x01" +
                                 std::string("\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16);
    ASSERT_EQ(bytes.size(), expected.size() + 4);
    EXPECT_EQ(bytes.substr(0, expected.size()), expected);
    EXPECT_EQ(bytes.substr(expected.size()), fixed_width(crc32c(std::as_bytes(std::span(expected)))));
}

TEST(IndexBytes, DamageOfEveryByteAndEveryCutAreFound) {
    const std::string right = encode_index(example_index());
    for (std::size_t at = 0; at < right.size(); ++at) {
        std::string damaged = right;
        damaged[at] ^= 0x40;
        EXPECT_THROW(decode_index(damaged), Error) << at;
        EXPECT_THROW(decode_index(right.substr(0, at)), Error) << at;
    }
}

/// Numbers that lie under a right checksum must not be believed either.
TEST(IndexBytes, RecordsMustFillTheirFileExactly) {
    const auto error_of = [](IndexedFile file) {
        return message_of(ErrorKind::data, [&] { decode_index(encode_index({{"shard", std::move(file)}})); });
    };
    EXPECT_THAT(error_of({100, 0, {85}}), HasSubstr("larger"));
    EXPECT_THAT(error_of({100, 0, {83}}), HasSubstr("smaller"));
    EXPECT_THAT(error_of({10, 0, {0}}), HasSubstr("larger"));
    EXPECT_THAT(error_of({100, 0, {UINT64_MAX - 8}}), HasSubstr("larger"));
    EXPECT_THAT(error_of({100, 0, {}}), HasSubstr("smaller"));
    std::string claims = encode_index({{"shard", {116, 0, {100}}}});
    const std::size_t count_at = claims.size() - 4 - 8 - 8;
    constexpr std::uint64_t kMany = UINT64_MAX / 4;
    std::memcpy(&claims[count_at], &kMany, sizeof kMany);
    const std::uint32_t sum = crc32c(std::as_bytes(std::span(claims)).first(claims.size() - 4));
    std::memcpy(&claims[claims.size() - 4], &sum, sizeof sum);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { decode_index(claims); }), HasSubstr("early"));
}

/// Counts the reads of shards, so that a test sees whether they were indexed anew.
class CountingFiles : public MemoryFiles {
public:
    std::unique_ptr<InputFile> open(const std::string& path) const override {
        return std::make_unique<Counted>(MemoryFiles::open(path), *this);
    }
    std::unique_ptr<OutputFile> create(const std::string& path) override {
        if (path.starts_with(read_only_folder)) throw Error(ErrorKind::storage, "cannot write '" + path + "'");
        return MemoryFiles::create(path);
    }
    /// Returns the shards that were read since the last call.
    std::vector<std::string> scanned() {
        std::ranges::sort(scanned_);
        scanned_.erase(std::unique(scanned_.begin(), scanned_.end()), scanned_.end());
        return std::exchange(scanned_, {});
    }

    std::string read_only_folder = "(none)";

private:
    class Counted : public InputFile {
    public:
        Counted(std::unique_ptr<InputFile> file, const CountingFiles& owner) : file_(std::move(file)), owner_(owner) {}
        const std::string& path() const override { return file_->path(); }
        std::uint64_t size_bytes() const override { return file_->size_bytes(); }
        std::int64_t modified_ns() const override { return file_->modified_ns(); }
        void will_need(std::uint64_t /*offset*/, std::uint64_t /*count*/) const noexcept override {}
        void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
            if (!path().ends_with("-index")) owner_.scanned_.push_back(path());
            file_->read_at(offset, out);
        }

    private:
        std::unique_ptr<InputFile> file_;
        const CountingFiles& owner_;
    };
    mutable std::vector<std::string> scanned_;
};

class KeptIndex : public testing::Test {
protected:
    KeptIndex() {
        ::setenv("XDG_CACHE_HOME", "/cache", 1);
        for (const char* name : {"a", "b", "c"})
            write(name, {std::string("first of ") + name, "", std::string(1000, name[0])});
    }
    ~KeptIndex() override { ::unsetenv("XDG_CACHE_HOME"); }

    void write(const std::string& name, const std::vector<std::string>& payloads) {
        RecordWriter writer(files_, "data/" + name);
        for (const std::string& payload : payloads)
            writer.write(std::as_bytes(std::span(payload)));
        writer.commit();
    }
    /// Opens, compares every record with what the files hold, and returns the files that were indexed anew.
    std::vector<std::string> open(const std::vector<std::string>& names) {
        std::vector<std::string> paths;
        for (const std::string& name : names)
            paths.push_back("data/" + name);
        const RecordFiles plain(paths, {}, files_);
        files_.scanned();
        const RecordFiles records(paths, {.index_name = kIndexName}, files_);
        std::vector<std::string> scanned = files_.scanned();
        EXPECT_EQ(records.size(), plain.size());
        std::vector<std::byte> buffer;
        std::vector<std::byte> plain_buffer;
        for (std::int64_t i = 0; i < records.size(); ++i) {
            EXPECT_TRUE(std::ranges::equal(records.read(i, buffer), plain.read(i, plain_buffer))) << i;
            EXPECT_EQ(records.describe(i), plain.describe(i));
            EXPECT_EQ(records.payload_bytes(i), plain.payload_bytes(i));
        }
        return scanned;
    }

    CountingFiles files_;
    const std::string index_path_ = std::string("data/") + kIndexName;
};

TEST_F(KeptIndex, IsMadeAtFirstUseAndTakenAfterwards) {
    EXPECT_THAT(open({"a", "b"}), ElementsAre("data/a", "data/b"));
    EXPECT_TRUE(exists(files_, index_path_));
    EXPECT_THAT(open({"a", "b"}), ElementsAre());
    EXPECT_THAT(open({"b", "a"}), ElementsAre());
    EXPECT_THAT(open({"b"}), ElementsAre());
}

TEST_F(KeptIndex, OnlyChangedFilesAreIndexedAnew) {
    open({"a", "b", "c"});
    write("b", {"another"});
    EXPECT_THAT(open({"a", "b", "c"}), ElementsAre("data/b"));
    EXPECT_THAT(open({"a", "b", "c"}), ElementsAre());
    // The same size, and another content.
    write("b", {"othanre"});
    EXPECT_THAT(open({"a", "b", "c"}), ElementsAre("data/b"));
}

TEST_F(KeptIndex, KeepsTheEntriesOfFilesThatOthersRead) {
    open({"a", "b"});
    EXPECT_THAT(open({"c"}), ElementsAre("data/c"));
    EXPECT_THAT(open({"a", "b", "c"}), ElementsAre());
    files_.remove("data/a");
    write("c", {"changed"});
    open({"c"});
    const std::string kept = read_text(files_, index_path_);
    const FolderIndex index = decode_index(kept);
    EXPECT_FALSE(index.contains("a"));
    EXPECT_TRUE(index.contains("b"));
}

TEST_F(KeptIndex, DamagedAndForeignOnesAreMadeAgain) {
    open({"a", "b"});
    const std::string right = read_text(files_, index_path_);
    for (const std::string& wrong : {right.substr(0, right.size() / 2), std::string("something else"), std::string(),
                                     right + "x", std::string(right.size(), '\xff')}) {
        write_text(files_, index_path_, wrong);
        EXPECT_THAT(open({"a", "b"}), ElementsAre("data/a", "data/b"));
        EXPECT_EQ(read_text(files_, index_path_), right);
    }
}

TEST_F(KeptIndex, GoesToTheUsersCacheWhereTheFolderCannotBeWritten) {
    files_.read_only_folder = "data/";
    EXPECT_THAT(open({"a", "b"}), ElementsAre("data/a", "data/b"));
    EXPECT_FALSE(exists(files_, index_path_));
    ASSERT_EQ(files_.list("/cache/cnntrain").size(), 1u);
    EXPECT_THAT(files_.list("/cache/cnntrain").front(), HasSubstr(kIndexName));
    EXPECT_THAT(open({"a", "b"}), ElementsAre());
    // Another folder has another index.
    EXPECT_NE(index_places("data", kIndexName)[1], index_places("data2", kIndexName)[1]);
}

TEST_F(KeptIndex, NowhereToKeepItIsNoError) {
    files_.read_only_folder = "";  // everything
    EXPECT_THAT(open({"a"}), ElementsAre("data/a"));
    EXPECT_THAT(open({"a"}), ElementsAre("data/a"));
}

TEST_F(KeptIndex, PlacesFollowTheEnvironment) {
    EXPECT_THAT(index_places("data", ""), ElementsAre());
    EXPECT_THAT(index_places("data", "i")[1], testing::StartsWith("/cache/cnntrain/"));
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    const char* home = std::getenv("HOME");
    const std::string before = home == nullptr ? "" : home;
    ::setenv("HOME", "/home/somebody", 1);
    EXPECT_THAT(index_places("data", "i")[1], testing::StartsWith("/home/somebody/.cache/cnntrain/"));
    ::unsetenv("HOME");
    EXPECT_THAT(index_places("data", "i"), ElementsAre("data/i"));
    if (!before.empty()) ::setenv("HOME", before.c_str(), 1);
}

TEST(KeptIndexOnDisk, SeesChangesByTheTimeOfModification) {
    const test::TemporaryFolder folder;
    write_records(folder / "a", {"one", "two"});
    const auto lengths = [&] {
        const RecordFiles records({folder / "a"}, {.threads = 2, .index_name = kIndexName});
        return std::pair(records.payload_bytes(0), records.payload_bytes(1));
    };
    EXPECT_EQ(lengths(), std::pair(std::uint64_t{3}, std::uint64_t{3}));
    EXPECT_TRUE(exists(posix_files(), folder / kIndexName));
    write_records(folder / "a", {"four", "22"});  // as large as before
    const timespec changed[2] = {{2'000'000'000, 1}, {2'000'000'000, 1}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "a").c_str(), changed, 0), 0);
    EXPECT_EQ(lengths(), std::pair(std::uint64_t{4}, std::uint64_t{2}));
}

TEST(KeptIndexOnDisk, AnIndexLargerThanAnyDiskIsMadeAgain) {
    const test::TemporaryFolder folder;
    write_records(folder / "a", {"one", "two"});
    write_file(folder / kIndexName, "cnnTFidx");
    ASSERT_EQ(::truncate((folder / kIndexName).c_str(), off_t{8} << 40), 0) << "no sparse files here";
    EXPECT_EQ(RecordFiles({folder / "a"}, {.index_name = kIndexName}).size(), 2);
    EXPECT_LT(posix_files().open(folder / kIndexName)->size_bytes(), 1000U);
}

/// Reading such a record would need as much memory.
TEST(KeptIndexOnDisk, RecordsOfMoreThan2GiBAreRefused) {
    const test::TemporaryFolder folder;
    constexpr std::uint64_t kLength = std::uint64_t{1} << 40;
    const std::string length = fixed_width(kLength);
    write_file(folder / "a", length + fixed_width(mask_crc(crc32c(std::as_bytes(std::span(length))))));
    ASSERT_EQ(::truncate((folder / "a").c_str(), off_t{kLength + kRecordFrameBytes}), 0);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { RecordFiles({folder / "a"}, {}); }), HasSubstr("2 GiB"));
    const auto indexed = encode_index({{"a", {kLength + kRecordFrameBytes, 0, {kLength}}}});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { decode_index(indexed); }), HasSubstr("2 GiB"));
}

TEST(KeptIndexOnDisk, ADamagedShardIsFoundAsWithoutIndex) {
    const test::TemporaryFolder folder;
    write_records(folder / "a", {"one", "two"});
    const std::string whole = read_file(folder / "a");
    write_file(folder / "a", whole.substr(0, whole.size() - 1));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { RecordFiles({folder / "a"}, {.index_name = kIndexName}); }),
                Not(IsEmpty()));
    EXPECT_FALSE(exists(posix_files(), folder / kIndexName));
}

}  // namespace
}  // namespace cnntrain::data
