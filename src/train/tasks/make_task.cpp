#include "train/tasks/make_task.h"

#include "train/tasks/image_classification.h"
#include "train/tasks/pretraining.h"

namespace cnntrain::train {

std::unique_ptr<Task> make_task(const config::ParseResult& arguments, const backend::Backend& backend,
                                std::uint64_t seed) {
    if (arguments.command == config::Command::pretrain) return std::make_unique<Pretraining>(arguments, backend, seed);
    return std::make_unique<ImageClassification>(arguments, backend, seed);
}

}  // namespace cnntrain::train
