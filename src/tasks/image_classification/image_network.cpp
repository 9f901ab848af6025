#include "cnntrain/tasks/image_network.h"

#include "tasks/image_classification/network.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

std::optional<ImageNetwork> image_network(const config::ParseResult& arguments) {
    if (&arguments.task->options() != &image_options()) return std::nullopt;
    return ImageNetwork{network_settings(arguments.settings), image_settings(arguments.settings).data};
}

}  // namespace cnntrain::tasks
