#include "cnntrain/config/settings.h"

#include "config/resolve/resolve.h"

namespace cnntrain::config {

bool trains(const Resolution& run) {
    return run.task.trains != nullptr ? run.task.trains(run) : run.command == run.task.commands.front();
}

Settings to_settings(Resolution& run) {
    Settings settings;
    settings.task = run.task.settings();
    for (const ResolvedOption& entry : run.values.all()) {
        if (entry.option->bind.write != nullptr) entry.option->bind.write(settings, entry.value);
    }
    settings.training.processes = run.values.launch().processes;
    settings.main.trains = trains(run);
    if (run.task.complete != nullptr) run.task.complete(settings, run);
    return settings;
}

}  // namespace cnntrain::config
