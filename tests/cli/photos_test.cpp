// A network of a user's own classes: trained on class folders, then asked about photos that are in none.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/weights/checkpoint.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

class OwnPhotos : public ::testing::Test {
protected:
    OwnPhotos() {
        for (const std::string folder : {"photos/train/ant", "photos/train/bee", "photos/val/ant", "photos/val/bee"}) {
            std::filesystem::create_directories(folder_ / folder);
            for (const char* name : {"/1.jpg", "/2.jpg"})
                folder_.write(folder + name, data::encode_jpeg(data::make_photo(40, 40)));
        }
        folder_.write("a.jpg", data::encode_jpeg(data::make_photo(48, 40, 3)));
    }

    Outcome train() const {
        return cli::run("train --data-dir " + (folder_ / "photos") + kModel +
                        " --iterations 2 --micro-batch-size 2 "
                        "--no-validation --abs-learning-rate 0.01 --logs-path " +
                        (folder_ / "run"));
    }
    Outcome infer(const std::string& place) const {
        return cli::run("inference --data-dir " + place + kModel + " --restore-path " + (folder_ / "run/ckpt-2") +
                        " --overwrite --logs-path " + (folder_ / "out"));
    }

    const std::string kModel = " --model-size 18 --batch-norm --image-size 32 --threads 1";
    const test::TemporaryFolder folder_;
};

TEST_F(OwnPhotos, OneIsClassifiedByTheNamesOfTheRun) {
    const Outcome trained = train();
    ASSERT_EQ(trained.exit_code, 0) << trained.text;
    const Outcome one = infer(folder_ / "a.jpg");
    EXPECT_EQ(one.exit_code, 0) << one.text;
    EXPECT_THAT(one.text, AllOf(HasSubstr("ant ("), HasSubstr("bee (")));
    EXPECT_THAT(folder_.read("out/predictions.csv"), AllOf(HasSubstr("a.jpg,"), HasSubstr("ant"), HasSubstr("bee")));
    const Outcome split = infer(folder_ / "photos");
    EXPECT_EQ(split.exit_code, 0) << split.text;
    EXPECT_THAT(split.text, HasSubstr("top-1 accuracy: 50 %"));
}

TEST_F(OwnPhotos, AreNamedBehindTheirRun) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string run = folder_ / "run/ckpt-2";
    const auto predicted = [&](const std::string& line) {
        const Outcome outcome =
            cli::run("predict " + line + " --threads 1 --overwrite --logs-path " + (folder_ / "out"));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        return outcome.text;
    };
    EXPECT_THAT(predicted(run + " " + (folder_ / "a.jpg")), ContainsRegex("\na\\.jpg: (ant|bee) "));
    EXPECT_THAT(predicted(run + " " + (folder_ / "photos/*/*/*.jpg")), HasSubstr("\ntop-1 accuracy: 50 %\n"));
    EXPECT_EQ(count_of(".jpg,ant,", folder_.read("out/predictions.csv")), 4U);
    EXPECT_THAT(folder_.read("out/predictions.csv"),
                AllOf(HasSubstr("\ntrain/bee/1.jpg,bee,"), HasSubstr(",true\r\n")));
    EXPECT_THAT(predicted(run + " '" + (folder_ / "photos/*/bee/*.jpg'")), HasSubstr("top-1 accuracy:"));
    EXPECT_THAT(predicted("--restore-path " + run + " --data-dir " + (folder_ / "photos/val/*/1.jpg")),
                AllOf(HasSubstr("\nant/1.jpg: "), HasSubstr("\nbee/1.jpg: ")));
    expect_error(
        "inference " + run + " --data-dir " + (folder_ / "photos") + " --photos " + (folder_ / "a.jpg") + " b.jpg",
        ErrorKind::usage, {"--photos", "--data-dir"});
    const std::string list = folder_ / "list.csv";
    folder_.write("list.csv", "file,label\na.jpg,ant\n");
    expect_error("inference " + run + " " + list + " --predictions " + list + " --overwrite", ErrorKind::usage,
                 {"--predictions", list});
    EXPECT_EQ(folder_.read("list.csv"), "file,label\na.jpg,ant\n");
}

/// The mean of a class's map is its logit.
TEST_F(OwnPhotos, MapsShowWhatMakesAClass) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string maps = folder_ / "maps";
    const std::string line = "inference " + (folder_ / "run/ckpt-2") + " " + (folder_ / "photos/*/*/*.jpg") +
                             " --threads 1 --precision 32.32 --micro-batch-size 3 --features " + (folder_ / "f.npy") +
                             " --predictions " + (folder_ / "p.csv") + " --maps " + maps;
    const Outcome outcome = cli::run(line);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("Saved maps to " + maps));
    const std::string predictions = folder_.read("p.csv");
    const auto samples = static_cast<std::size_t>(std::ranges::count(predictions, '\n')) - 1;
    EXPECT_EQ(posix_files().list(maps).size(), samples + 1);
    const auto weights = weights::load(posix_files(), folder_ / "run/ckpt-2.safetensors");
    const HostTensor weight = weights.tensors.at("all/fc1/weight").cast(DType::f32);
    const HostTensor bias = weights.tensors.at("all/fc1/bias").cast(DType::f32);
    const auto width = static_cast<std::size_t>(weight.shape().at(0));
    const auto numbers = [&](const std::string& name, std::size_t each) {
        const std::string file = folder_.read(name);
        std::vector<float> all(samples * each);
        std::memcpy(all.data(), file.data() + file.size() - all.size() * sizeof(float), all.size() * sizeof(float));
        return all;
    };
    const std::string header = folder_.read("maps/maps.npy").substr(0, 128);
    std::smatch shape;
    ASSERT_TRUE(std::regex_search(header, shape, std::regex("\\((\\d+), (\\d+), (\\d+)\\)"))) << header;
    EXPECT_EQ(std::stoul(shape[1]), samples);
    const std::size_t places = std::stoul(shape[2]) * std::stoul(shape[3]);
    const std::vector<float> features = numbers("f.npy", width);
    const std::vector<float> heat = numbers("maps/maps.npy", places);
    std::istringstream rows(predictions);
    std::string row;
    std::getline(rows, row);
    for (std::size_t sample = 0; sample < samples; ++sample) {
        std::getline(rows, row);
        std::smatch best;
        ASSERT_TRUE(std::regex_search(row, best, std::regex("^[^,]*,[^,]*,([a-z]+),"))) << row;
        const std::int64_t label = best[1] == "ant" ? 0 : 1;
        double logit = bias.at(label);
        for (std::size_t i = 0; i < width; ++i)
            logit += features[sample * width + i] * weight.at(static_cast<std::int64_t>(2 * i) + label);
        double mean = 0;
        for (std::size_t i = 0; i < places; ++i)
            mean += heat[sample * places + i] / static_cast<double>(places);
        EXPECT_NEAR(mean, logit, 1e-4 * (1 + std::abs(logit))) << row;
    }
    expect_error("inference " + (folder_ / "run/ckpt-2") + " " + (folder_ / "photos") + " --test-time-flip --maps m",
                 ErrorKind::usage, {"--maps", "--test-time-flip"});
    expect_error(line, ErrorKind::usage, {"--predictions"});
    folder_.write("maps/notes.txt", "mine");
    expect_error(line + " --overwrite", ErrorKind::usage, {"--maps"});
    std::filesystem::remove(folder_ / "maps/notes.txt");
    folder_.write("maps/99999-old.jpg", "");
    EXPECT_EQ(cli::run(line + " --overwrite").exit_code, 0);
    EXPECT_EQ(posix_files().list(maps).size(), samples + 1);
    std::filesystem::remove(folder_ / "maps/maps.npy");
    expect_error(line + " --overwrite", ErrorKind::usage, {"--maps"});  // perhaps a user's pictures
}

/// The last layer of these rows answers as the network does.
TEST_F(OwnPhotos, FeaturesAreWhatTheLastLayerReads) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string line = "inference " + (folder_ / "run/ckpt-2") + " " + (folder_ / "photos/*/*/*.jpg") +
                             " --threads 1 --precision 32.32 --micro-batch-size 3 --features " + (folder_ / "f.npy") +
                             " --predictions " + (folder_ / "p.csv");
    const Outcome outcome = cli::run(line);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    const std::string file = folder_.read("f.npy");
    const std::string predictions = folder_.read("p.csv");
    const auto samples = static_cast<std::size_t>(std::ranges::count(predictions, '\n')) - 1;
    const auto weights = weights::load(posix_files(), folder_ / "run/ckpt-2.safetensors");
    const HostTensor weight = weights.tensors.at("all/fc1/weight").cast(DType::f32);
    const HostTensor bias = weights.tensors.at("all/fc1/bias").cast(DType::f32);
    const auto width = static_cast<std::size_t>(weight.shape().at(0));
    EXPECT_THAT(file, HasSubstr("'<f4', 'fortran_order': False, 'shape': (" + std::to_string(samples) + ", " +
                                std::to_string(width) + ")"));
    const std::size_t begin = file.size() - samples * width * sizeof(float);
    ASSERT_EQ(begin % 64, 0U);
    std::istringstream rows(predictions);
    std::string row;
    std::getline(rows, row);
    for (std::size_t sample = 0; sample < samples; ++sample) {
        std::vector<float> features(width);
        std::memcpy(features.data(), file.data() + begin + sample * width * sizeof(float), width * sizeof(float));
        double difference = bias.at(0) - bias.at(1);  // of the logits of ant and bee
        for (std::size_t i = 0; i < width; ++i) {
            const auto at = static_cast<std::int64_t>(2 * i);
            difference += features[i] * (weight.at(at) - weight.at(at + 1));
        }
        const double ant = 1 / (1 + std::exp(-difference));
        std::getline(rows, row);
        std::smatch best;
        ASSERT_TRUE(std::regex_search(row, best, std::regex("^[^,]*,[^,]*,([a-z]+),([0-9.]+),"))) << row;
        EXPECT_NEAR(std::stod(best[2]), best[1] == "ant" ? ant : 1 - ant, 1e-4) << row;
    }
    const Outcome doubtful = cli::run(line + " --overwrite --unknown-below 0.6 --temperature 100");
    EXPECT_EQ(doubtful.exit_code, 0) << doubtful.text;
    EXPECT_THAT(doubtful.text, HasSubstr("unknown: " + std::to_string(samples) + " of " + std::to_string(samples)));
    EXPECT_EQ(count_of(",true\r\n", folder_.read("p.csv")), samples);
    const Outcome certain = cli::run(line + " --overwrite --unknown-below 0.5");
    EXPECT_THAT(certain.text,
                HasSubstr("unknown: 0 of " + std::to_string(samples) + " images; accuracy of the others"));
    EXPECT_EQ(cli::run(line).exit_code, exit_code(ErrorKind::usage)) << "the files are there";
    expect_error(line + " --overwrite --test-time-flip", ErrorKind::usage, {"--features", "--test-time-flip"});
}

TEST_F(OwnPhotos, OtherClassesAreNotTakenForThoseOfTheRun) {
    ASSERT_EQ(train().exit_code, 0);
    std::filesystem::rename(folder_ / "photos/train/bee", folder_ / "photos/train/wasp");
    std::filesystem::rename(folder_ / "photos/val/bee", folder_ / "photos/val/wasp");
    const Outcome outcome = infer(folder_ / "photos");
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::data)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("'wasp'"));
}

TEST_F(OwnPhotos, AReportOnOtherClassesLeavesThePageAsItIs) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string report = "report " + (folder_ / "run");
    ASSERT_EQ(cli::run(report).exit_code, 0);
    const std::string page = folder_.read("run/report.html");
    std::filesystem::rename(folder_ / "photos/train/bee", folder_ / "photos/train/wasp");
    std::filesystem::rename(folder_ / "photos/val/bee", folder_ / "photos/val/wasp");
    const Outcome other = cli::run(report + " --data-dir " + (folder_ / "photos"));
    EXPECT_EQ(other.exit_code, exit_code(ErrorKind::data)) << other.text;
    EXPECT_THAT(other.text, AllOf(HasSubstr("'bee'"), HasSubstr("'wasp'")));
    EXPECT_EQ(folder_.read("run/report.html"), page);
}

TEST_F(OwnPhotos, AReportOfARunThatDivergedSaysSo) {
    const Outcome outcome = cli::run("train --data-dir " + (folder_ / "photos") + kModel +
                                     " --iterations 2 --micro-batch-size 2 --no-validation --no-stop-on-nan "
                                     "--warmup-epochs 0 --abs-learning-rate 1e38 --logs-path " +
                                     (folder_ / "run"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    const Outcome report = cli::run("report " + (folder_ / "run"));
    EXPECT_EQ(report.exit_code, 0) << report.text;
    EXPECT_THAT(report.text, HasSubstr("not finite"));
}

TEST_F(OwnPhotos, ADryRunRefusesWhatTheRunRefuses) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string run = folder_ / "run";
    folder_.write("mine.csv", "somebody's rows\n");
    folder_.write("notes", "a text\n");
    const std::string diverged = folder_ / "diverged.safetensors";
    auto weights = weights::load(posix_files(), run + "/ckpt-2.safetensors");
    weights.tensors.at("all/fc1/bias").set(0, NAN);
    weights::save(posix_files(), diverged, weights);
    const std::string photo = " " + (folder_ / "a.jpg");
    const std::string data =
        "train --data-dir " + (folder_ / "photos") + kModel + " --iterations 1 --micro-batch-size 2 --no-validation ";
    for (const std::string& line :
         {"inference " + run + photo + " --predictions " + (folder_ / "mine.csv"),
          "inference " + run + photo + " --predictions " + (folder_ / "nowhere/a.csv"),
          "inference " + run + photo + " --logs-path " + (folder_ / "notes/results"),
          "inference " + (folder_ / "other") + photo + " --logs-path " + run,
          "validation --restore-path " + diverged + " --data-dir " + (folder_ / "photos") + kModel,
          data + "--logs-path " + (folder_ / "notes/run"), data + "--init-path " + diverged + " --no-logs",
          data + "--init-path " + run + "/ckpt-2 --no-logs --head-only --feature-cache " + (folder_ / "mine.csv")}) {
        const Outcome real = cli::run(line);
        const Outcome dry = cli::run(line + " --dry-run");
        EXPECT_NE(real.exit_code, 0) << line;
        EXPECT_EQ(dry.exit_code, real.exit_code) << line << '\n' << real.text << dry.text;
    }
}

TEST_F(OwnPhotos, ADryRunNamesTheFilesOfTheRun) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string restored =
        cli::run("restore --restore-path " + (folder_ / "run") + " --iterations 5 --dry-run").text;
    EXPECT_THAT(restored, ContainsRegex("Resumes: .*, at iteration 2\n"));
    const std::string validation = "validation --restore-path " + (folder_ / "run") + " --dry-run";
    EXPECT_THAT(cli::run(validation).text, ContainsRegex("\nFiles: +none\n"));
    EXPECT_THAT(cli::run(validation + " --logs-path " + (folder_ / "v")).text, ContainsRegex("\nFiles: .*/v/: .*"));
    const std::string head =
        cli::run("train --data-dir " + (folder_ / "photos") + kModel + " --init-path " + (folder_ / "run/ckpt-2") +
                 " --micro-batch-size 2 --head-only --dry-run --logs-path " + (folder_ / "h"))
            .text;
    EXPECT_THAT(head, ContainsRegex("\nFiles: [^\n]*ckpt-0.safetensors, features.cache\n"));
    EXPECT_THAT(head, Not(HasSubstr("\nTime:")));
}

TEST_F(OwnPhotos, WhatCannotBeReadIsSkippedAndCounted) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string others = folder_ / "others";
    std::filesystem::create_directories(others);
    for (const char* name : {"a.jpg", "b\x1b[2J.jpg", "c.jpg"})
        folder_.write("others/" + std::string(name), data::encode_jpeg(data::make_photo(48, 40, 3)));
    folder_.write("others/d\x1b[2J.jpg", "no photo");
    ASSERT_EQ(::mkfifo((others + "/pipe.jpg").c_str(), 0600), 0);
    std::filesystem::create_symlink("self.jpg", others + "/self.jpg");
    std::filesystem::create_directory_symlink(".", others + "/loop");
    if (::chmod((others + "/c.jpg").c_str(), 0) != 0 || ::access((others + "/c.jpg").c_str(), R_OK) == 0)
        std::filesystem::remove(others + "/c.jpg");  // root reads everything
    const bool unreadable = std::filesystem::exists(others + "/c.jpg");
    const Outcome outcome = infer(others);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(": 2 images, throughput: "));
    EXPECT_THAT(outcome.text, HasSubstr(std::string(unreadable ? "2 of 4" : "1 of 3")));
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("b\\x1b[2J.jpg"), Not(HasSubstr("\x1b["))));
}

TEST_F(OwnPhotos, EscapeSequencesInNamesAreSpelled) {
    const std::string strange = "photos/train/ant/3\x1b]0;title\x07.txt";
    folder_.write(strange, "no photo");
    const Outcome planned = cli::run("train --data-dir " + (folder_ / "photos") + kModel +
                                     " --iterations 2 --micro-batch-size 2 --abs-learning-rate 0.01 --dry-run");
    EXPECT_EQ(planned.exit_code, 0) << planned.text;
    const Outcome trained = train();
    const Outcome suspects = cli::run("dataset suspects " + (folder_ / "run") + " --most 0 --neighbours 1 " +
                                      "--least-similarity 0 --csv " + (folder_ / "x\x1b[1m.csv"));
    for (const Outcome& outcome : {planned, trained, suspects})
        EXPECT_THAT(outcome.text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")))) << outcome.text;
    EXPECT_THAT(trained.text, HasSubstr("\\x1b]0;title\\x07"));
}

TEST_F(OwnPhotos, AClassThatIsNotUtf8IsRefusedBeforeTheRun) {
    std::filesystem::create_directories(folder_ / "photos/train/Bl\xfcte");
    folder_.write("photos/train/Bl\xfcte/1.jpg", data::encode_jpeg(data::make_photo(40, 40)));
    for (const char* more : {" --dry-run", ""}) {
        const Outcome outcome =
            cli::run("train --data-dir " + (folder_ / "photos") + kModel + more +
                     " --iterations 2 --micro-batch-size 2 --abs-learning-rate 0.01 --logs-path " + (folder_ / "run"));
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::data)) << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr("Bl\\xfcte"));
        EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    }
}

/// Evaluations in other folders than the run's, and in none.
TEST_F(OwnPhotos, OutputsTakeNoCheckpointsName) {
    ASSERT_EQ(train().exit_code, 0);
    const std::string run = folder_ / "run", taken = run + "/ckpt-999.safetensors";
    for (const std::string& line :
         {"report " + run + " --no-predictions --output " + taken, "dataset suspects " + run + " --csv " + taken,
          "train --data-dir " + (folder_ / "photos") + kModel + " --init-path " + run +
              "/ckpt-2 --head-only --no-logs " + "--feature-cache " + taken,
          "dataset bert --input-file " + (folder_ / "a.jpg") + " --vocab-file " + (folder_ / "a.jpg") +
              " --output-file " + taken}) {
        const Outcome outcome = cli::run(line);
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::usage)) << outcome.text;
        EXPECT_FALSE(std::filesystem::exists(taken)) << line;
    }
}

/// The photos that a training holds out are those that a validation uses, and a table says the same as folders.
TEST_F(OwnPhotos, AShareIsHeldOut) {
    for (int i = 0; i < 8; ++i) {
        for (const char* name : {"all/ant/", "all/bee/"}) {
            std::filesystem::create_directories(folder_ / name);
            const int seed = std::string_view(name) == "all/ant/" ? i : 8 + i;
            folder_.write(name + std::to_string(i) + ".jpg", data::encode_jpeg(data::make_photo(40, 40, seed)));
        }
    }
    folder_.write("all/ant/notes.txt", "no photo");
    const std::string line = " --data-dir " + (folder_ / "all") + kModel + " --micro-batch-size 2 ";
    const Outcome trained = cli::run(
        "train" + line + "--epochs 1 --warmup-epochs 0 --abs-learning-rate 0.01 --logs-path " + (folder_ / "run"));
    EXPECT_EQ(trained.exit_code, 0) << trained.text;
    EXPECT_THAT(trained.text, AllOf(HasSubstr((folder_ / "all")), HasSubstr("ant/notes.txt")));
    EXPECT_EQ(folder_.read("run/unused_files.csv"), "file,reason,detail\nant/notes.txt,not an image,\n");
    const Outcome validated = cli::run("validation" + line + "--restore-path " + (folder_ / "run"));
    EXPECT_EQ(validated.exit_code, 0) << validated.text;
    const Outcome wrong = cli::run("train" + line + "--num-classes 3 --iterations 1 --abs-learning-rate 0.01");
    EXPECT_EQ(wrong.exit_code, exit_code(ErrorKind::usage)) << wrong.text;
    EXPECT_THAT(wrong.text, HasSubstr("has 2 classes"));
}

}  // namespace
}  // namespace cnntrain::cli
