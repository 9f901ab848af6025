// Plans of a small network.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/input.h"
#include "cnntrain/plan/plan.h"
#include "cnntrain/train/backends.h"
#include "plan/functions.h"
#include "train/fixtures.h"

namespace cnntrain::train::testing {

inline const std::string kSmall = "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 ";

/// Its graph with the whole weight update.
struct Net {
    explicit Net(const std::string& options)
        : settings(parse(kSmall + options).settings),
          backend(make_backend(settings.run.backend)),
          names(nn::split_points(network_settings(settings))),
          graph(training_graph(settings, *backend, images())) {}

    TensorDesc images() const {
        const data::InputData input(data_settings(settings, *backend, 0), data::Split::train);
        return data::field_desc(input.fields(settings.training.micro_batch_size), data::kImages);
    }

    config::Settings settings;
    std::unique_ptr<backend::Backend> backend;
    plan::FunctionNames names;
    graph::Graph graph;
};

template <typename Call> void expect_kind(ErrorKind kind, const std::vector<std::string>& parts, Call call) {
    try {
        call();
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        for (const std::string& part : parts)
            EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
    }
}

inline std::string planned(const std::string& options, const plan::PlanSettings& settings, FileSystem& files) {
    std::ostringstream console;
    Host host;
    host.files = &files;
    host.console = &console;
    const config::ParseResult line = parse(kSmall + options);
    plan::plan_training(tasks::row_of(line), line, settings, host);
    return console.str();
}

inline std::string planned(const std::string& options, const plan::PlanSettings& settings = {.measure = false}) {
    MemoryFiles files;
    return planned(options, settings, files);
}

}  // namespace cnntrain::train::testing
