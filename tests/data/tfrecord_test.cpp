#include "data/records/tfrecord.h"

#include <sys/resource.h>
#include <unistd.h>

#include <iostream>

#include "cnntrain/base/hash.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

std::string text(const RecordFiles& records, std::int64_t index) {
    std::vector<std::byte> buffer;
    const std::span<const std::byte> payload = records.read(index, buffer);
    return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

TEST(TfRecord, FramesAsPublished) {
    // length 3, masked crc32c of the eight length bytes, "abc", masked crc32c of "abc" (values made with an
    // independent bitwise implementation of the polynomial).
    const test::TemporaryFolder folder;
    write_records(folder / "a", {"abc"});
    const std::string bytes = read_file(folder / "a");
    ASSERT_EQ(bytes.size(), 19u);
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
    EXPECT_EQ(bytes.substr(12, 3), "abc");
    const auto slow_masked = [](const std::string& data) {
        std::uint32_t crc = ~0u;
        for (const char c : data) {
            crc ^= static_cast<std::uint8_t>(c);
            for (int bit = 0; bit < 8; ++bit)
                crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
        }
        crc = ~crc;
        return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
    };
    const auto stored = [&](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t i = 4; i-- > 0;)
            value = (value << 8) | static_cast<std::uint8_t>(bytes[at + i]);
        return value;
    };
    EXPECT_EQ(stored(8), slow_masked(bytes.substr(0, 8)));
    EXPECT_EQ(stored(15), slow_masked("abc"));
}

TEST(TfRecord, NumbersRecordsThroughAllFiles) {
    const test::TemporaryFolder folder;
    write_records(folder / "a", {"one", "", "three"});
    write_records(folder / "c", {std::string(100000, 'x'), "five"});
    const RecordFiles records({folder / "a", folder / "c"}, {.threads = 3});
    ASSERT_EQ(records.size(), 5);
    EXPECT_EQ(text(records, 0), "one");
    EXPECT_EQ(text(records, 1), "");
    EXPECT_EQ(text(records, 2), "three");
    EXPECT_EQ(text(records, 3), std::string(100000, 'x'));
    EXPECT_EQ(text(records, 4), "five");
    EXPECT_EQ(records.describe(2), folder / "a, record 2 (at byte 35)");
    EXPECT_EQ(records.describe(4), folder / "c, record 1 (at byte 100016)");
}

TEST(TfRecord, AnEmptyFileIsOneThatLostItsRecordsUnlessRecordsAreFew) {
    const test::TemporaryFolder folder;
    write_records(folder / "a", {"one"});
    write_records(folder / "b", {});
    write_records(folder / "c", {"two"});
    const std::vector<std::string> paths = {folder / "a", folder / "b", folder / "c"};
    const RecordFiles records(paths);
    ASSERT_EQ(records.size(), 2);
    EXPECT_EQ(text(records, 1), "two");
    write_records(folder / "c", {"two", "three"});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { RecordFiles{paths}; }), HasSubstr(folder / "b is empty"));
}

TEST(TfRecord, ViewsAreExactAndTheBufferStopsGrowing) {
    const test::TemporaryFolder folder;
    write_records(folder / "a", {std::string(5000, 'x'), "small", std::string(3000, 'y')});
    const RecordFiles records({folder / "a"});
    std::vector<std::byte> buffer;
    EXPECT_EQ(records.read(0, buffer).size(), 5000u);
    const std::byte* const place = buffer.data();
    const std::size_t size = buffer.size();
    for (const std::int64_t i : {1, 2, 0, 1}) {
        records.will_need(i);
        const std::span<const std::byte> payload = records.read(i, buffer);
        EXPECT_EQ(payload.size(), records.payload_bytes(i));
        EXPECT_EQ(payload.data(), place);
    }
    EXPECT_EQ(buffer.size(), size);
    records.will_need(-1);
    records.will_need(3);
}

TEST(TfRecord, TheIndexIsCompact) {
    MemoryFiles files;
    RecordWriter writer(files, "shard");
    for (int i = 0; i < 10'000; ++i)
        writer.write({});
    writer.commit();
    const RecordFiles records({"shard"}, {}, files);
    EXPECT_LT(records.memory_bytes(), 10'000u * 8 + 500);
    EXPECT_GE(records.memory_bytes(), 10'000u * 8);
}

/// Counts the files that are open at one time.
class CountingFiles : public MemoryFiles {
public:
    std::unique_ptr<InputFile> open(const std::string& path) const override {
        return std::make_unique<Counted>(MemoryFiles::open(path), now_, most_);
    }
    int most_open() const { return most_; }

private:
    class Counted : public InputFile {
    public:
        Counted(std::unique_ptr<InputFile> file, int& now, int& most) : file_(std::move(file)), now_(now) {
            most = std::max(most, ++now_);
        }
        ~Counted() override { --now_; }
        const std::string& path() const override { return file_->path(); }
        std::uint64_t size_bytes() const override { return file_->size_bytes(); }
        std::int64_t modified_ns() const override { return file_->modified_ns(); }
        void read_at(std::uint64_t offset, std::span<std::byte> out) const override { file_->read_at(offset, out); }
        void will_need(std::uint64_t offset, std::uint64_t count) const noexcept override {
            file_->will_need(offset, count);
        }

    private:
        std::unique_ptr<InputFile> file_;
        int& now_;
    };
    mutable int now_ = 0;
    mutable int most_ = 0;
};

TEST(TfRecord, ManyMoreFilesThanMayBeOpen) {
    CountingFiles files;
    std::vector<std::string> paths;
    for (int i = 0; i < 2000; ++i) {
        paths.push_back(std::to_string(i));
        RecordWriter writer(files, paths.back());
        writer.write(std::as_bytes(std::span(paths.back())));
        writer.commit();
    }
    const auto read_with_few_open = [&] {
        const rlimit few{700, 700};  // some of them are kept for everything else
        if (::setrlimit(RLIMIT_NOFILE, &few) != 0) ::_exit(1);
        const RecordFiles records(paths, {}, files);
        std::cerr << text(records, 0) << " and " << text(records, 1999) << " with " << files.most_open() << " open";
        ::_exit(0);
    };
    // The read has a process of its own, because the limit cannot be raised again.
    EXPECT_EXIT(read_with_few_open(), testing::ExitedWithCode(0), "^0 and 1999 with [45][0-9][0-9] open$");
}

class DamagedRecord : public testing::Test {
protected:
    DamagedRecord() {
        RecordWriter writer(files_, path_);
        for (const std::string payload : {"first", "second record", "third"})
            writer.write(std::as_bytes(std::span(payload)));
        writer.commit();
        bytes_ = read_text(files_, path_);
    }
    RecordFiles open(const std::string& bytes) {
        write_text(files_, path_, bytes);
        return RecordFiles({path_}, {}, files_);
    }
    std::string open_error(const std::string& bytes) {
        return message_of(ErrorKind::data, [&] { open(bytes); });
    }

    MemoryFiles files_;
    std::string path_ = "folder/shard";
    std::string bytes_;
};

TEST_F(DamagedRecord, FlippedBitInThePayload) {
    bytes_[21 + 12 + 4] ^= 0x10;
    const RecordFiles records = open(bytes_);
    EXPECT_EQ(text(records, 0), "first");
    EXPECT_EQ(text(records, 2), "third");
    const std::string message = message_of(ErrorKind::data, [&] { text(records, 1); });
    EXPECT_THAT(message, AllOf(HasSubstr(path_), HasSubstr("21"), HasSubstr("checksum")));
}

TEST_F(DamagedRecord, FlippedBitInTheStoredChecksum) {
    bytes_[21 - 1] ^= 0x01;
    const RecordFiles records = open(bytes_);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { text(records, 0); }), Not(IsEmpty()));
}

TEST_F(DamagedRecord, EveryFlippedBitIsFound) {
    for (std::size_t at = 0; at < bytes_.size(); ++at) {
        std::string damaged = bytes_;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
        EXPECT_THROW(
            {
                const RecordFiles records = open(damaged);
                for (std::int64_t i = 0; i < records.size(); ++i)
                    text(records, i);
            },
            Error)
            << "byte " << at;
    }
}

TEST_F(DamagedRecord, LengthChecksum) {
    bytes_[21] ^= 0x02;
    EXPECT_THAT(open_error(bytes_), AllOf(HasSubstr(path_), HasSubstr("21"), HasSubstr("damaged")));
}

TEST_F(DamagedRecord, EveryCutTailIsFound) {
    for (std::size_t size = 1; size < bytes_.size(); ++size) {
        if (size == 21 || size == 21 + 29) continue;  // a record's end: a shorter but whole file
        const std::string message = open_error(bytes_.substr(0, size));
        if (size > 21 + 29) {
            EXPECT_THAT(message, HasSubstr("50"));
        }
    }
}

TEST_F(DamagedRecord, HugeLengthWithRightChecksumIsACutFile) {
    // A header that claims 2^64 - 1 bytes, as an attacker would write it.
    std::string header(8, '\xff');
    const std::uint32_t crc = mask_crc(crc32c(std::as_bytes(std::span(header))));
    for (int i = 0; i < 4; ++i)
        header.push_back(static_cast<char>(crc >> (8 * i)));
    EXPECT_THAT(open_error(header + "some bytes"), Not(IsEmpty()));
}

TEST_F(DamagedRecord, NotATfRecord) {
    EXPECT_THAT(open_error("This is a text file, which nobody should have put here.\n"), HasSubstr(path_));
    EXPECT_THAT(open_error("short"), HasSubstr("TFRecord"));
}

TEST_F(DamagedRecord, MissingFile) {
    EXPECT_THAT(message_of(ErrorKind::data, [&] { RecordFiles({"folder/nothing"}, {}, files_); }),
                HasSubstr("folder/nothing"));
}

TEST(TfRecord, UnfinishedFileDoesNotAppear) {
    const test::TemporaryFolder folder;
    {
        RecordWriter writer(posix_files(), folder / "a");
        writer.write(std::as_bytes(std::span("payload")));
    }
    EXPECT_TRUE(posix_files().list(folder.path()).empty());
}

}  // namespace
}  // namespace cnntrain::data
