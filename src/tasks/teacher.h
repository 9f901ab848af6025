// A trained network that teaches another one (Hinton et al. 2015): a training also learns the answers of the teacher to
// its samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/options/task_options.h"
#include "cnntrain/run/compile_request.h"

namespace cnntrain::tasks {

/// A network that evaluates a training's batches.
struct Teacher {
    options::ParseResult arguments;  // with which inference reads its weights
    /// Its evaluation of batches with these fields, in the training's numbers, with the output run::kLogits.
    std::function<graph::Graph(const std::vector<data::Field>&)> graph;
    std::int64_t classes = 0;  // C
    std::int64_t slots = 0;    // K: samples in a row of a batch; 0: a row is a sample
    bool repeats = false;      // a sample is the same in each epoch: its answer is computed once
};

/// The teacher of --teacher: a run's best or else its newest checkpoint, or a file of weights. `data`: the words of the
/// command line that name the data. Error(not_found) if there is none, Error(usage) if it has another task.
options::ParseResult teacher_arguments(const options::ParseResult& student, const std::vector<std::string>& data);

/// Throws Error(data) unless teacher and student have the same classes. Names may be unknown: empty.
void check_teacher_classes(const std::string& path, std::int64_t theirs, const std::vector<std::string>& their_names,
                           std::int64_t own, const std::vector<std::string>& own_names);

/// Adds the field nn::kTeacherLogits to the samples' batches: the teacher's logits of them, which it sees as the
/// student does, with augmentation. `backend` must outlive the result.
std::unique_ptr<data::Samples> taught(std::unique_ptr<data::Samples> samples, Teacher teacher,
                                      const options::Settings& student, const backend::Backend& backend);

/// Memory of a teacher that answers micro-batches with these fields, of `rows` in all: its weights, also as they are
/// loaded, its values, and the answers that are kept.
std::uint64_t teacher_bytes(const Teacher& teacher, const std::vector<data::Field>& fields, std::int64_t rows,
                            const options::Settings& student, const backend::Backend& backend);

/// That field: f32[N,C], or f32[N,K,C] where rows have slots for K samples.
data::Field teacher_field(std::int64_t rows, std::int64_t slots, std::int64_t classes);

/// The terms of the loss, of which the teacher's is one if there is a teacher. `samples`: in an update.
std::vector<run::LossTerm> taught_loss(const run::LossSettings& settings, double samples);

/// Rule of --teacher and --distill.
options::Violation teaching(const options::Resolution& run);

}  // namespace cnntrain::tasks
