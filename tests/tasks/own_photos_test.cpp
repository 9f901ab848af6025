// Defaults of training on photos in class folders.
#include "tasks/image_classification/own_photos.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "config/parsing.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::options::testing {
namespace {

class OwnPhotos : public ::testing::Test {
protected:
    /// The first bytes of a file are enough: nothing is decoded.
    explicit OwnPhotos(int photos = 100) {
        for (const char* name : {"train/ant", "train/bee", "val/ant"})
            posix_files().make_directories(folder_ / name);
        for (int i = 0; i < photos; ++i)
            folder_.write((i % 2 == 0 ? "train/ant/" : "train/bee/") + std::to_string(i) + ".jpg", "\xff\xd8\xff\xe0");
    }

    ParseResult train(const std::string& options) const {
        return parse("--data-dir " + folder_.path() + " " + options);
    }

    const test::TemporaryFolder folder_;
};

std::string text_of(const ParseResult& result, std::string_view key) {
    return to_string(result.at(key).value);
}

TEST_F(OwnPhotos, DecideWhatTheLineLeavesOpen) {
    const ParseResult result = train("");
    for (const char* key : {"micro_batch_size", "optimiser", "abs_learning_rate", "lr_schedule", "warmup_epochs",
                            "weight_decay", "label_smoothing", "epochs", "batch_norm", "keep_best", "keep_ckpts"}) {
        EXPECT_EQ(result.at(key).source, Source::model) << key;
        EXPECT_THAT(tasks::chosen_for_own_photos(result), Contains(key));
        std::string flag = std::string("--") + key;
        std::ranges::replace(flag, '_', '-');
        EXPECT_THAT(result.notices.front(), HasSubstr("\n  " + flag));
    }
    EXPECT_THAT(result.notices.front(), HasSubstr("100 photos"));
    EXPECT_EQ(image(result).learning_rate.schedule, optim::LrSchedule::cosine);
    EXPECT_EQ(image(result).model.norm, nn::NormKind::batch);
    EXPECT_EQ(result.settings.training.micro_batch_size, 4) << "16 updates an epoch, a power of two";
}

TEST_F(OwnPhotos, LeaveTheLineItsValues) {
    const ParseResult result = train(
        "--epochs 3 --group-norm --micro-batch-size 8 --optimiser nesterov --abs-learning-rate 0.5 --lr-schedule "
        "stepped --weight-decay 0 --label-smoothing 0 --warmup-epochs 2 --interpolation bicubic --crop-area 0.1,1 "
        "--keep-best loss --keep-ckpts 0 --padding same");
    EXPECT_THAT(tasks::chosen_for_own_photos(result), IsEmpty());
    EXPECT_THAT(result.notices, Each(Not(HasSubstr("photos and"))));
    EXPECT_EQ(text_of(train("--learning-rate-decay 0.2"), "lr_schedule"), "stepped");
    EXPECT_EQ(text_of(train("--iterations 7"), "epochs"), "none");
    EXPECT_EQ(text_of(train("--epochs 1"), "warmup_epochs"), "0.05") << "of the epochs that are asked for";
}

TEST_F(OwnPhotos, HaveRatesForSomeUpdateRulesOnly) {
    const ParseResult sgd = train("--optimiser SGD");
    EXPECT_FALSE(sgd.at("abs_learning_rate").value != Value());
    EXPECT_THAT(tasks::chosen_for_own_photos(sgd), AllOf(Not(Contains("weight_decay")), Contains("epochs")));
    for (const std::string rule : {"momentum", "nesterov", "AdamW"})
        EXPECT_TRUE(train("--optimiser " + rule).at("abs_learning_rate").value != Value()) << rule;
    EXPECT_EQ(text_of(train("--momentum 0.8"), "optimiser"), "momentum");
    const auto rate = [&](const std::string& options) {
        return std::get<double>(train(options).at("abs_learning_rate").value);
    };
    EXPECT_NEAR(rate("--micro-batch-size 16"), 2 * rate("--micro-batch-size 4"), 1e-5);
    EXPECT_DOUBLE_EQ(rate("--micro-batch-size 4 --gradient-accumulation-count 4"), rate("--micro-batch-size 16"));
    EXPECT_DOUBLE_EQ(rate("--optimiser momentum --micro-batch-size 16"),
                     4 * rate("--optimiser momentum --micro-batch-size 4"));
}

TEST_F(OwnPhotos, WithWeightsNeedFewerEpochs) {
    const ParseResult tuned = train("--init-path somewhere");
    EXPECT_LT(tuned.settings.training.epochs, train("").settings.training.epochs);
    EXPECT_THAT(tuned.notices.front(), HasSubstr("weights"));
}

TEST_F(OwnPhotos, OfSmallSizesGetTheSmallNetwork) {
    using enum nn::NetworkForm;
    EXPECT_EQ(network_form(image(train("--image-size 32"))), small_images);
    EXPECT_EQ(image(train("--image-size 32")).model.size, "20");
    EXPECT_EQ(network_form(image(train("--image-size 32 --model-size 18"))), large_images)
        << "the only one with this size";
    EXPECT_EQ(network_form(image(train("--model-size 20"))), small_images);
    EXPECT_EQ(network_form(image(train("--image-size 65"))), large_images);
    EXPECT_EQ(network_form(image(train(""))), large_images);
    EXPECT_EQ(network_form(image(train("--image-size 32 --network-form large"))), large_images);
    EXPECT_EQ(network_form(image(parse(kImageNet + "--image-size 32"))), large_images) << "a documented program's data";
}

TEST_F(OwnPhotos, MovingAveragesFollowWithinAnEpoch) {
    const auto decay = [&](const std::string& options) { return image(train(options)).model.bn_decay; };
    EXPECT_DOUBLE_EQ(decay(""), 0.92) << "25 updates an epoch";
    EXPECT_DOUBLE_EQ(decay("--init-path somewhere"), 0.92);
    EXPECT_DOUBLE_EQ(decay("--micro-batch-size 1"), 0.97);
    EXPECT_DOUBLE_EQ(decay("--micro-batch-size 2 --gradient-accumulation-count 5"), 0.9) << "10 updates";
    EXPECT_DOUBLE_EQ(decay("--BN-decay 0.95"), 0.95);
    EXPECT_THAT(tasks::chosen_for_own_photos(train("--group-norm")), Not(Contains("BN_decay")));
    EXPECT_DOUBLE_EQ(image(parse(kImageNet + "--batch-norm")).model.bn_decay, 0.97);
}

TEST_F(OwnPhotos, TrainNetworksThatOtherProgramsHave) {
    const auto padding = [&](const std::string& options) { return image(train(options)).model.padding; };
    for (const std::string model : {"resnet --model-size 18", "resnext --model-size 50"})
        EXPECT_EQ(padding("--model " + model), nn::PaddingRule::symmetric) << model;
    EXPECT_EQ(padding("--model efficientnet"), nn::PaddingRule::same) << "timm's tf_efficientnet";
    EXPECT_EQ(padding("--padding same"), nn::PaddingRule::same);
    EXPECT_EQ(padding("--init-path somewhere"), nn::PaddingRule::same) << "the weights decide";
    EXPECT_EQ(image(parse(kImageNet)).model.padding, nn::PaddingRule::same);
    const auto warned = [&](const std::string& options) { return joined(train(options).notices, "\n"); };
    EXPECT_THAT(warned("--model-size 18"), Not(HasSubstr("torchvision or timm")));
    EXPECT_THAT(warned("--model-size 18 --padding same"), HasSubstr("--padding symmetric"));
    EXPECT_THAT(warned("--model-size 20"), HasSubstr("--to onnx"));
    EXPECT_THAT(warned("--model efficientnet --model-size B9"), Not(HasSubstr("torchvision or timm"))) << "no network";
}

TEST_F(OwnPhotos, SmoothingOfOtherProgramsIsConverted) {
    EXPECT_DOUBLE_EQ(image(train("--smoothing 0.1")).label_smoothing, 0.05) << "2 classes";
    EXPECT_DOUBLE_EQ(image(parse(kCifar + "--smoothing 0.1")).label_smoothing, 0.09);
    EXPECT_DOUBLE_EQ(image(parse(kCifar + "--label-smoothing 0.1")).label_smoothing, 0.1);
    EXPECT_THAT(joined(parse(kCifar + "--smoothing 0.1").notices), HasSubstr("--label-smoothing 0.09"));
}

TEST_F(OwnPhotos, AreCroppedAndResizedAsPhotosAre) {
    const ParseResult photos = train("");
    EXPECT_EQ(text_of(photos, "interpolation"), "bilinear");
    EXPECT_EQ(text_of(photos, "crop_fraction"), "0.875");
    EXPECT_EQ(text_of(train("--image-size 32"), "crop_fraction"), "1") << "nothing is cut off";
    EXPECT_EQ(text_of(train("--image-size 32 --crop-fraction 0.9"), "crop_fraction"), "0.9");
    EXPECT_EQ(text_of(train("--image-size 32 --resize-mode squash"), "crop_fraction"), "0.875") << "unused";
    for (const char* key : {"interpolation", "crop_area"}) {
        EXPECT_EQ(photos.at(key).source, Source::model) << key;
        EXPECT_THAT(tasks::chosen_for_own_photos(photos), Contains(key));
    }
    const auto area = [&](const std::string& options) { return image(train(options)).data.augmentation.crop_area; };
    EXPECT_EQ(area("--crop-area 0.1,0.9"), (std::vector<double>{0.1, 0.9}));
    EXPECT_EQ(area(""), (std::vector<double>{0.35, 1}));
    const ParseResult unchanged = train("--train-with-valid-preprocessing");
    EXPECT_FALSE(unchanged.at("crop_area").value != Value());
}

TEST_F(OwnPhotos, KeepTheBestAndTheNewestCheckpoints) {
    const auto kept = [&](const std::string& options) {
        const ParseResult result = train(options);
        return text_of(result, "keep_best") + " " + text_of(result, "keep_ckpts");
    };
    EXPECT_EQ(kept(""), "accuracy 3");
    EXPECT_EQ(kept("--keep-ckpts 9 --keep-best balanced-accuracy"), "balanced-accuracy 9");
    EXPECT_EQ(kept("--no-validation"), "none 3") << "nothing is compared";
    EXPECT_EQ(kept("--weight-avg-N 5"), "accuracy 0") << "they are averaged";
    EXPECT_EQ(kept("--validate-every 0"), "none 0") << "all are validated at the end";
    EXPECT_EQ(kept("--validate-every 0 --validate-every-updates 5"), "accuracy 3");
    EXPECT_EQ(kept("--ckpts-per-epoch 0"), "none 0") << "none are wanted";
}

TEST_F(OwnPhotos, AloneHaveSuchDefaults) {
    for (const std::string& line : {kCifar, kImageNet})
        EXPECT_THAT(tasks::chosen_for_own_photos(parse(line)), IsEmpty());
    EXPECT_EQ(text_of(parse(kImageNet), "optimiser"), "SGD");
    EXPECT_EQ(text_of(parse(kImageNet), "keep_ckpts"), "0");
    EXPECT_EQ(text_of(parse(kImageNet), "interpolation"), "tf1-bilinear");
}

TEST(OwnPhotosWithoutSplits, AreCountedWithoutThoseThatAreHeldOut) {
    const test::TemporaryFolder folder;
    for (const std::string name : {"ant", "bee"}) {
        posix_files().make_directories(folder / name);
        for (int i = 0; i < 40; ++i)
            folder.write(name + "/" + std::to_string(i) + ".jpg", "\xff\xd8\xff\xe0" + std::to_string(i));
    }
    const auto notice = [&](const std::string& fraction) {
        return parse("--data-dir " + folder.path() + " --validation-fraction " + fraction).notices.front();
    };
    EXPECT_THAT(notice("0"), HasSubstr("for 80 photos "));
    EXPECT_THAT(notice("0.5"), HasSubstr("for 40 photos "));
}

class ManyOwnPhotos : public OwnPhotos {
protected:
    ManyOwnPhotos() : OwnPhotos(1200) {}
};

TEST_F(ManyOwnPhotos, GoIntoLargerBatches) {
    const ParseResult result = train("");
    EXPECT_EQ(result.settings.training.micro_batch_size, 32);
    EXPECT_THAT(result.notices.front(), HasSubstr("for 1200 photos"));
}

}  // namespace
}  // namespace cnntrain::options::testing
