// `cnntrain inference` without --iterations: classifies samples.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/evaluator.h"
#include "run/monitor.h"
#include "run/ranks.h"
#include "run/reports/predictions.h"
#include "run/reports/run_report.h"
#include "run/request_latency.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

constexpr std::int64_t kTop = 5;  // of the top-5 accuracy

/// Loads one checkpoint, or random weights.
std::string load_weights(backend::Executable& executable, const graph::Graph& graph, const options::Settings& settings,
                         const FileSystem& files, std::uint64_t seed) {
    if (!settings.main.restore_path) {
        log::warning("no --restore-path: the weights are random, and so are the classes");
        initialise(executable, graph, seed);
        return "random";
    }
    const weights::Found found = checkpoint_to_evaluate(files, *settings.main.restore_path);
    load_model(executable, graph, checkpoint_weights(files, found.path, settings), found.path, settings.run);
    return found.name;
}

class Report {
public:
    /// `names`: of the classes; empty: they have numbers only.
    Report(const PredictionsFile& table, const MainSettings& settings, FileSystem& files, metrics::Observers& observers,
           const metrics::Unit& unit, std::vector<std::string> names)
        : path_(table.file.path),
          features_path_(settings.features),
          files_(files),
          observers_(observers),
          unit_(unit),
          names_(std::move(names)),
          text_(table.format, unit.one, names_),
          unknown_below_(settings.unknown_below) {}

    void add(Prediction prediction, std::int64_t shown_classes, bool printed) {
        const auto is_label = [&](const ClassProbability& item) { return item.label == prediction.label; };
        std::vector<ClassProbability>& classes = prediction.classes;
        const auto five = std::min<std::ptrdiff_t>(kTop, std::ssize(classes));
        if (unknown_below_ > 0) prediction.unknown = !(classes.front().probability >= unknown_below_);
        if (prediction.unknown.value_or(false)) {
            ++unknown_;
            unknown_labelled_ += prediction.label >= 0 ? 1 : 0;
        } else {
            known_top1_ += is_label(classes.front()) ? 1 : 0;
        }
        top1_ += is_label(classes.front()) ? 1 : 0;
        top5_ += std::any_of(classes.begin(), classes.begin() + five, is_label) ? 1 : 0;
        labelled_ += prediction.label >= 0 ? 1 : 0;
        ++samples_;
        classes.resize(static_cast<std::size_t>(std::min(shown_classes, std::ssize(classes))));
        text_.add(prediction);
        if (printed) observers_.on(metrics::Result{line_of(prediction), "prediction", text_.object_of(prediction)});
    }

    void leave_out() { ++left_out_; }

    void add_features(std::span<const float> row) { features_.add(row, {std::ssize(row)}); }

    void begin_maps(MapFolder& maps) {
        maps.begin(files_);
        maps_ = &maps;
    }

    /// `classes`: number of classes of the network. With five or fewer, top-5 accuracy is always 100 % and is not
    /// printed.
    void finish(const std::string& name, double seconds, std::int64_t classes) {
        if (left_out_ > 0) {
            observers_.line(std::to_string(left_out_) + " of " + std::to_string(samples_ + left_out_) + " " +
                            unit_.many + " could not be decoded and are left out");
        }
        if (samples_ == 0) throw Error(ErrorKind::data, "no " + unit_.one + " could be decoded");
        if (!path_.empty()) write_text(files_, path_, text_.text());
        if (!features_path_.empty()) features_.save(files_, features_path_);
        if (maps_ != nullptr) maps_->finish(files_);
        const double count = static_cast<double>(samples_);
        observers_.line("Inference [" + name + "]: " + std::to_string(samples_) + " " + unit_.many +
                        ", throughput: " + options::to_string(options::Value{count / seconds}) + " samples/sec");
        if (labelled_ > 0) {
            const std::string top5 = classes > kTop ? ", top-5 accuracy: " + percent(top5_) + " %" : "";
            const std::string some =
                labelled_ < samples_ ? " of the " + std::to_string(labelled_) + " with a label" : "";
            observers_.on(metrics::Result{"top-1 accuracy: " + percent(top1_) + " %" + top5 + some});
        }
        if (unknown_below_ > 0) {
            const std::int64_t believed = labelled_ - unknown_labelled_;
            const std::string accuracy =
                believed > 0 ? "; accuracy of the others: " + percent(known_top1_, believed) + " %" : "";
            observers_.on(metrics::Result{"unknown: " + std::to_string(unknown_) + " of " + std::to_string(samples_) +
                                          " " + unit_.many + accuracy});
        }
        if (!path_.empty()) observers_.line("Saved predictions to " + path_);
        if (!features_path_.empty()) observers_.line("Saved features to " + features_path_);
        if (maps_ != nullptr) observers_.line("Saved maps to " + maps_->path());
    }

private:
    std::string line_of(const Prediction& prediction) const {
        std::string line = shown(prediction) + (prediction.unknown.value_or(false) ? ": unknown," : ":");
        for (const ClassProbability& item : prediction.classes) {
            line += " " + printable(class_text(item.label, names_)) + " (" +
                    options::to_string(options::Value{rounded(item.probability)}) + ")";
        }
        return line;
    }
    /// Texts are long.
    static std::string shown(const Prediction& prediction) {
        constexpr std::size_t kMost = 60;
        if (prediction.row == 0) return printable(prediction.sample);
        std::size_t end = prediction.sample.size();
        if (end > kMost) {
            const auto inside_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
            for (end = kMost; end > 0 && inside_character(prediction.sample[end]);)
                --end;
        }
        return std::to_string(prediction.row) + " " + printable(prediction.sample.substr(0, end)) +
               (end < prediction.sample.size() ? "..." : "");
    }
    static double rounded(double value) {
        constexpr double kSteps = 10000;
        return std::round(value * kSteps) / kSteps;
    }
    std::string percent(std::int64_t hits) const { return percent(hits, labelled_); }
    static std::string percent(std::int64_t hits, std::int64_t of) {
        constexpr double kPercent = 100;
        return options::to_string(
            options::Value{rounded(kPercent * static_cast<double>(hits) / static_cast<double>(of))});
    }

    std::string path_;
    std::string features_path_;
    const MapFolder* maps_ = nullptr;
    FileSystem& files_;
    metrics::Observers& observers_;
    const metrics::Unit& unit_;
    std::vector<std::string> names_;
    PredictionText text_;
    NumpyRows features_;
    double unknown_below_;
    std::int64_t samples_ = 0, left_out_ = 0, labelled_ = 0, top1_ = 0, top5_ = 0;
    std::int64_t unknown_ = 0, unknown_labelled_ = 0, known_top1_ = 0;
};

/// Refuses options that only apply to measurements; they indicate a forgotten --iterations.
void refuse_measuring_options(const options::ParseResult& arguments) {
    for (const std::string flag : {"--num-inference-thread", "--force-recompile", "--tmp-execs", "--repeat"}) {
        std::string key = flag.substr(2);
        std::ranges::replace(key, '-', '_');
        if (arguments.at(key).source == options::Source::default_value) continue;
        throw Error(ErrorKind::usage, "inference: " + flag +
                                          " is for measuring, which needs --iterations; without it every sample is "
                                          "classified once");
    }
}

/// An inference and everything it needs.
struct Work {
    const Task& task;
    const backend::Backend& backend;
    const options::ParseResult& arguments;
    const Host& host;
    std::uint64_t seed;
};

struct Network {
    std::unique_ptr<backend::Executable> executable;
    std::string name;  // of the weights
};

Network loaded_network(const Work& work, const std::vector<data::Field>& fields) {
    const options::Settings& settings = work.arguments.settings;
    const GraphUse use = settings.main.maps.empty() ? GraphUse::classes : GraphUse::maps;
    const graph::Graph graph = work.task.graph(use, fields);
    Network network{work.backend.compile(compile_request(graph, settings, fields, work.seed)), ""};
    network.name = load_weights(*network.executable, graph, settings, *work.host.files, work.seed);
    return network;
}

/// The sample in a row of the logits; -1: padding.
std::int64_t sample_in(const Classifier::Subjects& subjects, std::int64_t row) {
    if (subjects.order.empty()) return row < subjects.stream->samples() ? row : -1;
    return row < std::ssize(subjects.order) ? subjects.order[static_cast<std::size_t>(row)] : -1;
}

data::LoaderSettings loader_of(const options::Settings& settings, const Host& host) {
    data::LoaderSettings loader = for_rank(loader_settings(settings, 0), *host.communicator);
    loader.stop_requested = host.stop_requested;
    return loader;
}

/// True if any rank is asked to stop. All ranks call it after each batch.
bool stops(const Host& host) {
    const bool mine = host.stop_requested && host.stop_requested();
    comm::Communicator& ranks = *host.communicator;
    return ranks.size() == 1 ? mine : comm::agree(ranks, {.stop = mine}, {}).any.stop;
}

/// The logits and labels of one micro-batch become those of the micro-batches of all ranks, in the order of the
/// samples.
void gather(HostTensor& logits, std::vector<std::int32_t>& labels, std::int64_t micro_batch,
            comm::Communicator& ranks) {
    if (ranks.size() == 1) return;
    const HostTensor mine = logits.cast(DType::f32);
    const std::span<const float> values = mine.as<float>();
    const RowOutputs own{mine.elements() / micro_batch, {values.begin(), values.end()}, std::move(labels)};
    RowOutputs all = outputs_of_all(own, micro_batch, ranks);
    labels = std::move(all.labels);
    logits = HostTensor({DType::f32, {mine.shape().at(0) * ranks.size(), mine.shape().at(1)}});
    std::ranges::copy(all.values, logits.as<float>().begin());
}

/// Features and maps stay with the rank that computes them.
void refuse_shared_features(const MainSettings& settings, const comm::Communicator& ranks) {
    if (ranks.size() == 1 || (settings.features.empty() && settings.maps.empty())) return;
    throw ErrorOfAll(Error(ErrorKind::unsupported,
                           "--features and --maps are written by one process, not by " + std::to_string(ranks.size())));
}

int classify(const Classifier& classifier, const Work& work) {
    const auto& [task, backend, arguments, host, seed] = work;
    const options::Settings& settings = arguments.settings;
    comm::Communicator& ranks = *host.communicator;
    refuse_shared_features(settings.main, ranks);
    const Classifier::Subjects subjects = classifier.subjects(loader_of(settings, host));
    const Network network = loaded_network(work, subjects.stream->fields());
    const auto& [executable, name] = network;

    const RunFolder folder = results_folder_of_all(task, arguments, host);
    metrics::Observers observers =
        report_evaluation(task, backend, arguments, folder, subjects.stream->samples(), host);

    const PredictionsFile table = predictions_file(folder.logs, arguments);
    check_predictions_file(table, arguments, *host.files);
    const std::string& features_path = settings.main.features;
    Report report(table, settings.main, *host.files, observers, task.columns().unit, task.class_names());
    MapFolder map_folder(settings.main.maps);
    if (map_folder.is_wanted()) report.begin_maps(map_folder);
    BatchCopy copy(*subjects.stream);
    LabelTap tap(map_folder.is_wanted() ? static_cast<data::BatchSource&>(copy) : *subjects.stream,
                 classifier.label_field());
    const Stopwatch watch;
    const std::int64_t count = subjects.stream->samples();
    const std::int64_t top = settings.main.top_classes;
    std::int64_t classes = 0;
    std::int64_t seen = 0;
    std::int64_t row = 0;  // of the logits, over all batches
    struct Waiting {
        Prediction prediction;
        std::vector<float> features;
    };
    std::map<std::int64_t, Waiting> waiting;  // by sample, where rows have another order
    const auto report_one = [&](Prediction prediction, std::span<const float> features) {
        report.add(std::move(prediction), top, subjects.printed);
        if (!features.empty()) report.add_features(features);
    };
    for (std::int64_t done = 0; done < subjects.stream->batches_per_sweep(); ++done) {
        const backend::StepResult result = executable->evaluate(tap, 1);
        if (const auto where = not_finite_in(*executable, result, result.samples > 0 ? kLogits : "", done == 0);
            where && settings.run.stop_on_nan)
            fail_not_finite("inference [" + name + "]", *where);
        HostTensor logits = executable->output(kLogits);
        std::vector<std::int32_t> labels = tap.labels();
        gather(logits, labels, subjects.stream->micro_batch(), ranks);
        classes = logits.desc().shape.at(1);
        HostTensor features;
        if (!features_path.empty()) features = executable->output(kFeatures).cast(DType::f32);
        HostTensor maps;
        if (map_folder.is_wanted()) maps = executable->output(kMaps);
        for (std::int64_t i = 0; i < logits.desc().shape.at(0); ++i, ++row) {
            const std::int64_t sample = sample_in(subjects, row);
            if (sample < 0) continue;
            ++seen;
            const std::int32_t label = labels.at(static_cast<std::size_t>(i));
            if (label == data::kLeftOut) {
                report.leave_out();
                continue;
            }
            const std::string subject =
                subjects.names.empty() ? std::to_string(sample) : subjects.names.at(static_cast<std::size_t>(sample));
            const std::int64_t in_file = subjects.rows.empty() ? 0 : subjects.rows.at(static_cast<std::size_t>(sample));
            Prediction prediction{subject, label, likeliest(logits, i, std::max(kTop, top), settings.main.temperature),
                                  in_file};
            if (map_folder.is_wanted()) {
                map_folder.add(*host.files, subject, map_of_class(maps, i, prediction.classes.front().label),
                               copy.desc_of(data::kImages), copy.bytes_of(i, data::kImages));
            }
            std::span<const float> of_sample;
            if (!features_path.empty()) {
                const auto width = static_cast<std::size_t>(features.shape().at(1));
                of_sample = features.as<float>().subspan(static_cast<std::size_t>(i) * width, width);
            }
            if (subjects.order.empty()) {
                report_one(std::move(prediction), of_sample);
            } else {
                waiting.emplace(sample, Waiting{std::move(prediction), {of_sample.begin(), of_sample.end()}});
            }
        }
        if (stops(host)) {
            observers.on(metrics::Result{"Inference stopped by a signal after " + std::to_string(seen) + " of " +
                                         std::to_string(count) + " " + task.columns().unit.many +
                                         "; predictions are not written."});
            return kInterruptedExitCode;
        }
    }
    for (auto& [sample, one] : waiting)
        report_one(std::move(one.prediction), one.features);
    if (!is_first(host)) return 0;
    report.finish(name, watch.seconds(), classes);
    return 0;
}

/// Runs the network on all samples, then prints and saves the answers that follow from all of them.
int answer(const Scorer& scorer, const Work& work) {
    const auto& [task, backend, arguments, host, seed] = work;
    const options::Settings& settings = arguments.settings;
    const std::unique_ptr<Samples> samples = scorer.asked();
    comm::Communicator& ranks = *host.communicator;
    const data::LoaderSettings loader = loader_of(settings, host);
    const std::unique_ptr<data::Stream> stream = samples->stream(loader);
    const Network network = loaded_network(work, stream->fields());
    const auto& [executable, name] = network;
    const RunFolder folder = results_folder_of_all(task, arguments, host);
    metrics::Observers observers = report_evaluation(task, backend, arguments, folder, stream->samples(), host);
    const PredictionsFile table = predictions_file(folder.logs, arguments);
    check_predictions_file(table, arguments, *host.files);
    const Stopwatch watch;
    const metrics::Unit& unit = task.columns().unit;
    RowOutputs outputs;
    std::optional<LabelTap> tap;
    if (!scorer.labels_read().empty()) tap.emplace(*stream, scorer.labels_read());
    data::BatchSource& source = tap ? static_cast<data::BatchSource&>(*tap) : *stream;
    std::int64_t seen = 0;
    std::vector<Call> calls;
    for (std::int64_t done = 0; done < stream->batches_per_sweep();) {
        const Stopwatch call;
        const backend::StepResult result = executable->evaluate(source, 1);
        calls.push_back({call.seconds(), result.samples});
        if (const auto where = not_finite_in(*executable, result, result.samples > 0 ? kLogits : "", done == 0);
            where && settings.run.stop_on_nan)
            fail_not_finite("inference [" + name + "]", *where);
        append_logits(*executable, loader.micro_batch, outputs);
        if (tap) outputs.labels.insert(outputs.labels.end(), tap->labels().begin(), tap->labels().end());
        seen += result.samples;
        ++done;
        const double rate = static_cast<double>(seen * ranks.size()) / watch.seconds();
        if (stops(host)) {
            observers.on(metrics::Result{"Inference stopped by a signal; predictions are not written."});
            return kInterruptedExitCode;
        }
        observers.on(
            metrics::Progress{done, 0, stream->batches_per_sweep(), rate, watch.seconds(), "batches", unit.many, true});
    }
    const double seconds = watch.seconds();
    const Scored scored = scorer.answers(outputs_of_all(outputs, loader.micro_batch, ranks));
    if (!is_first(host)) return 0;
    for (const Answered& answered : scored.answers) {
        if (!answered.line.empty()) observers.on(metrics::Result{answered.line, "prediction", object_of(answered)});
    }
    observers.line("Inference [" + name + "]: " + counted(stream->samples(), unit.one) + ", throughput: " +
                   options::to_string(options::Value{static_cast<double>(stream->samples()) / seconds}) +
                   " samples/sec");
    report_moment(task, LastCall{calls, ranks.size()}, observers);
    for (const std::string& line : scored.lines)
        observers.on(metrics::Result{line});
    if (!table.file.path.empty()) {
        write_text(*host.files, table.file.path, answers_text(table.format, scored.answers));
        observers.line("Saved predictions to " + table.file.path);
    }
    if (!folder.logs.empty()) write_result_files(scored, folder.logs, *host.files, observers);
    return 0;
}

}  // namespace

bool measures_requests(const options::Settings& settings) {
    return settings.training.iterations || settings.device.dataset_benchmark || settings.device.compile_only;
}

int run_inference(const TaskRow& task_row, const options::ParseResult& arguments, const Host& host) {
    const options::Settings& settings = arguments.settings;
    if (measures_requests(settings)) return measure_requests(task_row, arguments, host);
    refuse_measuring_options(arguments);
    const std::uint64_t seed = static_cast<std::uint64_t>(settings.device.seed.value_or(0));
    const auto backend = make_backend(settings.run.backend);
    const std::unique_ptr<Task> made = task_row.make(arguments, *backend, seed);
    const Task& task = *made;
    check_predictions_file(predictions_file("", arguments), arguments, *host.files);
    if (!settings.main.features.empty() && (task.scorer() != nullptr || task.classifier() == nullptr)) {
        throw Error(ErrorKind::unsupported,
                    "--features: " + std::string(task_row.options.name) + " of this kind has no vectors of features");
    }
    if (task.scorer() != nullptr) return answer(*task.scorer(), {task, *backend, arguments, host, seed});
    if (task.classifier() != nullptr) return classify(*task.classifier(), {task, *backend, arguments, host, seed});
    throw Error(ErrorKind::unsupported, "inference: " + std::string(task_row.options.name) +
                                            " has no classes; give --iterations to measure it");
}

}  // namespace cnntrain::run
