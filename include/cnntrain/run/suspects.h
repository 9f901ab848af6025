// Samples that look wrongly labelled, and near-duplicates across splits, by the features of a trained network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/data/settings.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

struct SuspectSettings {
    std::string checkpoint;           // file of the network's weights
    std::string folder;               // of its run, with the features
    std::size_t neighbours = 10;      // whose labels are compared
    double least_similarity = 0.999;  // of near-duplicates
};

/// A labelled sample. All samples are listed, the most suspicious first.
struct Suspect {
    data::Split split = data::Split::train;
    std::string sample;            // a file, or a file and a record
    std::string label;             // class
    std::string other_label;       // the class that speaks most against it
    double score = 0;              // log of how much likelier the other class is, from the other samples
    std::string neighbours_label;  // the most frequent one among the nearest training samples
    double neighbours_share = 0;   // of them that have the sample's own label
};

/// A training and a validation sample with almost the same features.
struct Duplicate {
    std::string training, validation;
    double similarity = 0;  // cosine of centred features
    bool same_label = false;
};

struct SuspectReport {
    std::vector<Suspect> suspects;
    std::vector<Duplicate> duplicates;  // the most similar first
    std::int64_t training = 0, validation = 0;
};

/// `arguments`: of the training run. The features come from the run's cache, or are computed and kept there. Throws
/// Interrupted if a stop is requested.
SuspectReport find_suspects(const TaskRow& row, const options::ParseResult& arguments, const SuspectSettings& settings,
                            const Host& host, metrics::Observers& observers);

}  // namespace cnntrain::run
