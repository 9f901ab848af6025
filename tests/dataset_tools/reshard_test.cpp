#include "cnntrain/dataset_tools/reshard.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cnntrain/data/tfrecord.h"
#include "data/fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::dataset_tools {
namespace {

namespace fs = std::filesystem;

std::string shard(const std::string& prefix, int index, int count) {
    char name[64];
    std::snprintf(name, sizeof name, "%s-%05d-of-%05d", prefix.c_str(), index, count);
    return name;
}

std::vector<std::string> records_of(const std::string& path) {
    const data::RecordFiles files({path});
    std::vector<std::string> records;
    std::vector<std::byte> buffer;
    for (std::int64_t i = 0; i < files.size(); ++i) {
        const std::span<const std::byte> record = files.read(i, buffer);
        records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
    }
    return records;
}

std::vector<std::string> records_of(const std::string& folder, const std::string& prefix, int count) {
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
        const std::vector<std::string> records = records_of(folder + "/" + shard(prefix, i, count));
        all.insert(all.end(), records.begin(), records.end());
    }
    return all;
}

std::vector<std::string> sorted(std::vector<std::string> records) {
    std::ranges::sort(records);
    return records;
}

/// 5 train shards of 1, 8, 16, ... records (one of them of no bytes) and 2 validation shards.
class Reshard : public ::testing::Test {
protected:
    Reshard() {
        fs::create_directory(input_);
        for (int i = 0; i < 5; ++i) {
            std::vector<std::string> records;
            for (int k = 0; k < std::max(8 * i, 1); ++k)
                records.push_back("train " + std::to_string(i) + " " + std::string(static_cast<std::size_t>(k), 'x'));
            if (i == 3) records[4] = "";
            data::write_records(input_ + "/" + shard("train", i, 5), records);
        }
        data::write_records(input_ + "/" + shard("validation", 0, 2), {"v0", "v1", "v2"});
        data::write_records(input_ + "/" + shard("validation", 1, 2), {"v3"});
        train_ = records_of(input_, "train", 5);
    }

    ReshardSettings settings(int shards) const {
        ReshardSettings settings;
        settings.input_folder = input_;
        settings.output_folder = output_;
        settings.splits = {{"train", shards}};
        return settings;
    }
    std::vector<std::string> written(int shards, const std::string& prefix = "train") const {
        return records_of(output_, prefix, shards);
    }

    test::TemporaryFolder folder_;
    std::string input_ = folder_ / "in";
    std::string output_ = folder_ / "out";
    std::vector<std::string> train_;
};

TEST_F(Reshard, EveryRecordOnceInShardsOfOneSize) {
    for (const int shards : {1, 3, 7}) {
        SCOPED_TRACE(shards);
        fs::remove_all(output_);
        const ReshardResult result = reshard(settings(shards));
        EXPECT_THAT(result.records, ElementsAre(81));
        EXPECT_EQ(result.shards_written, shards);
        EXPECT_FALSE(result.interrupted);
        EXPECT_EQ(sorted(written(shards)), sorted(train_));
        for (int i = 0; i < shards; ++i) {
            const auto size = records_of(output_ + "/" + shard("train", i, shards)).size();
            EXPECT_GE(size, 81U / static_cast<unsigned>(shards));
            EXPECT_LE(size, 81U / static_cast<unsigned>(shards) + 1);
        }
    }
}

TEST_F(Reshard, ShuffleGoesAcrossAllShardsAndIsDecidedByTheSeedAlone) {
    ReshardSettings job = settings(4);
    reshard(job);
    const std::vector<std::string> first = written(4);
    EXPECT_NE(first, train_);
    for (int i = 0; i < 4; ++i) {  // each has records of the source's two largest shards
        const std::vector<std::string> records = records_of(output_ + "/" + shard("train", i, 4));
        EXPECT_TRUE(std::ranges::any_of(records, [](const auto& record) { return record.starts_with("train 3"); }));
        EXPECT_TRUE(std::ranges::any_of(records, [](const auto& record) { return record.starts_with("train 4"); }));
    }
    job.output_folder = folder_ / "again";
    job.threads = 4;
    reshard(job);
    EXPECT_EQ(records_of(job.output_folder, "train", 4), first);
    job.output_folder = folder_ / "other";
    job.seed = 1;
    reshard(job);
    EXPECT_NE(records_of(job.output_folder, "train", 4), first);
    EXPECT_EQ(sorted(records_of(job.output_folder, "train", 4)), sorted(train_));
}

TEST_F(Reshard, WithoutShufflingTheOrderStays) {
    ReshardSettings job = settings(6);
    job.shuffle = false;
    job.threads = 3;
    reshard(job);
    EXPECT_EQ(written(6), train_);
}

TEST_F(Reshard, BothSplitsAtOnce) {
    ReshardSettings job = settings(2);
    job.splits.push_back({"validation", 3});
    std::int64_t most = 0;
    job.progress = [&](const ReshardProgress& progress) {
        EXPECT_EQ(progress.total, 85);
        most = std::max(most, progress.done);
    };
    EXPECT_THAT(reshard(job).records, ElementsAre(81, 4));
    EXPECT_EQ(most, 85);
    EXPECT_EQ(sorted(written(2)), sorted(train_));
    EXPECT_THAT(sorted(written(3, "validation")), ElementsAre("v0", "v1", "v2", "v3"));
}

TEST_F(Reshard, MoreShardsThanRecords) {
    ReshardSettings job = settings(6);
    job.splits = {{"validation", 6}};
    reshard(job);
    EXPECT_THAT(written(6, "validation"), SizeIs(4));
}

TEST_F(Reshard, StoppedJobGoesOnToTheSameBytes) {
    ReshardSettings job = settings(12);
    reshard(job);
    const std::vector<std::string> whole = written(12);
    fs::remove_all(output_);

    job.stop_requested = [] { return true; };
    const ReshardResult stopped = reshard(job);
    job.stop_requested = {};
    const ReshardResult resumed = reshard(job);
    EXPECT_FALSE(resumed.interrupted);
    EXPECT_EQ(resumed.shards_kept, stopped.shards_written);
    EXPECT_EQ(resumed.shards_kept + resumed.shards_written, 12);
    EXPECT_EQ(written(12), whole);
    EXPECT_EQ(reshard(job).shards_kept, 12) << "a job that is done has nothing to do";
}

TEST_F(Reshard, OutputMustNotBeTheInput) {
    fs::create_symlink(input_, folder_ / "link");
    for (const std::string& output : {input_, input_ + "/", folder_ / "in/../in", folder_ / "link"}) {
        ReshardSettings job = settings(2);
        job.output_folder = output;
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { reshard(job); }), Not(IsEmpty()));
    }
    EXPECT_EQ(records_of(input_, "train", 5), train_);
}

TEST_F(Reshard, OtherShardsInTheOutputAreKeptUnlessToldOtherwise) {
    reshard(settings(2));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { reshard(settings(3)); }), HasSubstr("--overwrite"));
    EXPECT_THAT(written(2), SizeIs(81));
    ReshardSettings job = settings(3);
    job.overwrite = true;
    reshard(job);
    EXPECT_FALSE(fs::exists(output_ + "/" + shard("train", 0, 2)));
    EXPECT_THAT(written(3), SizeIs(81));
}

TEST_F(Reshard, AChangedSourceIsAnotherJobWhateverItsSize) {
    reshard(settings(2));
    const std::string path = input_ + "/" + shard("train", 1, 5);
    std::vector<std::string> records = records_of(path);
    records[0].back() = 'y';
    data::write_records(path, records);
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { reshard(settings(2)); }), Not(IsEmpty()));
    ReshardSettings job = settings(2);
    job.overwrite = true;
    EXPECT_EQ(reshard(job).shards_kept, 0);
    EXPECT_EQ(sorted(written(2)), sorted(records_of(input_, "train", 5)));
}

TEST_F(Reshard, AnEmptyShardAmongFullOnesIsRefused) {
    const std::string path = input_ + "/" + shard("train", 2, 5);
    data::write_file(path, "");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { reshard(settings(2)); }),
                AllOf(HasSubstr(path), HasSubstr("32 records")));
    for (int i = 0; i < 5; ++i) {  // fewer records than files
        data::write_records(input_ + "/" + shard("train", i, 5),
                            i == 3 ? std::vector<std::string>{"x"} : std::vector<std::string>{});
    }
    EXPECT_THAT(reshard(settings(2)).records, ElementsAre(1));
}

TEST_F(Reshard, IncompleteMixedAndDamagedSourcesAreRefused) {
    const auto refusal = [&] { return message_of(ErrorKind::data, [&] { reshard(settings(2)); }); };
    data::write_records(input_ + "/" + shard("train", 0, 6), {"x"});
    EXPECT_THAT(refusal(), HasSubstr("shards"));
    fs::remove(input_ + "/" + shard("train", 0, 6));

    const std::string path = input_ + "/" + shard("train", 2, 5);
    const std::string bytes = data::read_file(path);
    fs::remove(path);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("5 train"), HasSubstr(shard("train", 2, 5))));

    std::string damaged = bytes;
    damaged[13] = static_cast<char>(damaged[13] ^ 1);
    data::write_file(path, damaged);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(path + ", record 0"), HasSubstr("checksum")));

    data::write_file(path, bytes.substr(0, bytes.size() - 1));
    EXPECT_THAT(refusal(), HasSubstr(path));

    data::write_file(path, bytes);
    ReshardSettings job = settings(2);
    job.splits = {{"test", 2}};
    EXPECT_THAT(message_of(ErrorKind::data, [&] { reshard(job); }), HasSubstr("shard"));
}

TEST_F(Reshard, ImpossibleNumbersOfShards) {
    for (const int shards : {0, -1, 100000}) {
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { reshard(settings(shards)); }), HasSubstr("1..99999"));
    }
}

}  // namespace
}  // namespace cnntrain::dataset_tools
