#include "cnntrain/data/loader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cnntrain/data/batch.h"
#include "cnntrain/data/sets.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

InputSettings generated(DatasetId dataset) {
    InputSettings settings;
    settings.dataset = dataset;
    settings.kind = DataKind::generated;
    settings.image_size = 16;
    settings.seed = 8;
    return settings;
}

TEST(GeneratedData, OneImageOneLabelRepeated) {
    const InputData data(generated(DatasetId::imagenet), Split::train);
    EXPECT_EQ(data.count(), 1281167);
    EXPECT_EQ(data.fields(3),
              (std::vector<Field>{{"images", {DType::f32, {3, 16, 16, 3}}}, {"labels", {DType::i32, {3}}}}));
    const auto stream = data.stream({.micro_batch = 3});
    EXPECT_EQ(stream->fields(), data.fields(3));
    const Batch batch = stream->next();
    EXPECT_EQ(batch.valid_count, 3);
    EXPECT_THAT(labels_in(batch), Each(labels_in(batch)[0]));
    EXPECT_GE(labels_in(batch)[0], 0);
    EXPECT_LE(labels_in(batch)[0], 998);
    const std::vector<float> values = floats_of(images_in(batch));
    for (std::size_t i = 0; i < 768; ++i) {
        ASSERT_EQ(values[i], values[i + 768]);
        ASSERT_EQ(values[i], values[i + 1536]);
        ASSERT_GE(values[i], 7);
        ASSERT_LE(values[i], 247);
    }
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double variance = 0;
    for (const float value : values)
        variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
    EXPECT_NEAR(mean, 127, 8);
    EXPECT_NEAR(std::sqrt(variance), 60 * 0.8796, 5);  // deviation of a normal cut at 2 sigma
    EXPECT_EQ(stream->position(), 3);
}

TEST(GeneratedData, EightBitAndHostNormalisation) {
    InputSettings settings = generated(DatasetId::cifar10);
    settings.eight_bit_io = true;
    EXPECT_EQ(InputData(settings, Split::train).fields(2)[0].desc, (TensorDesc{DType::u8, {2, 32, 32, 3}}));

    settings = generated(DatasetId::imagenet);
    const std::vector<float> raw = floats_of(images_in(InputData(settings, Split::train).stream({})->next()));
    settings.hostside_norm = true;
    const std::vector<float> normalised = floats_of(images_in(InputData(settings, Split::train).stream({})->next()));
    EXPECT_FLOAT_EQ(normalised[0], raw[0] - 123.68f);
}

TEST(GeneratedData, AValidationSweepCountsThePublishedImages) {
    const InputData data(generated(DatasetId::cifar10), Split::validation);
    const auto stream = data.stream({.micro_batch = 2999});
    ASSERT_EQ(stream->batches_per_sweep(), 4);
    for (int sweep = 0; sweep < 2; ++sweep) {
        std::int64_t valid = 0;
        std::int64_t labelled = 0;
        for (int i = 0; i < 4; ++i) {
            const Batch batch = stream->next();
            valid += batch.valid_count;
            labelled +=
                std::count_if(labels_in(batch).begin(), labels_in(batch).end(), [](int label) { return label >= 0; });
        }
        EXPECT_EQ(valid, 10000);
        EXPECT_EQ(labelled, 10000);
    }
}

TEST(GeneratedData, RanksShareTheStream) {
    const InputData training(generated(DatasetId::cifar10), Split::train);
    const InputData validation(generated(DatasetId::cifar10), Split::validation);
    std::int64_t counted = 0;
    for (std::int64_t rank = 0; rank < 3; ++rank) {
        LoaderSettings loader{.micro_batch = 64, .first_sample = 5 * 64, .rank = rank, .ranks = 3};
        const auto stream = training.stream(loader);
        EXPECT_EQ(stream->position(), 5 * 64);
        for (std::int64_t i = 0; i < 4; ++i)
            EXPECT_EQ(stream->next().first_sample, (5 + 3 * i + rank) * 64);
        EXPECT_EQ(stream->position(), (5 + 3 * 4) * 64);

        loader.first_sample = 0;
        const auto sweep = validation.stream(loader);
        ASSERT_EQ(sweep->batches_per_sweep(), 53);  // ceil(10000 / (3 * 64))
        for (std::int64_t i = 0; i < 53; ++i) {
            const Batch batch = sweep->next();
            counted += batch.valid_count;
            EXPECT_EQ(batch.first_sample, (3 * i + rank) * 64);
            EXPECT_EQ(std::ranges::count(labels_in(batch), kNoLabel), 64 - batch.valid_count);
        }
        EXPECT_EQ(sweep->next().first_sample, rank * 64);
    }
    EXPECT_EQ(counted, 10000);
}

TEST(SyntheticData, OneBatchMadeOnce) {
    InputSettings settings = generated(DatasetId::cifar100);
    settings.kind = DataKind::synthetic;
    const auto stream = InputData(settings, Split::train).stream({.micro_batch = 50});
    const Batch first = stream->next();
    const Batch second = stream->next();
    EXPECT_EQ(images_in(first).data(), images_in(second).data());
    EXPECT_GT(std::set<std::int32_t>(labels_in(first).begin(), labels_in(first).end()).size(), 10u);
    for (const std::int32_t label : labels_in(first)) {
        ASSERT_TRUE(label >= 0 && label < 100);
    }
}

TEST(Formats, WhoNormalises) {
    InputSettings settings;
    settings.dataset = DatasetId::imagenet;
    settings.compute_dtype = DType::bf16;
    EXPECT_EQ(host_format(settings).dtype, DType::bf16);
    EXPECT_EQ(host_format(settings).normalise, std::nullopt);
    EXPECT_EQ(device_normalisation(settings), imagenet_normalisation(false));

    settings.normalise_input = true;
    EXPECT_EQ(device_normalisation(settings), imagenet_normalisation(true));
    settings.hostside_norm = true;
    EXPECT_EQ(host_format(settings).normalise, imagenet_normalisation(true));
    EXPECT_EQ(device_normalisation(settings), std::nullopt);
    settings.eight_bit_io = true;  // forces the device
    EXPECT_EQ(host_format(settings).dtype, DType::u8);
    EXPECT_EQ(host_format(settings).normalise, std::nullopt);
    EXPECT_EQ(device_normalisation(settings), imagenet_normalisation(true));

    settings.dataset = DatasetId::cifar10;
    EXPECT_EQ(host_format(settings).dtype, DType::bf16);  // real CIFAR: standardised on the host
    EXPECT_EQ(device_normalisation(settings), std::nullopt);
}

class RealCifar : public testing::Test {
protected:
    RealCifar() {
        for (int i = 0; i < 5; ++i)
            write_file(folder_ / ("data_batch_" + std::to_string(i + 1) + ".bin"), cifar10_records(7 * i, 7));
        write_file(folder_ / "test_batch.bin", cifar10_records(100, 9));
        settings_.folder = find_data_folder(DatasetId::cifar10, folder_.path());
        settings_.seed = 2;
    }
    test::TemporaryFolder folder_;
    InputSettings settings_;
};

TEST_F(RealCifar, CountsWhatIsThere) {
    EXPECT_EQ(InputData(settings_, Split::train).count(), 35);
    EXPECT_EQ(InputData(settings_, Split::validation).count(), 9);
}

TEST_F(RealCifar, TrainingIsAugmentedUnlessToldOtherwise) {
    const auto batch_of = [&](int threads) {
        const auto stream = InputData(settings_, Split::train).stream({.micro_batch = 35, .threads = threads});
        return floats_of(images_in(stream->next()));
    };
    const std::vector<float> augmented = batch_of(1);
    EXPECT_EQ(augmented, batch_of(4));
    settings_.train_with_valid_preprocessing = true;
    const std::vector<float> plain = batch_of(1);
    EXPECT_NE(augmented, plain);
    for (std::size_t image = 0; image < 35; ++image) {  // standardised, none shifted
        double sum = 0;
        for (std::size_t i = 0; i < 3072; ++i)
            sum += plain[image * 3072 + i];
        EXPECT_NEAR(sum / 3072, 0, 1e-5);
    }
}

TEST_F(RealCifar, EightBitInputStaysRight) {
    const std::vector<float> wanted =
        floats_of(images_in(InputData(settings_, Split::validation).stream({.micro_batch = 9})->next()));
    settings_.eight_bit_io = true;
    const InputData data(settings_, Split::validation);
    EXPECT_EQ(data.fields(9)[0].desc.dtype, DType::f32);
    EXPECT_EQ(floats_of(images_in(data.stream({.micro_batch = 9})->next())), wanted);
}

TEST_F(RealCifar, TheRingIsKnownWithoutTheFiles) {
    settings_.compute_dtype = DType::bf16;
    settings_.mixing = {.mixup_alpha = 0.2, .on_host = true};
    InputSettings nowhere = settings_;
    nowhere.folder = "/nowhere";
    const LoaderSettings loader{.micro_batch = 5, .batches_ahead = 3};
    const RingSize ring = ring_size(nowhere, Split::train, loader);
    EXPECT_EQ(ring.ahead, 3);
    EXPECT_EQ(ring.bytes,
              5u * 5 * (32 * 32 * 3 * (2 + 4) + 4 + 2 * 4));  // as it is delivered, and in 32 bits to be mixed
    EXPECT_EQ(InputData(settings_, Split::train).stream(loader)->stats().ring_bytes, ring.bytes);
    EXPECT_EQ(InputData(settings_, Split::validation).stream(loader)->stats().ring_bytes,
              ring_size(nowhere, Split::validation, loader).bytes);
}

TEST_F(RealCifar, ValidationIsNeverMixed) {
    const auto images = [&](std::size_t fields) {
        const auto stream = InputData(settings_, Split::validation).stream({.micro_batch = 9});
        EXPECT_EQ(stream->fields().size(), fields);
        return floats_of(images_in(stream->next()));
    };
    const std::vector<float> wanted = images(2);
    settings_.mixing = {.mixup_alpha = 0.2, .on_host = true};
    EXPECT_EQ(InputData(settings_, Split::train).stream({.micro_batch = 9})->fields().size(), 3U);
    EXPECT_EQ(images(2), wanted);
}

TEST_F(RealCifar, MissingFile) {
    posix_files().remove(folder_ / "data_batch_3.bin");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { InputData(settings_, Split::train); }),
                testing::HasSubstr("data_batch_3.bin"));
}

TEST(RealImagenet, ShardsInEveryOrderOfThreads) {
    const test::TemporaryFolder folder;
    int image = 0;
    for (const char* name : {"train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001"}) {
        std::vector<std::string> payloads;
        for (int i = 0; i < 7; ++i, ++image) {
            payloads.push_back(make_example(
                encode_jpeg(make_photo(40 + image, 70 - image, static_cast<std::uint64_t>(image))), image + 1));
        }
        write_records(folder / name, payloads);
    }
    InputSettings settings;
    settings.dataset = DatasetId::imagenet;
    settings.folder = folder.path();
    settings.image_size = 20;
    settings.eight_bit_io = true;
    settings.threads = 2;
    const InputData train(settings, Split::train);
    EXPECT_EQ(train.count(), 14);
    const auto take = [&](int threads) {
        const auto stream = train.stream({.micro_batch = 5, .threads = threads});
        std::vector<std::byte> bytes;
        std::multiset<std::int32_t> labels;
        for (int i = 0; i < 14; ++i) {
            const Batch batch = stream->next();
            bytes.insert(bytes.end(), images_in(batch).begin(), images_in(batch).end());
            labels.insert(labels_in(batch).begin(), labels_in(batch).end());
        }
        for (std::int32_t label = 0; label < 14; ++label) {
            EXPECT_EQ(labels.count(label), 5u);
        }
        return bytes;
    };
    EXPECT_EQ(take(1), take(4));

    const InputData validation(settings, Split::validation);
    const auto stream = validation.stream({.micro_batch = 5, .threads = 3});
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 2; ++i) {
        const Batch batch = stream->next();
        labels.insert(labels.end(), labels_in(batch).begin(), labels_in(batch).end());
    }
    EXPECT_EQ(labels, (std::vector<std::int32_t>{14, 15, 16, 17, 18, 19, 20, -1, -1, -1}));

    settings.percentage_to_use = 50;  // of the training images only
    EXPECT_EQ(InputData(settings, Split::train).count(), 7);
    EXPECT_EQ(InputData(settings, Split::validation).count(), 7);
    EXPECT_EQ(count_samples(settings, Split::train).samples, 7);
    EXPECT_EQ(count_samples(settings, Split::validation).samples, 7);
}

}  // namespace
}  // namespace cnntrain::data
