// What is wrong or suspect with the photos that a user gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/sets/photo_set.h"

namespace cnntrain::data {

/// Throws Error(data) if a class has no training photos.
void check_training_photos(const PhotoSet& photos);

/// Throws Error(data) if there are no photos to validate with.
void check_validation_photos(const PhotoSet& photos);

/// One text each: classes without validation photos, names of classes that differ by case only, very unequal classes.
std::vector<std::string> suspicions(const PhotoSet& photos);

/// For each file, the number of the first one with the same content, or its own. Reads files whose sizes in `bytes` are
/// equal and not 0, up to a limit of bytes; `limited` is set when that was reached.
std::vector<std::size_t> first_copies(const std::vector<std::uint64_t>& bytes,
                                      const std::function<std::string(std::size_t)>& path, bool& limited);

/// The same photo in both splits, by content; "" if there is none. Reads files of equal size only, up to a limit, and
/// says when it reached that.
std::string copies_text(const PhotoSet& photos);

}  // namespace cnntrain::data
