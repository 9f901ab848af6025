#include "run/profiling.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "run/profile/session.h"
#include "run/ranks.h"

namespace cnntrain::run {
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

bool wants_profile(const options::Settings& settings) {
    return settings.logging.profile && settings.run.backend == backend::BackendKind::cpu;
}

Host recorded(const Host& host) {
    Host result = host;
    result.timeline = std::make_shared<Timeline>();
    if (host.communicator->size() > 1) result.communicator = comm::make_recorded(host.communicator, result.timeline);
    return result;
}

profile::Profile profile_facts(const Task& task, const backend::Backend& backend, const options::Settings& settings,
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

// `cnntrain profile`: measures steps of a line without a run around them.

namespace {

constexpr int kLongest = 10;

/// Makes the folder. Throws Error(usage) or Error(storage) unless the files of the profile can be written there.
void prepare_folder(const std::string& folder, std::size_t ranks, FileSystem& files) {
    if (folder.empty()) return;
    const FileKind kind = files.kind(folder);
    if (kind != FileKind::absent && kind != FileKind::directory)
        throw Error(ErrorKind::usage, "--profile-dir " + folder + ": it is not a folder; name another one");
    std::vector<Output> outputs;
    for (const std::string& path : profile::profile_files(folder, ranks))
        outputs.push_back({{"--profile-dir", path}, false, "", profile::is_profile_file});
    check_outputs(files, outputs);
    files.make_directories(folder);
    files.create(outputs.front().path);  // not committed
}

}  // namespace

int run_profile(const TaskRow& task, const options::ParseResult& arguments, const ProfileRequest& request,
                const Host& host) {
    if (arguments.settings.run.backend != backend::BackendKind::cpu)
        throw Error(ErrorKind::unsupported, "profiles are of the CPU backend only; leave out --backend");
    agree_on_options(arguments, host);
    const Host here = recorded(host);
    const auto ranks = static_cast<std::size_t>(here.communicator->size());
    if (is_first(here)) prepare_folder(request.folder, ranks, *here.files);
    LineSteps steps(task, arguments, here, !arguments.settings.main.trains);
    const std::int64_t first = updates_before_profile(steps.stream(), steps.placement());
    for (std::int64_t i = 0; i < first; ++i)
        steps.step();
    profile::Session session = steps.session(*here.timeline, arguments);
    session.begin();
    for (std::int64_t i = 0; i < request.steps; ++i)
        steps.step();
    const profile::Report report = session.end(request.steps, steps.samples_per_step(), kLongest);
    if (!is_first(here)) return 0;
    *here.console << report.table;
    if (request.folder.empty()) return 0;
    profile::write_report(*here.files, request.folder, report);
    *here.console << "Saved " << joined(profile::profile_files(request.folder, ranks)) << "\n";
    return 0;
}

namespace {

constexpr double kLearningRate = 1e-4;  // small, so that random weights stay finite

std::uint64_t seed_of_line(const options::Settings& settings) {
    return static_cast<std::uint64_t>(settings.device.seed.value_or(1));
}

/// Shortens the ring, so that the steps soon wait for the input if it is slower than they are.
data::LoaderSettings with_short_ring(data::LoaderSettings loader, std::int64_t held) {
    loader.batches_ahead = std::min(loader.batches_ahead, held + 1);
    return loader;
}

/// True for an inference that classifies samples rather than measures requests.
bool classifies(const options::ParseResult& arguments) {
    return arguments.command == options::Command::inference && !arguments.settings.training.iterations;
}

}  // namespace

LineSteps::LineSteps(const TaskRow& row, const options::ParseResult& arguments, const Host& host, bool evaluates)
    : host_(host), evaluates_(evaluates), backend_(make_backend(arguments.settings.run.backend)) {
    const options::Settings& settings = arguments.settings;
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

void LineSteps::open_training(const options::Settings& settings) {
    samples_ = done_by_all(*host_.communicator, "data of the run", [&] { return task_->open(data::Split::train); });
    placement_ = run::placement(settings, *backend_);
    loss_scaling_ = optim::loss_scaling_at(settings.optimiser, 0);
    const std::vector<data::Field> fields = samples_->fields(placement_.samples);
    graph_.emplace(task_->graph(GraphUse::training, fields));
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

void LineSteps::open_evaluation(const options::ParseResult& arguments) {
    const options::Settings& settings = arguments.settings;
    const Classifier* const classifier = classifies(arguments) ? task_->classifier() : nullptr;
    if (classifier != nullptr) {
        data::LoaderSettings loader = loader_settings(settings, 0);
        loader.stop_requested = host_.stop_requested;
        stream_ = classifier->subjects(loader).stream;
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
    graph_.emplace(task_->graph(classifier != nullptr ? GraphUse::classes : GraphUse::evaluation, fields));
    compile(compile_request(*graph_, settings, fields, seed_of_line(settings)));
}

void LineSteps::step() {
    const backend::StepResult result =
        evaluates_ ? executable_->evaluate(*stream_, 1)
                   : executable_->train_step(*stream_, {kLearningRate, iteration_++, loss_scaling_});
    const bool stops = host_.communicator->size() == 1 && host_.stop_requested && host_.stop_requested();
    if (result.stopped || result.stop_requested || stops) throw Interrupted();
}

profile::Session LineSteps::session(Timeline& timeline, const options::ParseResult& arguments) {
    profile::Profile facts =
        profile_facts(*task_, *backend_, arguments.settings, host_, !evaluates_, placement_, stream_->fields());
    return {{*backend_, *executable_, *graph_, *stream_, *host_.communicator, timeline}, std::move(facts)};
}

}  // namespace cnntrain::run
