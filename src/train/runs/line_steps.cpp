#include "train/runs/line_steps.h"

#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/optim/step_rate.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/loading.h"
#include "train/runs/profiling.h"
#include "train/runs/ranks.h"
#include "train/runs/weights.h"

namespace cnntrain::train {
namespace {

constexpr double kLearningRate = 1e-4;  // small, so that random weights stay finite

std::uint64_t seed_of_line(const config::Settings& settings) {
    return static_cast<std::uint64_t>(settings.device.seed.value_or(1));
}

/// With a short ring, the steps soon wait for the input if it is slower than they are.
data::LoaderSettings with_short_ring(data::LoaderSettings loader, std::int64_t held) {
    loader.batches_ahead = std::min(loader.batches_ahead, held + 1);
    return loader;
}

/// True for an inference that classifies samples rather than measures requests.
bool classifies(const config::ParseResult& arguments) {
    return arguments.command == config::Command::inference && !arguments.settings.training.iterations;
}

}  // namespace

LineSteps::LineSteps(const TaskRow& row, const config::ParseResult& arguments, const Host& host, bool evaluates)
    : host_(host), evaluates_(evaluates), backend_(make_backend(arguments.settings.run.backend)) {
    const config::Settings& settings = arguments.settings;
    task_ = row.make(arguments, *backend_, seed_of_line(settings));
    if (evaluates_) {
        open_evaluation(arguments);
    } else {
        open_training(settings);
    }
    initialise(*executable_, *graph_, seed_of_line(settings));
}

void LineSteps::compile(backend::CompileRequest request) {
    request.runtime.stop_requested = host_.stop_requested;
    threads_ = request.cpu.threads;
    executable_ = backend_->compile(request);
}

void LineSteps::open_training(const config::Settings& settings) {
    samples_ = done_by_all(*host_.communicator, "data of the run", [&] { return task_->open(data::Split::train); });
    placement_ = train::placement(settings, *backend_);
    loss_scaling_ = optim::loss_scaling_at(settings.optimiser, 0);
    const std::vector<data::Field> fields = samples_->fields(placement_.samples);
    graph_.emplace(task_->training_graph(fields));
    backend::CompileRequest request = training_request(*graph_, settings, fields, seed_of_line(settings));
    request.peers = peers(settings, *host_.communicator);
    compile(std::move(request));
    data::LoaderSettings loader = with_short_ring(training_loader_settings(settings, placement_, fields, 0),
                                                  schedule::batches_in_flight(placement_));
    loader = for_rank(std::move(loader), *host_.communicator);
    loader.stop_requested = host_.stop_requested;
    loader.timeline = host_.timeline;
    stream_ = samples_->stream(loader);
}

void LineSteps::open_evaluation(const config::ParseResult& arguments) {
    const config::Settings& settings = arguments.settings;
    const Classifier* const classifier = classifies(arguments) ? task_->classifier() : nullptr;
    if (classifier != nullptr) {
        stream_ = classifier->subjects(host_.stop_requested).stream;
    } else {
        samples_ =
            done_by_all(*host_.communicator, "data of the run", [&] { return task_->open(data::Split::validation); });
        data::LoaderSettings loader =
            for_rank(with_short_ring(validation_loader_settings(settings), 1), *host_.communicator);
        loader.stop_requested = host_.stop_requested;
        loader.timeline = host_.timeline;
        stream_ = samples_->stream(loader);
    }
    placement_.samples = stream_->micro_batch();
    const std::vector<data::Field> fields = stream_->fields();
    graph_.emplace(classifier != nullptr ? classifier->classifying_graph(fields) : task_->evaluation_graph(fields));
    compile(compile_request(*graph_, settings, fields, seed_of_line(settings)));
}

void LineSteps::step() {
    const backend::StepResult result =
        evaluates_ ? executable_->evaluate(*stream_, 1)
                   : executable_->train_step(*stream_, {kLearningRate, iteration_++, loss_scaling_});
    const bool stops = host_.communicator->size() == 1 && host_.stop_requested && host_.stop_requested();
    if (result.stopped || result.stop_requested || stops) throw Interrupted();
}

profile::Session LineSteps::session(Timeline& timeline, const config::ParseResult& arguments) {
    profile::Profile facts =
        profile_facts(*task_, *backend_, arguments.settings, host_, !evaluates_, placement_, stream_->fields());
    return {{*backend_, *executable_, *graph_, *stream_, *host_.communicator, timeline}, std::move(facts)};
}

}  // namespace cnntrain::train
