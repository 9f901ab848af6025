// --class-weights: "balanced", numbers, or a file of numbers become the weights of the training loss.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/task_options.h"

namespace cnntrain::tasks {

inline constexpr std::string_view kBalanced = "balanced";

/// The numbers of "w0,w1,..."; empty if the text is anything else.
std::vector<double> listed_weights(std::string_view text);

/// Weights of `sizes.size()` classes with so many samples: samples / (classes * samples of the class), so that the
/// mean over all samples is 1. A class without samples has weight 1.
std::vector<double> balanced_weights(const std::vector<std::int64_t>& sizes);

/// The same of several labels: samples without the label / samples with it; a label of no sample has weight 1.
std::vector<double> balanced_label_weights(const std::vector<std::int64_t>& sizes, std::int64_t samples);

/// The weights in a file's text: on each line a weight, in the order of the classes, or CLASS,WEIGHT for each name in
/// `classes`, in any order. Empty lines and lines that begin with # are skipped. Error(data) names file and line.
std::vector<double> weights_in(std::string_view text, const std::string& path, const std::vector<std::string>& classes);

/// The weights for this value of the option; empty if it is. `classes`: their number; `names`: of the classes, for a
/// file; `balanced`: the balanced weights. Error(usage) for numbers that are not as many as the classes, negative or
/// all 0.
std::vector<double> class_weights(const std::string& option, std::int64_t classes,
                                  const std::function<std::vector<std::string>()>& names,
                                  const std::function<std::vector<double>()>& balanced);

// Rules of the option.

options::Violation class_weights_exist(const options::Resolution& run);
/// `several`: the samples have several labels.
options::Violation class_weights_need_pairs(const options::Resolution& run, bool several);
/// A file of weights is found again from any folder.
void keep_path_of_class_weights(options::OptionValues& values);

}  // namespace cnntrain::tasks
