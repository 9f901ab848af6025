// Photos in class folders, as the task of image classification uses them.
#include "cnntrain/backend/backends.h"
#include "cnntrain/base/io.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

/// Two classes with one photo each for training and for validation.
class Photos {
public:
    Photos() {
        for (const std::string folder : {"train/ant", "train/bee", "validation/ant", "validation/bee"}) {
            posix_files().make_directories(folder_ / folder);
            folder_.write(folder + "/1.jpg", data::encode_jpeg(data::make_photo(40, 40)));
        }
    }
    std::string options() const { return " --dataset folder --data-dir " + folder_.path() + " "; }

private:
    test::TemporaryFolder folder_;
};

TEST(ClassFolders, InferencePrintsNoTopFiveOfTwoClasses) {
    const Photos photos;
    MemoryFiles files;
    const Outcome outcome = infer(files, photos.options() + "--model-size 18 --image-size 32 --logs-path out");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, HasSubstr("\ntop-1 accuracy: 50 %\n"));
    EXPECT_THAT(outcome.console, Not(HasSubstr("top-5")));
}

TEST(ClassFolders, MlperfHasNoBenchmarkOfImagesThatAreNotPublished) {
    const Photos photos;
    const auto cpu = backend::make_cpu_backend();
    const auto benchmark = [&](const std::string& options) {
        const options::ParseResult line = parse(options + "--abs-learning-rate 0.1");
        return tasks::ImageClassification(line, *cpu, 1).description().mlperf;
    };
    EXPECT_FALSE(benchmark(photos.options() + "--model-size 18 ").has_value());
    EXPECT_TRUE(benchmark("--dataset cifar-10 --generated-data --model-size 8 ").has_value());
}

}  // namespace
}  // namespace cnntrain::run::testing
