#include "cnntrain/data/inspect.h"

#include <filesystem>
#include <fstream>

#include "data/fixtures.h"
#include "data/sequences.h"
#include "data/wire_text.h"
#include "data/write/data_files.h"
#include "data/write/shard_writer.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

using ::testing::Field;

VerifyResult verify_path(const std::string& path, bool decode = false, int threads = 1) {
    VerifySettings settings;
    settings.path = path;
    settings.decode = decode;
    settings.threads = threads;
    return verify(settings);
}

auto finds(Fault fault, const std::string& file, std::int64_t record = -1, const std::string& what = "") {
    return AllOf(Field(&Finding::fault, fault), Field(&Finding::file, file), Field(&Finding::record, record),
                 Field(&Finding::what, HasSubstr(what)));
}

std::string image_record(std::int64_t label = 1) {
    static const std::string jpeg = data::encode_jpeg(data::make_photo(16, 24));
    return data::make_example(jpeg, label);
}

void write_shards_of(const test::TemporaryFolder& folder, const std::string& prefix, int count,
                     const std::vector<std::string>& records) {
    for (int shard = 0; shard < count; ++shard) {
        data::write_records(folder / (prefix + "-0000" + std::to_string(shard) + "-of-0000" + std::to_string(count)),
                            records);
    }
}

TEST(Verify, SoundSetHasNoFindings) {
    const test::TemporaryFolder folder;
    write_shards_of(folder, "train", 3, {image_record(1), image_record(1000)});
    write_shards_of(folder, "validation", 2, {image_record(2)});
    data::write_file(folder / "labels.txt", "not data");
    for (const int threads : {1, 4}) {
        const VerifyResult result = verify_path(folder.path(), true, threads);
        EXPECT_THAT(result.findings, IsEmpty());
        EXPECT_THAT(result.notes, IsEmpty());
        EXPECT_EQ(result.files, 5);
        EXPECT_EQ(result.records, 8);
        EXPECT_EQ(result.images_decoded, 8);
        EXPECT_EQ(result.bytes, 3 * std::filesystem::file_size(folder / "train-00000-of-00003") +
                                    2 * std::filesystem::file_size(folder / "validation-00000-of-00002"));
        EXPECT_EQ(result.unchecked_bytes, 0U);
    }
}

TEST(Verify, MissingMixedLeftoverAndEmptyFiles) {
    const test::TemporaryFolder folder;
    write_shards_of(folder, "train", 4, {image_record(), image_record()});
    std::filesystem::remove(folder / "train-00001-of-00004");
    std::filesystem::remove(folder / "train-00002-of-00004");
    data::write_file(folder / "train-00003-of-00004", "");
    data::write_file(folder / "train-00001-of-00004.partial", "begun");
    write_shards_of(folder, "validation", 2, {image_record()});
    data::write_records(folder / "validation-00000-of-00001", {image_record()});
    data::write_records(folder / "validation-00007-of-00002", {image_record()});
    EXPECT_THAT(verify_path(folder.path()).findings,
                ElementsAre(finds(Fault::mixed_sets, "validation-00000-of-00001", -1,
                                  "1 of 1 (validation-00000-of-00001) and 3 of 2 (validation-00000-of-00002)"),
                            finds(Fault::missing_file, "train-00001-of-00004"),
                            finds(Fault::missing_file, "train-00002-of-00004"),
                            finds(Fault::mixed_sets, "validation-00007-of-00002", -1, "not below 2"),
                            finds(Fault::leftover, "train-00001-of-00004.partial"),
                            finds(Fault::empty_file, "train-00003-of-00004")));
}

TEST(Verify, EmptyShardsAreRightWhereThereAreFewerRecordsThanShards) {
    const test::TemporaryFolder folder;
    write_shards_of(folder, "train", 3, {image_record()});
    data::write_file(folder / "train-00001-of-00003", "");
    const VerifyResult result = verify_path(folder.path());
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_THAT(result.notes, ElementsAre(HasSubstr("records")));
}

TEST(Verify, EveryBadRecordIsListedWithItsPlace) {
    const test::TemporaryFolder folder;
    const std::string good = image_record();
    data::write_records(folder / "train-00000-of-00001",
                        {good, image_record(0), "no example", data::make_example("", 5), image_record(1001), good,
                         data::wire::example({{"image/encoded", data::wire::integers({3})}})});
    std::string bytes = data::read_file(folder / "train-00000-of-00001");
    const std::size_t frame = good.size() + 16;
    bytes[40] = static_cast<char>(bytes[40] ^ 0x10);
    data::write_file(folder / "train-00000-of-00001", bytes);
    const VerifyResult result = verify_path(folder.path());
    const std::string file = "train-00000-of-00001";
    ASSERT_THAT(
        result.findings,
        ElementsAre(finds(Fault::damaged_payload, file, 0, std::to_string(good.size()) + " bytes"),
                    finds(Fault::wrong_label, file, 1, "is 0, not in 1..1000"), finds(Fault::not_an_example, file, 2),
                    finds(Fault::no_image, file, 3), finds(Fault::wrong_label, file, 4, "is 1001"),
                    finds(Fault::not_an_example, file, 6, "image/encoded")));
    EXPECT_EQ(result.findings[1].offset, frame);
    EXPECT_EQ(result.records, 7);
}

TEST(Verify, DamagedLengthEndsTheFileAndSaysWhatIsUnchecked) {
    const test::TemporaryFolder folder;
    const std::string good = image_record();
    const std::size_t frame = good.size() + 16;
    write_shards_of(folder, "train", 2, {good, good, good});
    std::string bytes = data::read_file(folder / "train-00000-of-00002");
    bytes[frame + 1] = static_cast<char>(bytes[frame + 1] ^ 0x40);
    data::write_file(folder / "train-00000-of-00002", bytes);
    const VerifyResult result = verify_path(folder.path());
    ASSERT_THAT(result.findings, ElementsAre(finds(Fault::damaged_length, "train-00000-of-00002", 1,
                                                   std::to_string(2 * frame) + " bytes from here on")));
    EXPECT_EQ(result.findings[0].offset, frame);
    EXPECT_EQ(result.records, 4);
    EXPECT_EQ(result.bytes, 4 * frame);
    EXPECT_EQ(result.unchecked_bytes, 2 * frame);
}

/// Writes a file without write_file()'s sync to the disk, because hundreds are written.
void write_quickly(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Verify, EveryFlippedBitAndEveryCutIsFound) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "small.tfrecord";
    const std::string record = data::wire::example({{"k", data::wire::integers({1})}});
    data::write_records(path, {record, record, record});
    const std::string sound = data::read_file(path);
    ASSERT_THAT(verify_path(path).findings, IsEmpty());
    for (std::size_t bit = 0; bit < 8 * sound.size(); ++bit) {
        std::string bytes = sound;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        write_quickly(path, bytes);
        EXPECT_THAT(verify_path(path).findings, SizeIs(1)) << "bit " << bit;
    }
    for (std::size_t size = 0; size < sound.size(); ++size) {
        if (size > 0 && size % (record.size() + 16) == 0) continue;  // whole records: looks like a shorter file
        write_quickly(path, sound.substr(0, size));
        EXPECT_THAT(verify_path(path).findings, SizeIs(1)) << size << " bytes";
    }
}

TEST(Verify, LostRecordsAtTheEndAreFoundByWhatTheWriterNoted) {
    const test::TemporaryFolder folder;
    write_shards_of(folder, "train", 2, {image_record(), image_record(), image_record()});
    const std::string file = "train-00001-of-00002";
    const std::uint64_t size = std::filesystem::file_size(folder / file);
    write_journal(posix_files(), journal_path(folder.path()), {}, {{"train-00000-of-00002", 3, size}, {file, 3, size}});
    EXPECT_THAT(verify_path(folder.path()).findings, IsEmpty());
    std::filesystem::resize_file(folder / file, size / 3 * 2);
    EXPECT_THAT(verify_path(folder.path()).findings,
                ElementsAre(finds(Fault::wrong_size, file, -1, "2 records, its writer noted 3")));
}

TEST(Verify, RecordsLargerThanOneReadAndAcrossReads) {
    const test::TemporaryFolder folder;
    std::vector<std::string> records;
    for (const std::size_t size : {400'000U, 3'000'000U, 1U, 1'048'560U, 700'000U, 700'000U})
        records.push_back(data::wire::example({{"k", data::wire::bytes({std::string(size, 'x')})}}));
    data::write_records(folder / "large.tfrecord", records);
    const auto file = posix_files().open(folder / "large.tfrecord");
    RawRecords reader(*file);
    RawRecord record;
    for (const std::string& expected : records) {
        ASSERT_TRUE(reader.next(record));
        EXPECT_TRUE(record.intact);
        EXPECT_TRUE(std::ranges::equal(record.payload, std::as_bytes(std::span(expected))));
    }
    EXPECT_FALSE(reader.next(record));
    EXPECT_FALSE(reader.damage().has_value());
}

TEST(Verify, DecodingFindsWhatChecksumsCannot) {
    const test::TemporaryFolder folder;
    const std::string jpeg = data::encode_jpeg(data::make_photo(64, 64));
    std::string stray = jpeg;
    stray.insert(2, "stray");  // bytes between two markers: a warning
    data::JpegOptions progressive;
    progressive.progressive = true;
    data::write_records(folder / "train-00000-of-00001",
                        {data::make_example(jpeg, 1), data::make_example(jpeg.substr(0, jpeg.size() / 2), 1),
                         data::make_example(stray, 1), data::make_example("not a JPEG", 1),
                         data::make_example(data::encode_jpeg(data::make_photo(20, 20, 1, 4)), 1),
                         data::make_example(encode_jpeg(data::make_photo(20, 20, 1, 1), progressive), 1)});
    EXPECT_THAT(verify_path(folder.path()).findings, IsEmpty());
    const std::string file = "train-00000-of-00001";
    const VerifyResult result = verify_path(folder.path(), true);
    EXPECT_THAT(result.findings, ElementsAre(finds(Fault::damaged_image, file, 1, "remature end of JPEG"),
                                             finds(Fault::damaged_image, file, 2, "extraneous bytes"),
                                             finds(Fault::damaged_image, file, 3, "Not a JPEG file")));
    EXPECT_EQ(result.images_decoded, 6);
}

TEST(Verify, PretrainingRecordsKeepTheirLayout) {
    for (const bool static_mask : {false, true}) {
        const test::TemporaryFolder folder;
        const data::SequenceRecord sound = data::four_token_record(static_mask);
        data::SequenceRecord shorter = sound;
        shorter.integers["input_ids"].pop_back();
        data::SequenceRecord wrong_value = sound;
        wrong_value.integers["next_sentence_labels"] = {2};
        data::SequenceRecord many_types = sound;
        many_types.integers["segment_ids"] = {0, 5, 1, 0};
        data::write_records(folder / "wiki_00.tfrecord",
                            {sound.bytes(), data::four_token_record(static_mask, 99).bytes(), shorter.bytes(),
                             wrong_value.bytes(), data::four_token_record(!static_mask).bytes(), many_types.bytes(),
                             data::wire::example({{"other", data::wire::integers({1})}})});
        const std::string missing = static_mask ? "input_position" : "input_mask";
        EXPECT_THAT(
            verify_path(folder.path()).findings,
            ElementsAre(finds(Fault::not_an_example, "wiki_00.tfrecord", 2, "input_ids has 3 values, not 4"),
                        finds(Fault::wrong_value, "wiki_00.tfrecord", 3, "next_sentence_labels[0] is 2, not in 0..1"),
                        finds(Fault::not_an_example, "wiki_00.tfrecord", 4, "key " + missing + " is missing"),
                        finds(Fault::not_an_example, "wiki_00.tfrecord", 6, "input_ids is missing")));
    }
    const test::TemporaryFolder folder;
    data::write_records(folder / "a.tfrecord", {data::wire::example({{"input_ids", data::wire::integers({1})}})});
    EXPECT_THAT(verify_path(folder.path()).findings,
                ElementsAre(finds(Fault::not_an_example, "a.tfrecord", 0, "masked_lm_weights has no float value")));
}

TEST(Verify, OtherRecordsAreNotJudgedByTheirKeys) {
    const test::TemporaryFolder folder;
    data::write_records(folder / "own.tfrecord", {data::wire::example({{"mine", data::wire::integers({1})}})});
    const VerifyResult result = verify_path(folder.path());
    EXPECT_THAT(result.findings, IsEmpty());
    EXPECT_THAT(result.notes, ElementsAre(HasSubstr("pretraining")));
}

TEST(Verify, CifarSizesLabelsAndBatches) {
    const test::TemporaryFolder folder;
    for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_4.bin", "data_batch_5.bin"})
        data::write_file(folder / name, data::cifar10_records(0, 300));
    std::string bytes = data::cifar10_records(0, 3) + "rest";
    bytes[3073] = 10;
    data::write_file(folder / "test_batch.bin", bytes);
    const VerifyResult result = verify_path(folder.path());
    ASSERT_THAT(result.findings,
                ElementsAre(finds(Fault::missing_file, "data_batch_3.bin"),
                            finds(Fault::wrong_size, "test_batch.bin", -1, "9223 bytes"),
                            finds(Fault::wrong_label, "test_batch.bin", 1, "label 10 is not in 0..9")));
    EXPECT_EQ(result.findings[2].offset, 3073U);
    EXPECT_EQ(result.unchecked_bytes, 4U);
    EXPECT_THAT(result.notes, ElementsAre(HasSubstr("1200 images"), HasSubstr("3 images")));
}

TEST(Verify, Cifar100HasTwoLabels) {
    const test::TemporaryFolder folder;
    std::string records(2 * 3074, '\0');
    records[0] = 20;
    records[3074 + 1] = 100;
    data::write_file(folder / "train.bin", records);
    EXPECT_THAT(verify_path(folder.path()).findings,
                ElementsAre(finds(Fault::missing_file, "test.bin"),
                            finds(Fault::wrong_label, "train.bin", 0, "label 20 is not in 0..19"),
                            finds(Fault::wrong_label, "train.bin", 1, "label 100 is not in 0..99")));
}

TEST(Verify, FileThatCannotBeReadIsAFinding) {
    const test::TemporaryFolder folder;
    write_shards_of(folder, "train", 2, {image_record()});
    std::filesystem::remove(folder / "train-00001-of-00002");
    std::filesystem::create_directory(folder / "train-00001-of-00002");
    EXPECT_THAT(verify_path(folder.path()).findings, ElementsAre(finds(Fault::unreadable, "train-00001-of-00002")));
}

TEST(Verify, TellsItsProgress) {
    const test::TemporaryFolder folder;
    data::write_records(
        folder / "large.tfrecord",
        std::vector<std::string>(10, data::wire::example({{"k", data::wire::bytes({std::string(1'000'000, 'x')})}})));
    VerifySettings settings;
    settings.path = folder.path();
    std::uint64_t last = 0;
    std::uint64_t total = 0;
    settings.progress = [&](std::uint64_t done, std::uint64_t all) {
        EXPECT_GT(done, last);
        last = done;
        total = all;
    };
    verify(settings);
    EXPECT_EQ(total, std::filesystem::file_size(folder / "large.tfrecord"));
    EXPECT_GT(last, total / 2);
    EXPECT_LE(last, total);
}

}  // namespace
}  // namespace cnntrain::data
