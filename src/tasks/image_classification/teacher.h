// A trained network that teaches another one (Hinton et al. 2015): a training also learns the answers of the teacher to
// its images.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/options/settings.h"

namespace cnntrain::tasks {

/// Adds the field nn::kTeacherLogits, f32[N,C], to the samples' batches: the teacher's logits of their images, which it
/// sees as the student does, with augmentation. `classes`: names of the student's; empty: unknown. `backend` must
/// outlive the result. The teacher is a run's best or else its newest checkpoint. Error(not_found) if there is none,
/// Error(data) if it has other classes, Error(usage) if it was trained with another normalisation.
std::unique_ptr<data::Samples> taught(std::unique_ptr<data::Samples> samples, const options::Settings& student,
                                      const std::vector<std::string>& classes, const backend::Backend& backend);

/// That field.
data::Field teacher_field(std::int64_t samples, std::int64_t classes);

}  // namespace cnntrain::tasks
