// `cnntrain inference` without --iterations: what a trained net sees in the images of a folder or of a validation split.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/image_folder.h"
#include "cnntrain/data/input.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/resolve.h"
#include "cnntrain/metrics/run_log.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/train/assemble.h"
#include "cnntrain/train/runs.h"
#include "train/external_logs.h"
#include "train/inference_benchmark.h"
#include "train/predictions.h"
#include "train/run_folder.h"
#include "train/stopwatch.h"
#include "train/weights.h"

namespace cnntrain::train {

namespace {

constexpr std::int64_t kClasses = 5;  // shown for each image

/// Passes batches on and remembers the labels of the last one.
class LabelTap final : public data::BatchSource {
public:
    explicit LabelTap(data::BatchSource& source)
        : source_(source), field_(data::field_number(source.fields(), data::kLabels)) {}

    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override {
        data::Batch batch = source_.next();
        const auto labels = batch.as<std::int32_t>(field_);
        labels_.assign(labels.begin(), labels.end());
        return batch;
    }

    const std::vector<std::int32_t>& labels() const { return labels_; }

private:
    data::BatchSource& source_;
    std::size_t field_;
    std::vector<std::int32_t> labels_;
};

struct Images {
    std::unique_ptr<data::Stream> stream;
    std::vector<std::string> names;  // empty for a data set: numbered then
};

/// A data set's folder holds its files; any other folder is one of JPEG files.
bool holds_dataset(const config::Settings& settings) {
    if (settings.data.kind != data::DataKind::real) return true;
    const data::DatasetId id = settings.data.dataset;
    try {
        const std::string folder = data::find_data_folder(id, settings.data.data_dir);
        return !data::split_files(id, folder, data::Split::validation).empty();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data || !std::filesystem::is_directory(settings.data.data_dir)) throw;
        return false;
    }
}

Images open_images(const config::Settings& settings, DType half, std::uint64_t seed) {
    data::LoaderSettings loader = loader_settings(settings, 0);
    if (holds_dataset(settings)) {
        const data::InputData data(data_settings(settings, half, seed), data::Split::validation);
        return {data.stream(loader), {}};
    }
    if (settings.data.dataset != data::DatasetId::imagenet) {
        throw Error(ErrorKind::usage, settings.data.data_dir + ": no " +
                                          std::string(config::name(settings.data.dataset)) +
                                          " files there; a folder of JPEG files needs --dataset imagenet");
    }
    const data::InputSettings format = data_settings_without_folder(settings, half, seed);
    auto folder = std::make_shared<data::ImageFolder>(settings.data.data_dir, settings.data.image_size,
                                                      data::host_format(format), settings.data.strict);
    std::vector<std::string> names = folder->names();
    loader.feed = data::Feed::passes;
    return {std::make_unique<data::Loader>(std::move(folder), loader), std::move(names)};
}

/// Exactly one checkpoint, or random weights.
std::string load_weights(backend::Executable& executable, const graph::Graph& graph, const config::Settings& settings,
                         const FileSystem& files, std::uint64_t seed) {
    if (!settings.main.restore_path) {
        log::warning("no --restore-path: the weights are random, and so are the classes");
        initialise(executable, graph, seed);
        return "random";
    }
    const auto found = checkpoint::find_checkpoint(files, "--restore-path", *settings.main.restore_path);
    load_model(executable, graph, checkpoint::load(files, found.path), found.path);
    return found.name;
}

class Report {
public:
    Report(const RunFolder& folder, FileSystem& files, metrics::RunLog& log)
        : path_(folder.logs.empty() ? "" : folder.logs + "/predictions.csv"), files_(files), log_(log) {}

    void add(const std::string& image, std::int64_t label, const std::vector<ClassProbability>& classes, bool shown) {
        const auto is_label = [&](const ClassProbability& item) { return item.label == label; };
        top1_ += label == classes.front().label ? 1 : 0;
        top5_ += std::any_of(classes.begin(), classes.end(), is_label) ? 1 : 0;
        labelled_ += label >= 0 ? 1 : 0;
        ++images_;
        if (csv_.empty()) csv_ = prediction_header(static_cast<std::int64_t>(classes.size())) + "\r\n";
        csv_ += prediction_row(image, label, classes) + "\r\n";
        if (shown) log_.line(line_of(image, classes));
    }

    void leave_out() { ++left_out_; }

    void finish(const std::string& name, double seconds) {
        if (left_out_ > 0) {
            log_.line(std::to_string(left_out_) + " of " + std::to_string(images_ + left_out_) +
                      " images could not be decoded and are left out");
        }
        if (images_ == 0) throw Error(ErrorKind::data, "no image could be decoded");
        if (!path_.empty()) files_.write_text(path_, csv_);
        const double count = static_cast<double>(images_);
        log_.line("Inference [" + name + "]: " + std::to_string(images_) +
                  " images, throughput: " + config::to_string(config::Value{count / seconds}) + " samples/sec");
        if (labelled_ > 0)
            log_.line("top-1 accuracy: " + percent(top1_) + " %, top-5 accuracy: " + percent(top5_) + " %");
        if (!path_.empty()) log_.line("Saved predictions to " + path_);
    }

private:
    static std::string line_of(const std::string& image, const std::vector<ClassProbability>& classes) {
        std::string line = image + ":";
        for (const ClassProbability& item : classes) {
            line += " " + std::to_string(item.label) + " (" +
                    config::to_string(config::Value{rounded(item.probability)}) + ")";
        }
        return line;
    }
    static double rounded(double value) {
        constexpr double kSteps = 10000;
        return std::round(value * kSteps) / kSteps;
    }
    std::string percent(std::int64_t hits) const {
        constexpr double kPercent = 100;
        return config::to_string(
            config::Value{rounded(kPercent * static_cast<double>(hits) / static_cast<double>(labelled_))});
    }

    std::string path_;
    FileSystem& files_;
    metrics::RunLog& log_;
    std::string csv_;
    std::int64_t images_ = 0, left_out_ = 0, labelled_ = 0, top1_ = 0, top5_ = 0;
};

/// They say nothing about classifying images; whoever gives them has forgotten --iterations.
void refuse_measuring_options(const config::ParseResult& arguments) {
    for (const std::string flag : {"--num-inference-thread", "--force-recompile", "--tmp-execs", "--repeat"}) {
        std::string key = flag.substr(2);
        std::ranges::replace(key, '-', '_');
        if (arguments.at(key).source == config::Source::default_value) continue;
        throw Error(ErrorKind::usage, "inference: " + flag +
                                          " is for measuring, which needs --iterations; without it every image is "
                                          "classified once");
    }
}

}  // namespace

int run_inference(const config::ParseResult& arguments, const Host& host) {
    const config::Settings& settings = arguments.settings;
    if (settings.training.iterations || settings.device.dataset_benchmark || settings.device.compile_only) {
        return benchmark_inference(arguments, host);
    }
    refuse_measuring_options(arguments);
    const std::uint64_t seed = static_cast<std::uint64_t>(settings.device.seed.value_or(0));
    const auto backend = make_backend(settings.run.backend);
    const Images images = open_images(settings, backend->half_type(), seed);
    const std::vector<data::Field> fields = images.stream->fields();
    const graph::Graph graph =
        evaluation_graph(settings, *backend, data::field_desc(fields, data::kImages), /*with_logits=*/true);
    const auto executable = backend->compile(compile_request(graph, settings, fields, 1, seed));
    const std::string name = load_weights(*executable, graph, settings, *host.files, seed);

    const RunFolder folder = new_run_folder(settings, *host.files);
    const auto run_log = open_evaluation_log(arguments, folder, host);
    metrics::RunLog& log = *run_log;

    Report report(folder, *host.files, log);
    LabelTap tap(*images.stream);
    const Stopwatch watch;
    const std::int64_t batch = images.stream->micro_batch();
    const std::int64_t count = images.stream->samples();
    for (std::int64_t first = 0; first < count; first += batch) {
        executable->evaluate(tap, 1);
        const HostTensor logits = executable->output(kLogits);
        for (std::int64_t row = 0; row < std::min(batch, count - first); ++row) {
            const std::int32_t label = tap.labels().at(static_cast<std::size_t>(row));
            if (label == data::kLeftOut) {
                report.leave_out();
                continue;
            }
            const std::int64_t image = first + row;
            const bool named = !images.names.empty();
            report.add(named ? images.names.at(static_cast<std::size_t>(image)) : std::to_string(image), label,
                       likeliest(logits, row, kClasses), named);
        }
        if (host.stop_requested && host.stop_requested()) {
            log.line("Inference stopped by a signal after " + std::to_string(std::min(first + batch, count)) + " of " +
                     std::to_string(count) + " images; predictions.csv is not written.");
            return kInterruptedExitCode;
        }
    }
    report.finish(name, watch.seconds());
    return 0;
}

}  // namespace cnntrain::train
