// Reports to Weights & Biases against a fake client, tests/metrics/fake_wandb.
#include "run/metrics/wandb.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::metrics {
namespace {

class WandbTest : public testing::Test {
protected:
    WandbTest() {
        setenv("PYTHONPATH", CNNTRAIN_SOURCE_DIR "/tests/metrics/fake_wandb", 1);
        setenv("PYTHONDONTWRITEBYTECODE", "1", 1);  // the module lies in the source tree
        setenv("FAKE_WANDB_LOG", log_.c_str(), 1);
        unsetenv("FAKE_WANDB_DIES");
        unsetenv("FAKE_WANDB_REFUSES");
    }

    static WandbSettings settings() {
        WandbSettings settings;
        settings.project = "tf-cnn";
        settings.name = "RN8_x";
        settings.config = R"({"model": "resnet", "epochs": 2.5})";
        return settings;
    }

    std::vector<nlohmann::json> calls() const {
        std::vector<nlohmann::json> all;
        std::ifstream file(log_);
        for (std::string line; std::getline(file, line);)
            all.push_back(nlohmann::json::parse(line));
        return all;
    }

    static void expect_refusal(const WandbSettings& settings, const std::vector<std::string>& parts) {
        const std::string message = message_of(ErrorKind::unsupported, [&] { const Wandb run(settings); });
        for (const std::string& part : parts)
            EXPECT_THAT(message, HasSubstr(part));
    }

    test::TemporaryFolder folder_;
    std::string log_ = folder_ / "calls";
};

TEST_F(WandbTest, TheClientsOwnFolderIsNoClient) {
    // The real client makes ./wandb, which a Python without the client would take for a module.
    setenv("PYTHONPATH", "", 1);
    const auto folder = std::filesystem::path(log_ + "_folder");
    const auto before = std::filesystem::current_path();
    std::filesystem::create_directories(folder / "wandb");
    std::filesystem::current_path(folder);
    WandbSettings isolated = settings();
    isolated.python = {"python3", "-S"};  // whatever is installed
    expect_refusal(isolated, {"python3 has no wandb client", "No module named 'wandb'", "pip install wandb"});
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
}

TEST_F(WandbTest, HandsTheRunToTheClient) {
    {
        Wandb run(settings());
        EXPECT_EQ(run.description(), "run abc123, https://example.org/abc123");
        run.on(Status{"compilation_status", "compiled"});
        TrainingRow training;
        training.iteration = 5;
        training.results = {{std::nan(""), 1.5}};
        const Columns columns = {.unit = {"image", "images", "img"},
                                 .training = {{.name = "loss", .output = "loss"}},
                                 .validation = {{.name = "val_acc", .output = "correct"}},
                                 .inference = {}};
        run.on(Row{record(training, columns)});
        run.on(Row{record(ValidationRow{.name = "ckpt-5 \"\xff", .iteration = 5, .results = {50}}, columns)});
    }
    const auto all = calls();
    ASSERT_EQ(all.size(), 7U);
    EXPECT_EQ(all[0].at("project"), "tf-cnn");
    EXPECT_EQ(all[0].at("name"), "RN8_x");
    EXPECT_EQ(all[0].at("config").at("epochs"), 2.5);
    EXPECT_FALSE(all[0].contains("id"));
    EXPECT_EQ(all[2].at("step_metric"), "iteration");
    EXPECT_EQ(all[3].at("compilation_status"), "compiled");
    EXPECT_EQ(all[4].at("iteration"), "5");
    EXPECT_EQ(all[4].at("loss_avg"), "1.5");
    EXPECT_EQ(all[4].at("loss_batch"), "nan");
    EXPECT_EQ(all[5].at("val_acc"), "50.0");
    EXPECT_EQ(all[6].at("call"), "finish");
    EXPECT_EQ(all[6].at("exit_code"), 0);
}

TEST_F(WandbTest, ContinuesARunByItsId) {
    WandbSettings with_id = settings();
    with_id.id = "abc";
    { const Wandb run(with_id); }
    EXPECT_EQ(calls().at(0).at("id"), "abc");
    EXPECT_EQ(calls().at(0).at("resume"), "allow");
}

TEST_F(WandbTest, ARunThatFailsIsMarkedAsFailed) {
    try {
        Wandb run(settings());
        run.on(Status{"compilation_status", "in progress"});
        throw std::runtime_error("the compilation");
    } catch (const std::runtime_error&) {
    }
    const auto all = calls();
    EXPECT_EQ(all.at(all.size() - 2).at("compilation_status"), "failed");
    EXPECT_EQ(all.back().at("exit_code"), 1);
}

TEST_F(WandbTest, WithoutPythonOrClientSaysWhatToInstall) {
    WandbSettings without_python = settings();
    without_python.python = {"no-such-python"};
    expect_refusal(without_python, {"cannot run no-such-python", "pip install wandb"});
    WandbSettings isolated = settings();
    isolated.python = {"python3", "-I", "-S"};  // sees neither PYTHONPATH nor installed packages
    expect_refusal(isolated, {"has no wandb client", "pip install wandb"});
    WandbSettings no_python_at_all = settings();
    no_python_at_all.python = {"false"};
    expect_refusal(no_python_at_all, {"did not begin a run"});
}

TEST_F(WandbTest, AClientThatRefusesIsQuoted) {
    setenv("FAKE_WANDB_REFUSES", "1", 1);
    expect_refusal(settings(), {"RuntimeError: not logged in", "WANDB_MODE=offline"});
}

TEST_F(WandbTest, AClientThatHangsAtTheStartIsGivenUp) {
    WandbSettings hanging = settings();
    hanging.python = {"sh", "-c", "sleep 60"};
    hanging.start_timeout_seconds = 0.2;
    expect_refusal(hanging, {"did not begin a run"});
}

TEST_F(WandbTest, AClientThatDiesLaterCostsOneWarning) {
    setenv("FAKE_WANDB_DIES", "1", 1);
    testing::internal::CaptureStderr();
    {
        Wandb run(settings());
        for (int i = 0; i < 20; ++i) {
            run.on(Row{record(NanRow{.iteration = i})});
            usleep(20000);
        }
    }
    const std::string text = testing::internal::GetCapturedStderr();
    const std::string warning = "the client has stopped";
    EXPECT_THAT(text, HasSubstr(warning));
    EXPECT_EQ(text.find(warning, text.find(warning) + 1), std::string::npos);
}

}  // namespace
}  // namespace cnntrain::metrics
