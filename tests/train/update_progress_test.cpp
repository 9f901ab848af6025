// Progress that a weight update reports.
#include "run/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cnntrain::run {
namespace {

class FourSamples final : public data::BatchSource {
public:
    std::vector<data::Field> fields() const override { return {}; }
    data::Batch next() override { return {.fields = {}, .valid_count = 4}; }
};

class Told final : public metrics::Handles<Told> {
public:
    void handle(const metrics::Progress& progress) {
        texts.push_back(metrics::progress_text(progress));
        EXPECT_TRUE(progress.is_silent);
    }
    std::vector<std::string> texts;
};

TEST(UpdateProgress, IsToldOnceAnUpdateTakesLong) {
    FourSamples samples;
    Told told;
    double now = 100;
    UpdateProgress source(samples, told, {8, 2, "step", "sequences"}, [&] { return now; });
    const auto take = [&](int batches, double seconds_each) {
        for (int i = 0; i < batches; ++i) {
            source.next();
            now += seconds_each;
        }
    };
    source.begin(1, 0);
    take(8, 1.2);
    EXPECT_TRUE(told.texts.empty()) << told.texts.front();
    source.begin(2, 0);
    take(4, 5);
    EXPECT_EQ(told.texts,
              (std::vector<std::string>{"[ 25.0%] 2/8 micro-batches of step 2, 1.6 sequences/s, 0:00:30 left",
                                        "[ 37.5%] 3/8 micro-batches of step 2, 1.6 sequences/s, 0:00:25 left"}));
}

TEST(UpdateProgress, LeavesWhatAnEarlierProcessDidOutOfTheRate) {
    FourSamples samples;
    Told told;
    double now = 0;
    UpdateProgress source(samples, told, {100, 1, "iteration", "images"}, [&] { return now; });
    source.begin(7, 50);
    source.next();
    now += 20;
    source.next();
    EXPECT_EQ(told.texts,
              std::vector<std::string>{"[ 51.0%] 51/100 micro-batches of iteration 7, 0.2 images/s, 0:16:20 left"});
}

}  // namespace
}  // namespace cnntrain::run
