// Defaults of training on a user's own photos, by their number and by whether weights are given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/settings.h"
#include "cnntrain/options/parse.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {

/// Sets the options that the user has left open in a training on photos in class folders, before the defaults of the
/// model, and adds one notice with these options and the reasons. Changes nothing for other data.
void fill_for_own_photos(Resolution& run);

/// Keys of the options that it has set.
std::vector<std::string> chosen_for_own_photos(const ParseResult& arguments);

// --class-weights: "balanced", numbers, or a file of numbers become the weights of the training loss.

inline constexpr std::string_view kBalanced = "balanced";

/// The numbers of "w0,w1,..."; empty if the text is anything else.
std::vector<double> listed_weights(std::string_view text);

/// Weights of `sizes.size()` classes with so many images: images / (classes * images of the class), so that the mean
/// over all images is 1. A class without images has weight 1.
std::vector<double> balanced_weights(const std::vector<std::int64_t>& sizes);

/// The same of several labels: images without the label / images with it; a label on no image has weight 1.
std::vector<double> balanced_label_weights(const std::vector<std::int64_t>& sizes, std::int64_t images);

/// The weights in a file's text: on each line a weight, in the order of the classes, or CLASS,WEIGHT for each name in
/// `classes`, in any order. Empty lines and lines that begin with # are skipped. Error(data) names file and line.
std::vector<double> weights_in(std::string_view text, const std::string& path, const std::vector<std::string>& classes);

/// The weights for this value of the option; empty if it is. `classes`: their number. Error(usage) for numbers that are
/// not as many as the classes, negative or all 0. Counts the images of classes in settings.folder.
std::vector<double> class_weights(const std::string& option, const data::InputSettings& settings, std::int64_t classes);

}  // namespace cnntrain::tasks
