// Photos with several labels, from a table to predictions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/checkpoint.h"
#include "data/fixtures.h"
#include "data/format_fixtures.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

/// Photos that are red, green, both or neither, and a ResNet-8 that learns to say so.
class SeveralLabels : public test::SuiteFolder<SeveralLabels> {
public:
    static void prepare() {
        posix_files().make_directories(at("photos"));
        std::string table = "file,labels\n";
        for (int i = 0; i < 96; ++i) {
            const bool red = i % 2 == 0;
            const bool green = i % 4 < 2;
            data::RawImage image = data::make_ramp(32, 32);
            for (std::size_t at = 0; at < image.pixels.size(); ++at) {
                const std::size_t colour = at % 3;
                const bool high = (colour == 0 && red) || (colour == 1 && green);
                image.pixels[at] =
                    static_cast<std::uint8_t>((high ? 160 : 20) + (at * 7 + static_cast<std::size_t>(i)) % 60);
            }
            const std::string name = std::to_string(i) + ".bmp";
            data::write_file(at("photos/" + name), data::encode_bmp(image));
            table += name + "," + (red ? "red" : "") + (red && green ? "|" : "") + (green ? "green" : "") + "\n";
        }
        write_text(posix_files(), at("photos/list.csv"), table);
        const Outcome outcome = train("--epochs 4 --logs-path " + at("run"));
        ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
        EXPECT_THAT(outcome.text,
                    AllOf(HasSubstr("accuracy of labels"), HasSubstr("map: "), HasSubstr("Best weights: map ")));
    }

protected:
    static Outcome train(const std::string& options) {
        return run("train --data-dir " + at("photos/list.csv") +
                   " --labels several --model-size 8 --image-size 32 --micro-batch-size 8 --seed 1 --threads 1 "
                   "--class-weights balanced " +
                   options);
    }
    static Outcome refused(const std::string& options) { return run("train --dry-run " + options); }
    static std::string at(const std::string& name) { return *folder_ / name; }
};

TEST_F(SeveralLabels, AreLearntAndMeasured) {
    const Outcome validation =
        run("validation --restore-path " + at("run/ckpt-best.safetensors") + " --logs-path " + at("results"));
    ASSERT_EQ(validation.exit_code, 0) << validation.text;
    EXPECT_THAT(validation.text, AllOf(HasSubstr("map: 1.0000"), HasSubstr("exact: ")));
    EXPECT_THAT(read_text(posix_files(), at("run/validation_classes.csv")),
                AllOf(HasSubstr("red"), HasSubstr("green")));
    EXPECT_TRUE(weights::metadata_of(posix_files(), at("run/ckpt-best.safetensors")).contains("thresholds"));
}

TEST_F(SeveralLabels, ArePredictedAboveTheirThresholds) {
    const Outcome outcome = run("inference --restore-path " + at("run/ckpt-best.safetensors") + " --photos " +
                                at("photos/0.bmp") + " " + at("photos/1.bmp") + " " + at("photos/2.bmp") + " " +
                                at("photos/3.bmp") + " --predictions " + at("answers.csv"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    const std::string answers = read_text(posix_files(), at("answers.csv"));
    EXPECT_THAT(answers, HasSubstr("image,labels,prediction,green,red\r\n0.bmp,,green|red,"));
    for (const char* row : {"\n1.bmp,,green,", "\n2.bmp,,red,", "\n3.bmp,,,"})
        EXPECT_THAT(answers, HasSubstr(row));
    EXPECT_THAT(outcome.text, HasSubstr("3.bmp: no label"));
}

TEST_F(SeveralLabels, AFileThatIsNoPhotoIsSaidToBeOne) {
    write_text(posix_files(), at("broken.jpg"), "\xff\xd8\xff not a photo");
    const Outcome outcome = run("inference --restore-path " + at("run/ckpt-best.safetensors") + " --photos " +
                                at("broken.jpg") + " " + at("photos/0.bmp"));
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("broken.jpg: could not be read"), HasSubstr("0.bmp: green (")));
}

TEST_F(SeveralLabels, ALastLayerIsSolvedFromFeatures) {
    const Outcome outcome = train("--head-only --init-path " + at("run") + " --logs-path " + at("head"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("held-out accuracy 100.00 %"));
    const Outcome again = train("--head-only --init-path " + at("run") + " --feature-cache " +
                                at("head/features.cache") + " --logs-path " + at("head2"));
    EXPECT_THAT(again.text, HasSubstr("read from " + at("head/features.cache")));
    EXPECT_EQ(read_text(posix_files(), at("head/ckpt-0.safetensors")).size(),
              read_text(posix_files(), at("head2/ckpt-0.safetensors")).size());
}

TEST_F(SeveralLabels, ThePageShowsTheMostWrongPhotos) {
    ASSERT_EQ(train("--iterations 1 --logs-path " + at("first")).exit_code, 0);
    const Outcome report = run("report " + at("first"));
    ASSERT_EQ(report.exit_code, 0) << report.text;
    EXPECT_THAT(report.text, ContainsRegex("(green|red) taken for (no )?(green|red)"));
    const std::string stored = read_text(posix_files(), at("first/sample_predictions.json"));
    EXPECT_THAT(stored, HasSubstr(R"("classes":["green","red","no green","no red"])"));
    EXPECT_THAT(stored, ContainsRegex(R"("pictures":\{"[0-9]+":)"));
    EXPECT_THAT(stored, ContainsRegex(R"("maps":\{"[0-9]+":)"));
}

TEST_F(SeveralLabels, OptionsOfOneClassAreRefusedByName) {
    const std::string table =
        "--data-dir " + at("photos/list.csv") + " --labels several --model-size 8 --image-size 32 ";
    for (const char* option :
         {"--label-smoothing 0.1", "--mixup-alpha 0.2", "--balanced-sampling", "--label-separator ::"}) {
        const Outcome outcome = refused(table + option);
        EXPECT_EQ(outcome.exit_code, 2) << option;
        EXPECT_THAT(outcome.text, HasSubstr(std::string(option).substr(0, std::string(option).find(' '))));
    }
    EXPECT_EQ(refused("--dataset cifar-10 --generated-data --model-size 8 --labels several").exit_code, 2);
    EXPECT_EQ(refused(table + "--focal-gamma 2").exit_code, 0);
}

}  // namespace
}  // namespace cnntrain::cli
