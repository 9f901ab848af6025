#include "train/runs/profiling.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/cores.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/comm/recorded.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/machine.h"

namespace cnntrain::train {
namespace {

/// Pixels of the images that the network reads, in millions; 0 if it reads none.
double image_megapixels(const std::vector<data::Field>& fields) {
    for (const data::Field& field : fields) {
        const Shape& shape = field.desc.shape;
        if (shape.size() == 4) return 1e-6 * static_cast<double>(shape[1] * shape[2]);
    }
    return 0;
}

}  // namespace

bool wants_profile(const config::Settings& settings) {
    return settings.logging.profile && settings.run.backend == backend::BackendKind::cpu;
}

Host recorded(const Host& host) {
    Host result = host;
    result.timeline = std::make_shared<Timeline>();
    if (host.communicator->size() > 1) result.communicator = comm::make_recorded(host.communicator, result.timeline);
    return result;
}

profile::Profile profile_facts(const Task& task, const backend::Backend& backend, const config::Settings& settings,
                               const Host& host, bool trains, const schedule::Placement& placement,
                               const std::vector<data::Field>& fields) {
    const TaskDescription description = task.description();
    profile::Profile facts;
    facts.title = std::string(trains ? "training, " : "evaluation, ") +
                  (description.title.empty() ? description.model : description.title);
    facts.line = host.command_line;
    facts.version = version_line();
    facts.machine = to_string(this_processor());
    facts.unit = task.columns().unit.many;
    facts.type = name(arithmetic(settings.device, backend).type);
    facts.faster_in_16_bits =
        settings.device.precision == nn::Precision::p32_32 && backend.fastest_arithmetic().type != DType::f32;
    facts.trains = trains;
    facts.micro_batch = placement.samples;
    facts.image_megapixels = image_megapixels(fields);
    facts.threads = compute_threads(settings.run);
    facts.lanes = placement.lanes;
    facts.cores = available_cores();
    facts.processors = available_processors();
    return facts;
}

std::int64_t updates_before_profile(const data::Stream& stream, const schedule::Placement& placement) {
    constexpr std::int64_t kFirst = 2;
    return std::max(kFirst, (stream.stats().ring_batches + placement.micro_batches) / placement.micro_batches);
}

Window profiled_window(std::int64_t updates, std::int64_t before, std::int64_t steps) {
    Window window;
    window.first = std::min(before, std::max<std::int64_t>(1, updates - steps));
    window.steps = std::clamp<std::int64_t>(updates - window.first, 0, steps);
    return window;
}

ProfiledWindow::ProfiledWindow(std::unique_ptr<profile::Session> session, Window window, std::int64_t samples,
                               std::function<void(const profile::Report&)> done)
    : session_(std::move(session)), window_(window), samples_(samples), done_(std::move(done)) {}

void ProfiledWindow::update_done() {
    if (!session_ || window_.steps == 0) return;
    ++updates_;
    if (updates_ == window_.first) session_->begin();
    if (updates_ != window_.first + window_.steps) return;
    constexpr int kLongest = 10;
    done_(session_->end(window_.steps, samples_, kLongest));
    session_.reset();
}

}  // namespace cnntrain::train
