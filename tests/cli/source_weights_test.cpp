// A run that begins with the weights of another network: its options, its classes, its last layer.
#include <filesystem>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

class SourceWeights : public ::testing::Test {
protected:
    void write_photos(const std::string& folder, const std::vector<std::string>& classes) const {
        for (const std::string& name : classes) {
            for (const std::string split : {"/train/", "/val/"}) {
                std::filesystem::create_directories(folder_ / (folder + split + name));
                folder_.write(folder + split + name + "/1.jpg", data::encode_jpeg(data::make_photo(40, 40)));
            }
        }
    }
    Outcome train(const std::string& photos, const std::string& run, const std::string& more) const {
        return cli::run("train --data-dir " + (folder_ / photos) +
                        " --iterations 1 --micro-batch-size 2 --threads 1 --no-validation --abs-learning-rate 0.01 "
                        "--logs-path " +
                        (folder_ / run) + " " + more);
    }

    /// torchvision's resnet18 by names and shapes, with zeros; of 10 classes.
    void write_pytorch_resnet18(const std::string& path) const {
        checkpoint::Checkpoint file;
        const auto add = [&](const std::string& name, Shape shape, double value = 0) {
            HostTensor tensor({DType::f32, std::move(shape)});
            for (std::int64_t i = 0; i < tensor.elements(); ++i)
                tensor.set(i, value);
            file.tensors.emplace(name, std::move(tensor));
        };
        const auto norm = [&](const std::string& scope, std::int64_t channels) {
            for (const char* leaf : {".weight", ".bias", ".running_mean", ".running_var"})
                add(scope + leaf, {channels}, 1);
        };
        add("conv1.weight", {64, 3, 7, 7});
        norm("bn1", 64);
        std::int64_t inputs = 64;
        for (int i = 0; i < 8; ++i) {
            const std::int64_t width = std::int64_t{64} << (i / 2);
            const std::string scope = "layer" + std::to_string(i / 2 + 1) + "." + std::to_string(i % 2);
            add(scope + ".conv1.weight", {width, inputs, 3, 3});
            add(scope + ".conv2.weight", {width, width, 3, 3});
            norm(scope + ".bn1", width);
            norm(scope + ".bn2", width);
            if (inputs != width) {
                add(scope + ".downsample.0.weight", {width, inputs, 1, 1});
                norm(scope + ".downsample.1", width);
            }
            inputs = width;
        }
        add("fc.weight", {10, 512});
        add("fc.bias", {10});
        checkpoint::save(posix_files(), folder_ / path, file);
    }

    const test::TemporaryFolder folder_;
};

TEST_F(SourceWeights, ATorchvisionFileIsFineTunedOnTheClassesOfPhotos) {
    write_photos("photos", {"ant", "bee"});
    write_pytorch_resnet18("resnet18.safetensors");
    const std::string init = "--image-size 32 --init-path " + (folder_ / "resnet18.safetensors");
    const Outcome trained = train("photos", "run", init);
    EXPECT_EQ(trained.exit_code, 0) << trained.text;
    EXPECT_THAT(trained.text, AllOf(HasSubstr("torchvision and timm"), HasSubstr("--padding symmetric"),
                                    HasSubstr("has them for other classes: all/fc1/bias, all/fc1/weight")));
    const std::string arguments = folder_.read("run/arguments.json");
    EXPECT_THAT(arguments, AllOf(HasSubstr("\"model_size\": 18"), HasSubstr("\"padding\": \"symmetric\""),
                                 HasSubstr("\"batch_norm\": true"), HasSubstr("\"normalise_input\": true")));

    const Outcome strict = train("photos", "strict", init + " --init-strict");
    EXPECT_EQ(strict.exit_code, exit_code(ErrorKind::usage)) << strict.text;
    EXPECT_THAT(strict.text, HasSubstr("--init-strict: the weights in "));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "strict"));

    const Outcome other = train("photos", "other", init + " --model-size 34");
    EXPECT_EQ(other.exit_code, exit_code(ErrorKind::usage)) << other.text;
    EXPECT_THAT(other.text, AllOf(HasSubstr("--model-size 34 contradicts "), HasSubstr("ResNet-18")));

    const Outcome same = train("photos", "same", init + " --padding same");
    EXPECT_EQ(same.exit_code, 0) << same.text;
    EXPECT_THAT(same.text, AllOf(HasSubstr("--padding same is used, but "), HasSubstr("has symmetric")));
}

TEST_F(SourceWeights, AFineTunedRunIsFineTuned) {
    write_photos("photos", {"ant", "bee"});
    write_photos("more", {"ant", "bee", "wasp"});
    write_photos("others", {"bee", "fly"});
    ASSERT_EQ(train("photos", "first", "--model-size 10 --batch-norm --padding symmetric --image-size 32").exit_code,
              0);
    const std::string init = "--init-path " + (folder_ / "first/ckpt-1");
    const Outcome more = train("more", "second", init);
    EXPECT_EQ(more.exit_code, 0) << more.text;
    EXPECT_THAT(more.text, AllOf(HasSubstr("--model-size 10"), HasSubstr("for other classes: all/fc1/bias")));
    EXPECT_THAT(folder_.read("second/arguments.json"),
                AllOf(HasSubstr("\"padding\": \"symmetric\""), HasSubstr("\"image_size\": 32")));
    const Outcome others = train("others", "third", init);
    EXPECT_THAT(others.text, HasSubstr("for other classes: all/fc1/bias")) << "as many classes, but others";
    const Outcome again = train("photos", "fourth", init);
    EXPECT_EQ(again.exit_code, 0) << again.text;
    EXPECT_THAT(again.text, Not(HasSubstr("Drawn anew")));

    std::filesystem::copy(folder_ / "first/ckpt-0.safetensors", folder_ / "first/ckpt-best.safetensors");
    const Outcome best = train("photos", "best", "--init-path " + (folder_ / "first"));
    EXPECT_EQ(best.exit_code, 0) << best.text;
    EXPECT_THAT(best.text, HasSubstr("the run's best checkpoint is taken, " + (folder_ / "first/ckpt-best")));
    EXPECT_THAT(folder_.read("best/arguments.json"), HasSubstr("\"padding\": \"symmetric\""));

    std::filesystem::create_directory(folder_ / "moved");
    std::filesystem::copy(folder_ / "first/ckpt-1.safetensors", folder_ / "moved/w.safetensors");
    const Outcome moved = train("photos", "fifth", "--init-path " + (folder_ / "moved/w.safetensors"));
    EXPECT_EQ(moved.exit_code, 0) << moved.text;
    EXPECT_THAT(folder_.read("fifth/arguments.json"),
                AllOf(HasSubstr("\"padding\": \"symmetric\""), HasSubstr("\"image_size\": 32")));
}

TEST_F(SourceWeights, PhotosAreClassifiedByAFileOfAnotherProgram) {
    write_photos("photos", {"ant"});
    write_pytorch_resnet18("resnet18.safetensors");
    const Outcome outcome =
        cli::run("inference --image-size 32 --threads 1 --data-dir " + (folder_ / "photos/train/ant/1.jpg") +
                 " --restore-path " + (folder_ / "resnet18.safetensors") + " --logs-path " + (folder_ / "out"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("1.jpg: 0 (0.1) 1 (0.1)"));
}

}  // namespace
}  // namespace cnntrain::cli
