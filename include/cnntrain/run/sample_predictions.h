// Predictions of a run's network for single samples of its validation split, as a file in the run's folder.
//
// sample_predictions.json is an object:
//
//   key         what the predictions belong to: checkpoint, crc32c of its header, data, samples asked for, version
//   split       "validation", or "training" where the run has no validation texts
//   samples     of the split; `seen`: of these, evenly spread; `left_out`: could not be decoded
//   classes     names by number; empty: they have numbers only
//   rows        of classifiers, a list for each sample that has a label: name, label, probability of the label's
//               class, the most probable classes, their probabilities
//   pictures    of the samples with the least probable labels: row -> JPEG in base 64
//   texts       the same for texts: row -> ids of the tokens
//   sequences   of networks that predict words: {tokens, masked: [{at, id, guesses, probabilities}]}
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cnntrain/options/parse.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

inline constexpr std::string_view kSamplePredictionsFile = "sample_predictions.json";

struct SamplePredictionSettings {
    std::string checkpoint;                  // file of the network's weights
    std::map<std::string, std::string> key;  // as stored
    std::int64_t most_samples = 1000;        // 0: all
    std::size_t most_pictures = 32;
    std::size_t most_sequences = 12;
};

/// The text of that file. `arguments`: of the training run. Error(unsupported) for a task that predicts neither classes
/// nor words. Throws Interrupted if a stop is requested.
std::string sample_predictions(const TaskRow& row, const options::ParseResult& arguments,
                               const SamplePredictionSettings& settings, const Host& host,
                               metrics::Observers& observers);

}  // namespace cnntrain::run
