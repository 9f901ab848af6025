// A run that begins with the weights of another network: its options, its classes, its last layer.
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/weights/checkpoint.h"
#include "data/fixtures.h"
#include "support/http_server.h"
#include "support/matchers.h"
#include "support/sha256.h"
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

    static HostTensor filled(Shape shape, double value) {
        HostTensor tensor({DType::f32, std::move(shape)});
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, value);
        return tensor;
    }

    using Tensors = std::map<std::string, HostTensor>;

    /// torchvision's resnet18 by names and shapes, with zeros; of 10 classes.
    void write_pytorch_resnet18(const std::string& path) const { write_pytorch_resnet(path, 2); }

    /// The same with so many units in each stage. `edit` changes its tensors.
    void write_pytorch_resnet(const std::string& path, int units,
                              const std::function<void(Tensors&)>& edit = {}) const {
        weights::Checkpoint file;
        const auto add = [&](const std::string& name, Shape shape, double value = 0) {
            file.tensors.emplace(name, filled(std::move(shape), value));
        };
        const auto norm = [&](const std::string& scope, std::int64_t channels) {
            for (const char* leaf : {".weight", ".bias", ".running_mean", ".running_var"})
                add(scope + leaf, {channels}, 1);
        };
        add("conv1.weight", {64, 3, 7, 7});
        norm("bn1", 64);
        std::int64_t inputs = 64;
        for (int i = 0; i < 4 * units; ++i) {
            const std::int64_t width = std::int64_t{64} << (i / units);
            const std::string scope = "layer" + std::to_string(i / units + 1) + "." + std::to_string(i % units);
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
        if (edit) edit(file.tensors);
        weights::save(posix_files(), folder_ / path, file);
    }

    /// timm's names of an EfficientNet-Lite0.
    void write_timm_lite0(const std::string& path) const {
        struct Stage {
            int units;
            std::int64_t expansion, kernel, filters;
        };
        constexpr Stage kStages[] = {{1, 1, 3, 16},  {2, 6, 3, 24},  {2, 6, 5, 40}, {3, 6, 3, 80},
                                     {3, 6, 5, 112}, {4, 6, 5, 192}, {1, 6, 3, 320}};
        weights::Checkpoint file;
        const auto conv = [&](const std::string& name, Shape shape, const std::string& norm) {
            for (const char* leaf : {".weight", ".bias", ".running_mean", ".running_var"})
                file.tensors.emplace(norm + leaf, filled({shape[0]}, 1));
            file.tensors.emplace(name, filled(std::move(shape), 0));
        };
        conv("conv_stem.weight", {32, 3, 3, 3}, "bn1");
        std::int64_t inputs = 32;
        for (std::size_t stage = 0; stage < std::size(kStages); ++stage) {
            const Stage& row = kStages[stage];
            for (int unit = 0; unit < row.units; ++unit) {
                const std::string scope = "blocks." + std::to_string(stage) + "." + std::to_string(unit) + ".";
                const std::int64_t middle = inputs * row.expansion;
                const bool expands = row.expansion > 1;
                if (expands) conv(scope + "conv_pw.weight", {middle, inputs, 1, 1}, scope + "bn1");
                conv(scope + "conv_dw.weight", {middle, 1, row.kernel, row.kernel}, scope + (expands ? "bn2" : "bn1"));
                conv(scope + (expands ? "conv_pwl.weight" : "conv_pw.weight"), {row.filters, middle, 1, 1},
                     scope + (expands ? "bn3" : "bn2"));
                inputs = row.filters;
            }
        }
        conv("conv_head.weight", {1280, 320, 1, 1}, "bn2");
        file.tensors.emplace("classifier.weight", filled({2, 1280}, 0));
        file.tensors.emplace("classifier.bias", filled({2}, 0));
        weights::save(posix_files(), folder_ / path, file);
    }

    Outcome infer(const std::string& weights, const std::string& more = "") const {
        return cli::run("inference --image-size 32 --threads 1 --data-dir " + (folder_ / "photos/train/ant/1.jpg") +
                        " --restore-path " + (folder_ / weights) + " --logs-path " + (folder_ / "out") + " " + more);
    }

    const test::TemporaryFolder folder_;
};

/// A network of zeros names the first class. The folders are numbers of classes, as ImageNet's shards have them.
TEST_F(SourceWeights, WithoutNamesOfClassesAreJudgedByNumbersOfClasses) {
    write_pytorch_resnet18("net.safetensors");
    write_photos("photos", {"0", "7"});
    const std::string data = "--restore-path " + (folder_ / "net.safetensors") + " --data-dir " + (folder_ / "photos");
    EXPECT_THAT(cli::run("validation --no-logs " + data).text, HasSubstr("50.000"));
    EXPECT_THAT(cli::run("inference " + data).text, HasSubstr("top-1 accuracy: 50 %"));
    write_photos("others", {"0", "10"});
    expect_error("inference --restore-path " + (folder_ / "net.safetensors") + " --data-dir " + (folder_ / "others"),
                 ErrorKind::data, {"10 classes of the weights"});
}

TEST_F(SourceWeights, ATorchvisionFileIsFineTunedOnTheClassesOfPhotos) {
    write_photos("photos", {"ant", "bee"});
    write_pytorch_resnet18("resnet18.safetensors");
    const std::string init = "--image-size 32 --init-path " + (folder_ / "resnet18.safetensors");
    const Outcome trained = train("photos", "run", init);
    EXPECT_EQ(trained.exit_code, 0) << trained.text;
    EXPECT_THAT(trained.text, AllOf(HasSubstr("--padding symmetric"), HasSubstr("all/fc1/weight")));
    const std::string arguments = folder_.read("run/arguments.json");
    EXPECT_THAT(arguments, AllOf(HasSubstr("\"model_size\": 18"), HasSubstr("\"padding\": \"symmetric\""),
                                 HasSubstr("\"batch_norm\": true"), HasSubstr("\"normalise_input\": true")));

    const Outcome strict = train("photos", "strict", init + " --init-strict");
    EXPECT_EQ(strict.exit_code, exit_code(ErrorKind::usage)) << strict.text;
    EXPECT_THAT(strict.text, HasSubstr("--init-strict"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "strict"));

    const Outcome other = train("photos", "other", init + " --model-size 34");
    EXPECT_EQ(other.exit_code, exit_code(ErrorKind::usage)) << other.text;
    EXPECT_THAT(other.text, AllOf(HasSubstr("--model-size 34 contradicts "), HasSubstr("ResNet-18")));

    const Outcome same = train("photos", "same", init + " --padding same");
    EXPECT_EQ(same.exit_code, 0) << same.text;
    EXPECT_THAT(same.text, HasSubstr("--padding"));
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
    EXPECT_THAT(more.text, AllOf(HasSubstr("--model-size 10"), HasSubstr("2 classes")));
    EXPECT_THAT(folder_.read("second/arguments.json"),
                AllOf(HasSubstr("\"padding\": \"symmetric\""), HasSubstr("\"image_size\": 32")));
    const Outcome others = train("others", "third", init);
    EXPECT_THAT(others.text, HasSubstr("1 class")) << "as many classes, but others";
    const Outcome again = train("photos", "fourth", init);
    EXPECT_EQ(again.exit_code, 0) << again.text;
    EXPECT_THAT(again.text, Not(HasSubstr("Drawn anew")));

    std::filesystem::copy(folder_ / "first/ckpt-0.safetensors", folder_ / "first/ckpt-best.safetensors");
    const Outcome best = train("photos", "best", "--init-path " + (folder_ / "first"));
    EXPECT_EQ(best.exit_code, 0) << best.text;
    EXPECT_THAT(best.text, HasSubstr((folder_ / "first/ckpt-best")));
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
    const Outcome outcome = infer("resnet18.safetensors");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("1.jpg: 0 (0.1) 1 (0.1)"));
}

TEST_F(SourceWeights, NamesOfWrappersAreRemoved) {
    write_photos("photos", {"ant"});
    write_pytorch_resnet("wrapped.safetensors", 1, [](Tensors& tensors) {
        Tensors wrapped;
        for (auto& [name, tensor] : tensors)
            wrapped.emplace("module." + name, std::move(tensor));
        tensors = std::move(wrapped);
    });
    const Outcome outcome = infer("wrapped.safetensors");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("1.jpg: 0 (0.1) 1 (0.1)"));
}

/// A maximum of 0 and NaN is 0 on processors: without a look at values before the last ones, each of these networks
/// answers with finite probabilities.
TEST_F(SourceWeights, NetworksThatComputeNanAreRefused) {
    write_photos("photos", {"ant", "bee"});
    struct Spoilt {
        std::string tensor;
        double value;
        std::string place;
    };
    const Spoilt cases[] = {
        {"layer1.0.conv1.weight", NAN, "all/stage1/unit1/conv1/weight[0] is nan"},
        {"conv1.weight", 1e38, "stage0"},
        {"layer2.0.bn1.running_var", -1, "all/stage2/unit1/bn1/batch_norm/moving_variance[0] is -1"},
        {"fc.bias", NAN, "all/fc1/bias[0] is nan"}};
    for (const Spoilt& spoilt : cases) {
        write_pytorch_resnet("spoilt.safetensors", 1, [&](Tensors& tensors) {
            tensors.at("fc.weight") = filled({2, 512}, 0);
            tensors.at("fc.bias") = filled({2}, 0);
            tensors.at(spoilt.tensor) = filled(tensors.at(spoilt.tensor).shape(), spoilt.value);
        });
        const Outcome classified = infer("spoilt.safetensors");
        EXPECT_EQ(classified.exit_code, exit_code(ErrorKind::diverged)) << spoilt.tensor << classified.text;
        EXPECT_THAT(classified.text, HasSubstr(spoilt.place));
        if (spoilt.tensor != "conv1.weight") continue;  // the others are found when they are loaded
        const Outcome validated =
            cli::run("validation --image-size 32 --threads 1 --micro-batch-size 2 --data-dir " + (folder_ / "photos") +
                     " --restore-path " + (folder_ / "spoilt.safetensors"));
        EXPECT_EQ(validated.exit_code, exit_code(ErrorKind::diverged)) << validated.text;
        EXPECT_THAT(validated.text, HasSubstr(spoilt.place));
    }
}

TEST_F(SourceWeights, AFileOfWeightsBecomesOnnxWithoutData) {
    std::filesystem::create_directory(folder_ / "timm");
    write_pytorch_resnet("timm/model.safetensors", 1);
    folder_.write("timm/config.json", R"({"architecture": "resnet10", "pretrained_cfg": {"input_size": [3, 32, 32]}})");
    const Outcome outcome =
        cli::run("convert " + (folder_ / "timm/model.safetensors") + " " + (folder_ / "r.onnx") + " --to onnx");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "r.onnx"));
}

TEST_F(SourceWeights, AnEfficientNetWithoutSqueezeExciteIsLite) {
    write_photos("photos", {"ant"});
    write_timm_lite0("model.safetensors");
    const Outcome outcome = infer("model.safetensors");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("Lite0"), HasSubstr(R"("normalise_mean":[0.5,0.5,0.5])")));
    const Outcome of_imagenet = infer("model.safetensors", "--normalise-input --overwrite");
    EXPECT_EQ(of_imagenet.exit_code, 0) << of_imagenet.text;
    EXPECT_THAT(of_imagenet.text, HasSubstr(R"("normalise_mean":null)"));
}

TEST_F(SourceWeights, PublishedNamesStandForFiles) {
    write_photos("photos", {"ant", "bee"});
    write_pytorch_resnet18("resnet18.safetensors");
    write_timm_lite0("lite0.safetensors");
    test::HttpServer server;
    std::string table;
    const auto publish = [&](const std::string& name, const std::string& network, const std::string& file) {
        server.set("/" + name + "/model.safetensors", {folder_.read(file)});
        table += name + ": {source: timm, " + network + ", pixels: 32, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5], " +
                 "sha256: '" + sha256(folder_.read(file)) + "', address: '" +
                 server.address("/" + name + "/model.safetensors") + "'}\n";
    };
    const std::string resnet18 = "model: resnet, size: '18', architecture: resnet18";
    publish("resnet18.a1_in1k", resnet18 + ", default: true", "resnet18.safetensors");
    publish("resnet18.tv_in1k", resnet18, "resnet18.safetensors");
    publish("ResNet18_Weights.IMAGENET1K_V1", resnet18, "resnet18.safetensors");
    publish("tf_efficientnet_lite0.in1k", "model: efficientnet, size: Lite0, architecture: tf_efficientnet_lite0",
            "lite0.safetensors");
    std::filesystem::create_directory(folder_ / "configs");
    folder_.write("configs/weights.yml", table);
    folder_.write("configs/mine.yml",
                  "mine: {init_path: resnet18.tv_in1k}\nnetwork: {model: resnet, model_size: 18, batch_norm: true}\n");
    std::filesystem::create_directory(folder_ / "default");

    const auto in_folder = [&](const std::string& arguments) {
        return shell("cd " + folder_.path() + " && no_proxy=127.0.0.1 XDG_CACHE_HOME=" + (folder_ / "cache") + " " +
                     CNNTRAIN_PROGRAM + " " + arguments);
    };
    const std::string training =
        "train --data-dir photos --iterations 1 --micro-batch-size 2 --threads 1 "
        "--no-validation --abs-learning-rate 0.01 --logs-path ";
    const std::string answering = "inference --data-dir photos/train/ant/1.jpg --threads 1 --logs-path ";
    struct Use {
        std::string line, network, name;
    };
    for (const Use& use : {
             Use{training + "a --init-path resnet18.tv_in1k", "ResNet-18", "resnet18.tv_in1k"},
             Use{training + "b --model resnet --model-size 18 --pretrained", "ResNet-18", "resnet18.a1_in1k"},
             Use{training + "c --model tf_efficientnet_lite0.in1k", "EfficientNet-Lite0", "tf_efficientnet_lite0.in1k"},
             Use{answering + "d --model ResNet18_Weights.IMAGENET1K_V1", "", "ResNet18_Weights.IMAGENET1K_V1"},
             Use{answering + "e --restore-path timm/tf_efficientnet_lite0.in1k", "", "tf_efficientnet_lite0.in1k"},
             Use{"inference photos/train/ant/1.jpg --pretrained --model resnet18 --threads 1", "", "resnet18.a1_in1k"},
             Use{training + "h --config mine", "ResNet-18", "resnet18.tv_in1k"},
             Use{training + "i --config network --pretrained", "ResNet-18", "resnet18.a1_in1k"},
         }) {
        const Outcome outcome = in_folder(use.line);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        EXPECT_THAT(outcome.text, AllOf(HasSubstr(use.network), HasSubstr("cache/cnntrain/weights/" + use.name)));
    }
    EXPECT_THAT(server.requests(), SizeIs(4));
    EXPECT_THAT(folder_.read("b/arguments.json"), HasSubstr("\"normalise_mean\": ["));

    const Outcome listed = in_folder("weights resnet18 --licence unknown");
    EXPECT_THAT(listed.text, AllOf(HasSubstr("default, fetched"), HasSubstr("3 files")));
    const Outcome again = in_folder("weights resnet18.tv_in1k");
    EXPECT_EQ(again.exit_code, 0) << again.text;
    const Outcome slip = in_folder(training + "f --init-path resnet18.tv_in2k");
    EXPECT_EQ(slip.exit_code, exit_code(ErrorKind::usage)) << slip.text;
    EXPECT_THAT(slip.text, HasSubstr("resnet18.tv_in1k"));
    const Outcome none = in_folder(training + "g --model resnet --model-size 34 --pretrained");
    EXPECT_EQ(none.exit_code, exit_code(ErrorKind::usage)) << none.text;
    const Outcome part = in_folder(training + "j --init-path resnet18");
    EXPECT_EQ(part.exit_code, exit_code(ErrorKind::usage)) << part.text;
    EXPECT_THAT(part.text, HasSubstr("cnntrain weights resnet18"));
    EXPECT_THAT(server.requests(), SizeIs(4));
}

TEST_F(SourceWeights, NetworksOfOtherKindsAreRefusedInOneSentence) {
    write_photos("photos", {"ant"});
    write_pytorch_resnet("other.safetensors", 1, [](Tensors& tensors) {
        tensors = {};
        tensors.emplace("features.1.0.layer_scale", filled({96, 1, 1}, 0));
    });
    const Outcome outcome = infer("other.safetensors");
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::unsupported)) << outcome.text;
    EXPECT_THAT(outcome.text,
                AllOf(HasSubstr("ConvNeXt"), HasSubstr("features.1.0.layer_scale"), Not(HasSubstr("missing:"))));
}

}  // namespace
}  // namespace cnntrain::cli
