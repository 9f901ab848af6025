// Plans of a small network.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <regex>
#include <sstream>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/insight/plan.h"
#include "cnntrain/run/compile_request.h"
#include "insight/plan/functions.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {

inline const std::string kSmall = "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 ";

/// The network's graph with the whole weight update.
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

    options::Settings settings;
    std::unique_ptr<backend::Backend> backend;
    plan::FunctionNames names;
    graph::Graph graph;
};

inline std::string planned(const options::ParseResult& line, const plan::PlanSettings& settings, FileSystem& files) {
    std::ostringstream console;
    Host host;
    host.files = &files;
    host.console = &console;
    plan::plan_training(tasks::row_of(line), line, settings, host);
    return console.str();
}

inline std::string planned(const std::string& options, const plan::PlanSettings& settings, FileSystem& files) {
    return planned(parse(kSmall + options), settings, files);
}

inline std::string planned(const std::string& options, const plan::PlanSettings& settings = {.measure = false}) {
    MemoryFiles files;
    return planned(options, settings, files);
}

/// Returns the splits that follow "Best splits:".
inline std::string proposal(const std::string& text) {
    std::smatch found;
    const bool is_there = std::regex_search(text, found, std::regex("Best splits: +(.*)\n"));
    return is_there ? found[1].str() : "";
}

}  // namespace cnntrain::run::testing
