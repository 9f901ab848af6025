#include "cnntrain/data/inspect.h"

#include <filesystem>
#include <limits>

#include "data/fixtures.h"
#include "data/wire_text.h"
#include "data/write/inspect.h"
#include "data/write/shard_writer.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

std::vector<SetReport> inspect_path(const std::string& path, int threads = 1, std::int64_t records_per_file = 0) {
    InspectSettings settings;
    settings.path = path;
    settings.threads = threads;
    settings.records_per_file = records_per_file;
    return inspect(settings);
}

SetReport inspect_one(const std::string& path, std::int64_t records_per_file = 0) {
    const std::vector<SetReport> sets = inspect_path(path, 1, records_per_file);
    EXPECT_THAT(sets, SizeIs(1));
    return sets.at(0);
}

TEST(Inspect, TellsSizesAndKindsOfImages) {
    const test::TemporaryFolder folder;
    data::JpegOptions progressive;
    progressive.progressive = true;
    ImageDescription boxed{data::encode_jpeg(data::make_photo(20, 30)), 7, "n7", "boxed.JPEG", 20, 30};
    boxed.boxes = {{0, 0, 1, 1}, {0.25F, 0.25F, 0.5F, 0.5F}};
    boxed.box_labels = {7, 7};
    data::write_records(folder / "set.tfrecord",
                        {data::make_example(encode_jpeg(data::make_photo(40, 10), progressive), 7),
                         data::make_example(data::encode_jpeg(data::make_photo(30, 50, 1, 1)), 1000),
                         data::make_example(data::encode_jpeg(data::make_photo(10, 20, 1, 4)), 3),
                         data::make_example("this is text", 3), serialise_image_example(boxed)});
    const SetReport set = inspect_one(folder / "set.tfrecord");
    EXPECT_EQ(set.name, "set.tfrecord");
    EXPECT_EQ(set.format, "TFRecord");
    EXPECT_EQ(set.records, 5);
    EXPECT_EQ(set.bytes, static_cast<std::int64_t>(std::filesystem::file_size(folder / "set.tfrecord")));
    EXPECT_EQ(set.images.height.count, 4);
    EXPECT_EQ(set.images.height.min, 10);
    EXPECT_EQ(set.images.height.max, 40);
    EXPECT_DOUBLE_EQ(set.images.height.mean(), 25);
    EXPECT_EQ(set.images.width.min, 10);
    EXPECT_EQ(set.images.width.max, 50);
    EXPECT_EQ(set.images.grey, 1);
    EXPECT_EQ(set.images.inks, 1);
    EXPECT_EQ(set.images.progressive, 1);
    EXPECT_EQ(set.images.not_jpeg, 1);
    EXPECT_EQ(set.images.boxes.count, 5);
    EXPECT_EQ(set.images.boxes.max, 2);
    EXPECT_EQ(set.images.without_box, 4);
    EXPECT_THAT(set.labels, ElementsAre(Pair(3, 2), Pair(7, 2), Pair(1000, 1)));
    EXPECT_EQ(set.features.at("image/encoded").type(), data::FeatureType::bytes);
    EXPECT_EQ(set.features.at("image/encoded").value_bytes.min, 12);
    EXPECT_EQ(set.features.at("image/class/label").integers.max, 1000);
}

TEST(Inspect, TellsTypesLengthsAndRangesOfAnyKeys) {
    const test::TemporaryFolder folder;
    const float infinity = std::numeric_limits<float>::infinity();
    data::write_records(
        folder / "bert.tfrecord",
        {data::wire::example({{"input_ids", data::wire::integers({5, -3, 30521})},
                              {"masked_lm_weights", data::wire::floats({0.5F, 1, infinity})},
                              {"either", data::wire::integers({1})}}),
         data::wire::example({{"input_ids", data::wire::unpacked_integers({9, 8})},
                              {"masked_lm_weights", data::wire::unpacked_floats({-1})},
                              {"either", data::wire::bytes({"ab", "", "abcd"})}}),
         data::wire::example(
             {{"input_ids", data::wire::integers({})}, {"either", data::wire::bytes({"a"})}, {"none", ""}})});
    const SetReport set = inspect_one(folder / "bert.tfrecord");
    EXPECT_EQ(set.not_examples, 0);
    const FeatureReport& ids = set.features.at("input_ids");
    EXPECT_EQ(ids.type(), data::FeatureType::integers);
    EXPECT_EQ(ids.records(), 3);
    EXPECT_EQ(ids.list_length.min, 0);
    EXPECT_EQ(ids.list_length.max, 3);
    EXPECT_EQ(ids.integers.count, 5);
    EXPECT_EQ(ids.integers.min, -3);
    EXPECT_EQ(ids.integers.max, 30521);
    const FeatureReport& weights = set.features.at("masked_lm_weights");
    EXPECT_EQ(weights.type(), data::FeatureType::floats);
    EXPECT_EQ(weights.list_length.max, 3);
    EXPECT_EQ(weights.floats.count, 3) << "infinity has no place in a mean";
    EXPECT_EQ(weights.floats.min, -1);
    EXPECT_EQ(weights.floats.max, 1);
    const FeatureReport& either = set.features.at("either");
    EXPECT_THAT(either.records_by_type, ElementsAre(0, 2, 0, 1));
    EXPECT_EQ(either.type(), data::FeatureType::bytes);
    EXPECT_EQ(either.value_bytes.count, 4);
    EXPECT_EQ(either.value_bytes.max, 4);
    EXPECT_EQ(set.features.at("none").type(), data::FeatureType::none);
    EXPECT_EQ(set.images.boxes.count, 0);
}

TEST(Inspect, CountsWhatIsNoExampleAndNothingOfIt) {
    const test::TemporaryFolder folder;
    std::string broken = data::wire::example({{"key", data::wire::integers({1})}});
    broken += "\x0a\x7f";  // one more list of features, longer than the record
    data::write_records(folder / "set.tfrecord",
                        {broken, "hello, world", data::wire::example({{"key", data::wire::integers({4})}})});
    const SetReport set = inspect_one(folder / "set.tfrecord");
    EXPECT_EQ(set.records, 3);
    EXPECT_EQ(set.not_examples, 2);
    EXPECT_EQ(set.features.at("key").records(), 1);
    EXPECT_EQ(set.features.at("key").integers.min, 4);
}

TEST(Inspect, CutAndChangedExamplesAreSurvived) {
    const std::string whole = data::wire::example({{"ids", data::wire::integers({5, -3, 30521})},
                                                   {"weights", data::wire::floats({0.5F, 1})},
                                                   {"text", data::wire::bytes({"ab", "abcd"})}});
    std::size_t values = 0;
    const auto visit = [&](const std::string& record) {
        values = 0;
        return visit_features(std::as_bytes(std::span(record)), [&](std::string_view, const FeatureSummary& feature) {
            values += static_cast<std::size_t>(feature.length);
        });
    };
    ASSERT_TRUE(visit(whole));
    EXPECT_EQ(values, 7U);
    for (std::size_t size = 1; size < whole.size(); ++size) {
        EXPECT_FALSE(visit(whole.substr(0, size))) << size << " bytes";
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            std::string changed = whole;
            changed[at] = static_cast<char>(value);
            visit(changed);
            EXPECT_LE(values, whole.size()) << "byte " << at << " = " << value;
        }
    }
}

TEST(Inspect, ManyKeysAndLabelsAreCountedWithoutBeingKept) {
    const test::TemporaryFolder folder;
    std::vector<data::wire::Entry> entries;
    for (std::size_t i = 0; i < kMostKeys + 20; ++i)
        entries.push_back({"key " + std::to_string(i), data::wire::integers({1})});
    data::write_records(folder / "set.tfrecord", {data::wire::example(entries)});
    const SetReport set = inspect_one(folder / "set.tfrecord");
    EXPECT_THAT(set.features, SizeIs(kMostKeys));
    EXPECT_EQ(set.other_features, 20);
}

TEST(Inspect, MedianAndLimitOfRecords) {
    const test::TemporaryFolder folder;
    const auto sized = [](std::size_t bytes) {
        return data::wire::example({{"k", data::wire::bytes({std::string(bytes, 'x')})}});
    };
    const std::vector<std::string> payloads = {sized(500), sized(1), sized(20), sized(2), sized(1000)};
    data::write_records(folder / "set.tfrecord", payloads);
    EXPECT_EQ(inspect_one(folder / "set.tfrecord").median_record_bytes, static_cast<std::int64_t>(payloads[2].size()));
    const SetReport first = inspect_one(folder / "set.tfrecord", 2);
    EXPECT_EQ(first.records, 2);
    EXPECT_EQ(first.median_record_bytes, static_cast<std::int64_t>(payloads[1].size())) << "the lower of two";
    EXPECT_EQ(first.record_bytes.max, static_cast<std::int64_t>(payloads[0].size()));
}

/// Writes two splits of three shards next to files that are no data.
void write_folder(const test::TemporaryFolder& folder) {
    for (int shard = 0; shard < 3; ++shard) {
        const std::string end = "-0000" + std::to_string(shard) + "-of-00003";
        std::vector<std::string> records;
        for (int i = 0; i <= shard; ++i)
            records.push_back(data::make_example(data::encode_jpeg(data::make_photo(8 + i, 9 + shard)), 1 + shard + i));
        data::write_records(folder / ("train" + end), records);
        data::write_records(folder / ("validation" + end), {data::make_example("", 5)});
    }
    data::write_file(folder / "labels.txt", "one\ntwo\n");
    data::write_file(folder / "train-00001-of-00003.partial", "begun");
}

TEST(Inspect, FolderHasOneReportForEachSplitWhateverTheThreads) {
    const test::TemporaryFolder folder;
    write_folder(folder);
    const std::vector<SetReport> alone = inspect_path(folder.path(), 1);
    const std::vector<SetReport> together = inspect_path(folder.path(), 4);
    for (const auto& sets : {alone, together}) {
        ASSERT_THAT(sets, SizeIs(2));
        EXPECT_EQ(sets[0].name, "train");
        EXPECT_EQ(sets[0].files, 3);
        EXPECT_EQ(sets[0].records, 6);
        EXPECT_THAT(sets[0].labels, ElementsAre(Pair(1, 1), Pair(2, 1), Pair(3, 2), Pair(4, 1), Pair(5, 1)));
        EXPECT_EQ(sets[1].name, "validation");
        EXPECT_EQ(sets[1].records, 3);
        EXPECT_EQ(sets[1].images.boxes.count, 0);
    }
    EXPECT_EQ(alone[0].record_bytes.sum, together[0].record_bytes.sum);
    EXPECT_EQ(alone[0].images.width.sum, together[0].images.width.sum);
}

TEST(Inspect, DamageIsReportedAndTheRestIsRead) {
    const test::TemporaryFolder folder;
    write_folder(folder);
    std::string bytes = data::read_file(folder / "train-00002-of-00003");
    bytes[20] = static_cast<char>(bytes[20] ^ 1);  // in the first payload
    data::write_file(folder / "train-00002-of-00003", bytes.substr(0, bytes.size() - 3));
    const std::vector<SetReport> sets = inspect_path(folder.path());
    EXPECT_EQ(sets[0].records, 5);
    EXPECT_EQ(sets[0].damaged_records, 1);
    ASSERT_THAT(sets[0].damaged_files, SizeIs(1));
    EXPECT_THAT(sets[0].damaged_files[0], HasSubstr("00002"));
    EXPECT_THAT(sets[0].damaged_files[0], HasSubstr("cut short"));
}

TEST(Inspect, CifarFilesAndFolders) {
    const test::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "cifar-10-batches-bin");
    data::write_file(folder / "cifar-10-batches-bin/data_batch_1.bin", data::cifar10_records(0, 300));
    data::write_file(folder / "cifar-10-batches-bin/test_batch.bin", data::cifar10_records(0, 4) + "x");
    const std::vector<SetReport> sets = inspect_path(folder.path());
    ASSERT_THAT(sets, SizeIs(2));
    EXPECT_EQ(sets[0].name, "cifar-10 train");
    EXPECT_EQ(sets[0].records, 300);
    EXPECT_THAT(sets[0].labels, SizeIs(10));
    EXPECT_EQ(sets[0].labels.at(9), 30);
    EXPECT_EQ(sets[0].images.height.max, 32);
    EXPECT_EQ(sets[1].records, 4);
    EXPECT_THAT(sets[1].damaged_files, ElementsAre("test_batch.bin: 1 bytes behind the last whole record"));

    std::string record(3074, '\0');
    record[0] = 19;  // coarse
    record[1] = 99;  // fine: the one that is used
    data::write_file(folder / "mine.bin", record + record);
    const SetReport cifar100 = inspect_one(folder / "mine.bin");
    EXPECT_EQ(cifar100.format, "cifar-100");
    EXPECT_THAT(cifar100.labels, ElementsAre(Pair(99, 2)));
}

TEST(Inspect, WhatIsNoDataIsRefused) {
    const test::TemporaryFolder folder;
    data::write_file(folder / "notes.txt", "these are notes and no records");
    const auto refusal = [&](const std::string& path) {
        return message_of(ErrorKind::data, [&] { inspect_path(path); });
    };
    EXPECT_THAT(refusal(folder / "notes.txt"), HasSubstr("TFRecord"));
    EXPECT_THAT(refusal(folder.path()), HasSubstr("data"));
    EXPECT_THAT(refusal(folder / "nowhere"), HasSubstr("folder"));
    data::write_file(folder / "train-00000-of-00001.partial", "begun");
    EXPECT_THAT(refusal(folder.path()), HasSubstr("00001.partial"));
}

}  // namespace
}  // namespace cnntrain::data
