// What is wrong or suspect with the photos that a user gives.
#pragma once

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

/// The same photo in both splits, by content; "" if there is none. Reads files of equal size only, up to a limit, and
/// says when it reached that.
std::string copies_text(const PhotoSet& photos);

}  // namespace cnntrain::data
