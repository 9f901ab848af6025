// Ranges of options with numbers, and the errors for numbers that nobody can want.
#include <cmath>

#include "cnntrain/base/processor.h"
#include "config/parsing.h"
#include "options/read/read.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

TEST(Ranges, EveryWholeNumberHasOne) {
    for (const Command command : {Command::train, Command::pretrain}) {
        for (const Option& option : rows_of(command)) {
            const bool whole = option.type == Type::integer || option.type == Type::integers;
            if (!whole || option.flag == "--seed") continue;
            EXPECT_TRUE(std::isfinite(option.range.low) && std::isfinite(option.range.high)) << option.flag;
        }
    }
}

TEST(Ranges, WhatLiesOutsideIsRefusedWithTheRange) {
    struct Case {
        const char* line;
        const char* message;
    };
    for (const Case& c : {Case{"--image-size 536870912", "from 1 to 16384"},
                          {"--threads 4294967296", "--threads"},
                          {"--input-threads 2147483647", "from 0 to 4096"},
                          {"--iterations 9223372036854775807", "from 0 to 1000000000000"},
                          {"--iterations 9223372036854775808", "from 0 to 1000000000000"},
                          {"--epochs 1e308", "from 0 to 1e+09"},
                          {"--mixup-alpha 1e-308", "1.2e-38"},
                          {"--weight-decay 1e39", "3.4e38"},
                          {"--gradient-accumulation-count -1", "from 1 to 1000000000"}}) {
        EXPECT_THAT(usage_error(kImageNet + c.line), HasSubstr(c.message)) << c.line;
    }
    EXPECT_THAT(usage_error("--model efficientnet --depth-coefficient 65536 " + kImageNet), HasSubstr("from 0 to 100"));
    const std::string digits(5000, '9');
    EXPECT_LT(usage_error(kImageNet + "--iterations " + digits).size(), 300U);
}

TEST(Ranges, ThreadsAreAtMostWhatThisMachineCanTake) {
    const std::string too_many = std::to_string(most_threads() + 1);
    if (available_cores() > 1000) GTEST_SKIP() << "the table's limit comes first";
    for (const char* flag : {"--threads ", "--input-threads "}) {
        EXPECT_THAT(usage_error(kCifar + flag + too_many), HasSubstr(too_many));
        EXPECT_THAT(usage_error("--restore-path x " + std::string(flag) + too_many, Command::restore),
                    HasSubstr("most"));
    }
    EXPECT_THAT(usage_error(kCifar + "--iterations 1 --num-inference-thread " + too_many, Command::inference),
                HasSubstr(too_many));
    EXPECT_EQ(usage_error(kCifar + "--threads 64 --input-threads 64"), "");
}

TEST(Ranges, ProductsOfLegalNumbersAreCheckedToo) {
    EXPECT_THAT(usage_error(kImageNet + "--optimiser RMSprop --rmsprop-base-decay-exp -14 --abs-learning-rate 1 "
                                        "--micro-batch-size 1000000 --gradient-accumulation-count 1000000000 "
                                        "--replicas 1000000"),
                Not(IsEmpty()));
}

}  // namespace
}  // namespace cnntrain::options::testing
