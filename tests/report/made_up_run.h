// Folders of made-up runs, in memory.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/insight/run_record.h"

namespace cnntrain::report::test {

inline constexpr const char* kFolder = "logs/run";

/// A row of the training's table.
struct TrainingLine {
    double epoch = 0;
    std::string loss;
};
/// A row of the validations' table.
struct ValidationLine {
    double epoch = 0;
    double loss = 0;
    double accuracy = 0;
};

/// The tables of a run with ten iterations an epoch.
std::string training_csv(const std::vector<TrainingLine>& lines);
std::string validation_csv(const std::vector<ValidationLine>& lines);

/// A finished run of CIFAR-10 with both tables.
struct MadeUpRun {
    std::vector<TrainingLine> training = {{1, "2.3"}, {2, "1.9"}, {3, "1.6"}, {4, "1.4"}};
    std::vector<ValidationLine> validation = {{1, 2.2, 18}, {2, 1.9, 30}, {3, 1.7, 41}, {4, 1.5, 50}};
    std::string name = "RN20";
    std::string dataset = "cifar-10";
    std::string log_end = "Training loop completed in 12.500s.\n";

    void write(FileSystem& files, const std::string& folder = kFolder) const;
    RunRecord read(bool is_going = false) const;
};

/// Ten updates of 100 ms, all of it in one operation of which memory traffic takes half: `gflop` at a peak of 1000.
profile::Profile made_up_profile(double gflop = 1);

/// A file of predictions: two classes, a picture, one sample of each that is wrong.
std::string predictions_json(const std::vector<std::string>& classes, const std::string& sample);

}  // namespace cnntrain::report::test
