#include "tasks/image_classification/task.h"

#include <filesystem>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "tasks/class_weights.h"
#include "tasks/image_classification/network.h"
#include "tasks/image_classification/own_photos.h"
#include "tasks/image_classification/resolve.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

const data::DatasetInfo& info_of(const options::Settings& settings) {
    return data::dataset_info(image_settings(settings).data.dataset);
}

/// `several`: photos have several labels; their accuracy is the share of right labels. `during_training`: of
/// validations during training, which have more.
metrics::Columns make_columns(bool several, bool top_5, bool during_training) {
    const std::string correct(nn::kCorrect);
    const std::string loss(nn::kLoss);
    metrics::Columns columns = {
        .unit = {"image", "images", "img"},
        .training = {{.name = "loss", .output = loss, .label = "loss"},
                     {.name = "train_acc", .output = correct, .scale = 100, .label = "accuracy"}},
        .validation = {{.name = run::kTop1Column, .output = correct, .scale = 100, .label = "accuracy"}},
        .inference = {{.name = run::kTop1Column, .output = correct, .scale = 100}},
    };
    if (several) {
        columns.validation.push_back({.name = run::kValidationLossColumn, .output = loss, .label = "loss"});
        for (const char* name : {run::kMeanPrecision, run::kMicroF1, run::kMacroF1, run::kExact})
            columns.validation.push_back(run::score_column(name, name));
        return columns;
    }
    columns.validation.push_back({.name = "raw_acc", .output = correct, .scale = 100});
    columns.more_validation = {run::kTop5Column, run::kValidationLossColumn, run::kBalancedColumn};
    const std::string correct_top_5(nn::kCorrectTop5);
    if (top_5) {
        columns.validation.push_back({.name = run::kTop5Column, .output = correct_top_5, .scale = 100, .at_end = true});
    }
    if (top_5 || during_training) {
        columns.validation.push_back(
            {.name = run::kValidationLossColumn, .output = loss, .at_end = true, .label = "loss"});
    }
    if (during_training) columns.validation.push_back(run::balanced_accuracy_column());
    return columns;
}

std::string first_names(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 5;
    return listed(names, kMost);
}

/// Images of each sample.
std::int64_t views_in(const std::vector<data::Field>& batch) {
    return data::field_desc(batch, data::kImages).shape.at(0) / data::field_desc(batch, data::kLabels).shape.at(0);
}

std::string image_line(const metrics::TrainingRow& row, const char* accuracy) {
    return formatted(
        "step: %6lld, iteration: %6lld, epoch: %6.2f, lr: %6.4g, loss: %6.3f, %s: %6.3f %%, "
        "throughput: %6.2f samples/sec, time: %8.6f, total_time: %8.1f",
        static_cast<long long>(row.step), static_cast<long long>(row.iteration), row.epoch, row.lr,
        row.results.at(0).average, accuracy, row.results.at(1).average, row.samples_per_second, row.it_time,
        row.total_time);
}

/// The line of the top-5 accuracy must not contain "accuracy:", by which programs find the top-1 accuracy.
std::string image_line(const metrics::ValidationRow& row, const run::Task& task) {
    std::string line = formatted(
        "Validation top-1 accuracy: %6.3f %% [%s] (iteration: %6lld, epoch: %6.2f, throughput: %6.2f samples/sec, "
        "time: %8.6f, latency avg: %8.4f ms)",
        row.results.at(0), row.name.c_str(), static_cast<long long>(row.iteration), row.epoch, row.samples_per_second,
        row.val_time, row.latency);
    const auto top_5 = metrics::result_of(row, task.columns(), run::kTop5Column);
    if (top_5) line += formatted("\nValidation top-5: %6.3f %% [%s]", *top_5, row.name.c_str());
    return line + run::balanced_accuracy_line(task, row);
}

/// The log of photos with several labels, which no other program parses.
std::string label_line(const metrics::ValidationRow& row, const run::Task& task) {
    std::string results;
    for (const metrics::Column& column : task.columns().validation) {
        const std::string unit = column.scale == 100 ? " %" : "";
        results += column.label + ": " + formatted("%.4f", *metrics::result_of(row, task.columns(), column.name)) +
                   unit + ", ";
    }
    return formatted("Validation [%s]: %siteration: %6lld, epoch: %6.2f, throughput: %6.2f samples/sec, time: %8.6f",
                     row.name.c_str(), results.c_str(), static_cast<long long>(row.iteration), row.epoch,
                     row.samples_per_second, row.val_time);
}

/// The unclosed parenthesis is part of the log format that programs parse.
std::string image_line(const metrics::InferenceRow& row) {
    return formatted(
        "Validation top-1 accuracy [%s] (iteration: %6lld, epoch: %6.2f, throughput: %6.2f samples/sec, time: %8.6f, "
        "latency avg: %8.4f ms: %6.3f%%",
        row.name.c_str(), static_cast<long long>(row.iteration), row.epoch, row.samples_per_second, row.inference_time,
        row.latencies.mean, row.results.at(0));
}

bool measures_requests(const options::Settings& settings, options::Command command) {
    return command == options::Command::inference && settings.training.iterations;
}

}  // namespace

ImageClassification::ImageClassification(const options::ParseResult& arguments, const backend::Backend& backend,
                                         std::uint64_t seed)
    : arguments_(arguments),
      backend_(backend),
      seed_(seed),
      traits_{.loss = std::string(nn::kLoss),
              .has_real_data = own().data.kind == data::DataKind::real,
              // The last layer depends on the classes.
              .first_weights = {.last_layer = {std::string(nn::head_scope(own().model.family))}, .may_have = {}}} {
    if (several()) {
        traits_.metrics[run::Metric::accuracy] = {run::kMeanPrecision};
        traits_.answers = run::AnswerForm::labels;
    }
}

const metrics::Columns& ImageClassification::columns() const {
    if (!columns_) columns_ = make_columns(several(), reports_top_5(settings()), settings().validation.any());
    return *columns_;
}

std::string ImageClassification::printed(const run::PrintedRow& row) const {
    if (const auto* const training = std::get_if<const metrics::TrainingRow*>(&row))
        return image_line(**training, several() ? "accuracy of labels" : "top-1 accuracy");
    if (const auto* const evaluated = std::get_if<const metrics::ValidationRow*>(&row))
        return several() ? label_line(**evaluated, *this) : image_line(**evaluated, *this);
    return image_line(*std::get<const metrics::InferenceRow*>(row));
}

TaskDescription ImageClassification::description() const {
    const std::string family(spelling(own().model.family));
    const std::vector<std::string> chosen = chosen_for_own_photos(arguments_);
    std::map<std::string, options::Value> facts = {
        {"shortcut_type", std::string(nn::pads_shortcuts(network_settings(settings())) ? "A" : "B")},
        {"norm_type", std::string(own().model.norm == nn::NormKind::group ? "GROUP" : "BATCH")},
        {"warmup", optim::warms_up(own().learning_rate)}};
    if (!chosen.empty()) facts["chosen_by_number_of_photos"] = chosen;
    return {
        .model = family + own().model.size,
        .run_name = image_run_name(settings()),
        .title = family + " " + own().model.size,
        .details = own().model.norm == nn::NormKind::batch ? "batch norm"
                                                           : "group norm of " + std::to_string(own().model.groups),
        .identity = {{"model", family + "-" + own().model.size},
                     {"data set", std::string(spelling(own().data.dataset))},
                     {"image size", std::to_string(own().data.image_size)}},
        .work = {{"norm", own().model.norm == nn::NormKind::batch ? "batch" : "group"}},
        .summary_head = summary_head(arguments_),
        .summary_training = summary_training(settings()),
        .summary_tail = summary_tail(settings()),
        .arithmetic = run::arithmetic(settings().device, backend_),
        .io_bits = 8 * size_bytes(host_format().dtype),
        .arguments = std::move(facts),
        .mlperf = mlperf_benchmark(arguments_),
    };
}

std::vector<std::string> ImageClassification::class_names() const {
    if (!own().recorded_classes.empty()) return own().recorded_classes;
    return own().source_classes > 0 ? std::vector<std::string>{} : data::class_names(own().data);
}

/// The labels of the data are numbers of the network's classes. Photos are labelled by the names of these.
void ImageClassification::check_classes() const {
    if (own().recorded_classes.empty()) {
        const std::int64_t count = own().source_classes > 0 ? data::class_count(own().data) : 0;
        if (count == own().source_classes) return;
        throw Error(ErrorKind::data, own().data.data_dir + ": expected the " + std::to_string(own().source_classes) +
                                         " classes of the weights; found " + std::to_string(count) +
                                         "; give the data that the network was trained on, or photos without classes");
    }
    const bool by_name = info_of(settings()).format == data::ImageFormat::class_folders;
    if (by_name) return;
    const std::vector<std::string> found = data::class_names(own().data);
    if (found.empty() || found == own().recorded_classes) return;
    throw Error(ErrorKind::data, own().data.data_dir + ": expected the classes of the checkpoint, " +
                                     first_names(own().recorded_classes) + "; found " + first_names(found) +
                                     "; give the data that the network was trained on, or photos without classes");
}

std::unique_ptr<Samples> ImageClassification::open(data::Split split) const {
    check_classes();
    auto samples = std::make_unique<data::InputData>(data_settings(settings(), backend_, seed_), split);
    if (settings().loss.teacher.empty() || split != data::Split::train) return samples;
    return taught(std::move(samples), teacher(), settings(), backend_);
}

/// A teacher must see the pixels with which it was trained.
void check_teacher_images(const std::string& teacher, const data::DataSettings& theirs, const data::DataSettings& own) {
    const nn::Normalisation by_them = data::channel_normalisation(theirs);
    const bool by_channel = data::dataset_info(own.dataset).normalised_by_channel;
    if (by_channel != data::dataset_info(theirs.dataset).normalised_by_channel ||
        (by_channel && !(by_them == data::channel_normalisation(own)))) {
        throw Error(ErrorKind::usage,
                    "--teacher " + teacher +
                        ": it was trained with another normalisation of images than this run has; give both "
                        "the same --normalise-mean and --normalise-std");
    }
    if (theirs.image_size != own.image_size) {
        log::warning("--teacher " + teacher + ": it was trained on images of " + std::to_string(theirs.image_size) +
                     " pixels, and sees those of this run, of " + std::to_string(own.image_size));
    }
}

Teacher ImageClassification::teacher() const {
    const bool is_real = own().data.kind == data::DataKind::real;
    Teacher teacher{
        .arguments = teacher_arguments(arguments_, is_real ? std::vector<std::string>{"--data-dir", own().data.data_dir}
                                                           : std::vector<std::string>{"--synthetic-data"}),
        .graph = {},
        .classes = network_settings(settings()).classes,
        .repeats = own().data.train_with_valid_preprocessing};
    const options::Settings& theirs = teacher.arguments.settings;
    const std::string& path = settings().loss.teacher;
    check_teacher_classes(path, network_settings(theirs).classes, image_settings(theirs).recorded_classes,
                          teacher.classes, class_names());
    check_teacher_images(path, image_settings(theirs).data, own().data);
    teacher.graph = [student = settings(), theirs, &backend = backend_](const std::vector<data::Field>& fields) {
        return teacher_graph(student, theirs, backend, data::field_desc(fields, data::kImages));
    };
    return teacher;
}

std::int64_t ImageClassification::published(data::Split split) const {
    const data::DatasetInfo& info = info_of(settings());
    const std::int64_t images = split == data::Split::train ? info.train_images : info.validation_images;
    return images > 0 || split == data::Split::validation ? images : count_in_files(split).samples;
}

std::int64_t ImageClassification::samples(data::Split split, run::Counted how) const {
    return how == run::Counted::published ? published(split) : used(split).samples;
}

const ImageClassification::Count& ImageClassification::used(data::Split split) const {
    const auto found = used_.find(split);
    if (found != used_.end()) return found->second;
    const bool in_records = info_of(settings()).format == data::ImageFormat::records;
    const bool share = has_real_data() && split == data::Split::train && in_records;
    const std::int64_t published = this->published(split);
    const std::int64_t percent = share ? own().data.percentage_to_use : 100;
    Count count{data::used_share(published, percent), Known::published};
    std::error_code failed;
    if (has_real_data() && (published == 0 || std::filesystem::exists(own().data.data_dir, failed)))
        count = count_in_files(split);
    return used_.emplace(split, count).first->second;
}

ImageClassification::Count ImageClassification::count_in_files(data::Split split) const {
    const bool classifies =
        arguments_.command == options::Command::inference && !measures_requests(settings(), arguments_.command);
    if (classifies && !holds_dataset()) return {image_folder()->size(), Known::counted};
    const data::SampleCount count = data::count_samples(data_settings(settings(), backend_, seed_), split);
    return {count.samples, count.exact ? Known::counted : Known::estimated};
}

std::string_view ImageClassification::label_field() const {
    return data::kLabels;
}

schedule::RunPlan ImageClassification::plan(std::int64_t samples) const {
    return run::run_plan(settings(), samples);
}

run::Rate ImageClassification::rate(const schedule::RunPlan& plan) const {
    const optim::LearningRateSettings& rate = own().learning_rate;
    const optim::LearningRate schedule(rate, optim::base_learning_rate(rate, plan.global_batch), plan.iterations,
                                       plan.epochs);
    return {[schedule](std::int64_t iteration) { return schedule.at(iteration); }, image_rate_topics(settings(), plan)};
}

/// Read once. A plan of a run whose data are elsewhere has no weights, which change no shape.
const std::vector<double>& ImageClassification::class_weights() const {
    std::error_code failed;
    const bool found = has_real_data() && std::filesystem::exists(own().data.data_dir, failed);
    if (!class_weights_ && found) {
        const std::int64_t classes = network_settings(settings()).classes;
        const auto balanced = [&] {
            const data::InputData training(data_settings(settings(), backend_, seed_), data::Split::train);
            const std::vector<std::int64_t> sizes = training.class_sizes(classes);
            return own().data.labels.several() ? balanced_label_weights(sizes, training.count())
                                               : balanced_weights(sizes);
        };
        class_weights_ = tasks::class_weights(
            settings().loss.class_weights, classes, [&] { return data::class_names(own().data); }, balanced);
    }
    static const std::vector<double> none;
    return class_weights_ ? *class_weights_ : none;
}

graph::Graph ImageClassification::graph(run::GraphUse use, const std::vector<data::Field>& fields) const {
    const TensorDesc& images = data::field_desc(fields, data::kImages);
    if (use == run::GraphUse::training) return training_graph(settings(), backend_, images, class_weights());
    return graphs_.as_checkpoint_computes(evaluation_graph(settings(), backend_, images, use, views_in(fields)));
}

run::Classifier::Features ImageClassification::features_graph(const std::vector<data::Field>& fields) const {
    return tasks::features_graph(settings(), backend_, data::field_desc(fields, data::kImages));
}

std::unique_ptr<Samples> ImageClassification::in_order(data::Split split, bool augmented) const {
    check_classes();
    data::InputSettings input = data_settings(settings(), backend_, seed_);
    input.in_order = true;
    input.train_with_valid_preprocessing = !augmented;
    input.mixing = {};
    input.augmentation = augmented ? input.augmentation : data::AugmentationSettings{};
    input.test_time_flip = false;
    return std::make_unique<data::InputData>(input, split);
}

std::vector<Topic> ImageClassification::dry_run_topics(options::Command command) const {
    const graph::Graph graph = this->graph(run::GraphUse::evaluation, batch_fields(data::Split::train, 1));
    std::vector<Topic> topics = {model_topic(*this, graph, nn::forward_flops(graph)), data_topic(command)};
    if (has_real_data()) topics.push_back(input_topic(command));
    return topics;
}

std::vector<data::Field> ImageClassification::batch_fields(data::Split split, std::int64_t samples) const {
    std::vector<data::Field> fields =
        data::batch_fields(data_settings_without_folder(settings(), backend_, seed_), split, samples);
    if (!settings().loss.teacher.empty() && split == data::Split::train)
        fields.push_back(teacher_field(samples, 0, network_settings(settings()).classes));
    return fields;
}

/// One batch of made data; a ring of real data, whose small sets are held whole.
std::uint64_t ImageClassification::input_bytes(const data::LoaderSettings& loader) const {
    if (!has_real_data()) return data::total_bytes(batch_fields(data::Split::train, loader.micro_batch));
    const data::DatasetInfo& info = info_of(settings());
    const std::uint64_t ring =
        data::ring_size(data_settings_without_folder(settings(), backend_, seed_), data::Split::train, loader).bytes;
    const std::int64_t training = used(data::Split::train).samples;
    const std::uint64_t teaching = settings().loss.teacher.empty()
                                       ? 0
                                       : teacher_bytes(teacher(), batch_fields(data::Split::train, loader.micro_batch),
                                                       training, settings(), backend_);
    if (info.any_image_size) return teaching + ring + run::index_bytes(training);
    const std::int64_t images = training + (settings().validation.enabled ? used(data::Split::validation).samples : 0);
    constexpr std::int64_t kColours = 3;
    return teaching + ring + static_cast<std::uint64_t>(images * info.image_size * info.image_size * kColours);
}

/// The splits that the command reads, with their numbers of images.
Topic ImageClassification::data_topic(options::Command command) const {
    std::string what(spelling(own().data.dataset));
    switch (own().data.kind) {
        case data::DataKind::real:
            what += " from " + own().data.data_dir;
            if (own().data.photos.size() > 1) what += " and " + std::to_string(own().data.photos.size() - 1) + " more";
            break;
        case data::DataKind::generated:
            what += ", one generated image";
            break;
        case data::DataKind::synthetic:
            what += ", synthetic images";
            break;
    }
    bool published = false;
    std::string counts;
    const auto add = [&](data::Split split, const std::string& name) {
        const Count& count = used(split);
        published = published || count.how == Known::published;
        counts += (counts.empty() ? "" : " and ") + std::string(count.how == Known::estimated ? "about " : "") +
                  std::to_string(count.samples) + " " + name;
    };
    const bool trains = command == options::Command::train;
    if (trains) add(data::Split::train, "training");
    if (!trains || settings().validation.enabled) add(data::Split::validation, "validation");
    if (has_real_data() && published) what += " (not there; counts are those of the published set)";
    const std::string side = std::to_string(own().data.image_size);
    return {"Data", what + ", " + counts + " images of " + side + " x " + side};
}

Topic ImageClassification::input_topic(options::Command command) const {
    const bool trains = command == options::Command::train;
    schedule::Placement placed;
    if (trains) placed = run::placement(settings(), backend_);
    const data::Split split = trains ? data::Split::train : data::Split::validation;
    const std::vector<data::Field> fields =
        batch_fields(split, trains ? placed.samples : settings().training.micro_batch_size);
    data::LoaderSettings loader = run::loader_settings(settings(), 0);
    if (trains) loader = run::training_loader_settings(settings(), placed, fields, 0);
    if (command == options::Command::validation) loader = run::validation_loader_settings(settings());
    if (measures_requests(settings(), command)) loader = run::request_loader_settings(settings(), fields);
    const data::RingSize ring =
        data::ring_size(data_settings_without_folder(settings(), backend_, seed_), split, loader);
    return {"Input", std::to_string(ring.ahead) + (ring.ahead == 1 ? " batch" : " batches") + " ahead, ring of " +
                         std::to_string(ring.batches()) + " (" + size_text(ring.bytes) + "), " +
                         std::to_string(loader.threads) + (loader.threads == 1 ? " thread" : " threads")};
}

bool ImageClassification::holds_dataset() const {
    if (!has_real_data()) return true;
    const data::DatasetId id = own().data.dataset;
    if (!own().data.photos.empty()) return false;
    if (arguments_.at("data_dir").source == options::Source::arguments) return true;  // the run's own
    if (data::is_photo_pattern(own().data.data_dir)) return false;
    // A photo, or any folder of photos: without folders that say otherwise, all are classified.
    const bool photos = id == data::DatasetId::folder || std::filesystem::is_regular_file(own().data.data_dir);
    if (photos && !data::names_validation_photos(own().data.data_dir, own().data.labels)) return false;
    try {
        const std::string folder = data::find_data_folder(id, own().data.data_dir);
        return !data::split_files(id, folder, data::Split::validation).empty();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data || !std::filesystem::is_directory(own().data.data_dir)) throw;
        return false;
    }
}

std::shared_ptr<const data::Dataset> ImageClassification::image_folder() const {
    const data::DataSettings& data = own().data;
    const std::vector<std::string> places = data.photos.empty() ? std::vector{data.data_dir} : data.photos;
    if (image_folder_ != nullptr) return image_folder_;
    const data::ImageFolder found = data::open_image_folder(places, data, host_format());
    if (!found.left_out.empty())
        log::warning(data.data_dir + ": files that are not images are left out: " + found.left_out);
    return image_folder_ = found.images;
}

/// The format of images on the host.
data::PixelFormat ImageClassification::host_format() const {
    return data::host_format(data_settings_without_folder(settings(), backend_, seed_));
}

namespace {

/// Photos to classify, as the samples of a split.
class FolderSamples final : public Samples {
public:
    FolderSamples(std::shared_ptr<const data::Dataset> folder, bool flips)
        : folder_(std::move(folder)), flips_(flips) {}

    std::int64_t count() const override { return folder_->size(); }
    data::Origin origin() const override { return {.samples = count()}; }
    std::vector<std::string> names() const override {
        std::vector<std::string> names;
        for (std::int64_t i = 0; i < count(); ++i)
            names.push_back(folder_->place(i).file);
        return names;
    }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override {
        return data::batch_fields(folder_->fields(), completed({.micro_batch = micro_batch}));
    }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        return std::make_unique<data::Loader>(folder_, completed(settings));
    }

private:
    data::LoaderSettings completed(data::LoaderSettings settings) const {
        settings.feed = data::Feed::sweeps;
        if (flips_) settings.transform = data::mirroring_transform();
        return settings;
    }

    std::shared_ptr<const data::Dataset> folder_;
    bool flips_;
};

}  // namespace

std::unique_ptr<Samples> ImageClassification::asked() const {
    if (holds_dataset()) return open(data::Split::validation);
    return std::make_unique<FolderSamples>(image_folder(), own().data.test_time_flip);
}

run::Scored ImageClassification::scores(const run::RowOutputs& logits, const metrics::Sums& /*sums*/) const {
    return run::scored_labels(logits.values, logits.labels, class_names());
}

run::Scored ImageClassification::answers(const run::RowOutputs& logits) const {
    const std::vector<std::string> names = asked()->names();
    const std::vector<std::string> labels = class_names();
    const std::vector<double> thresholds =
        run::label_thresholds(posix_files(), settings().main.restore_path.value_or(""), labels.size());
    run::Scored scored;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        scored.answers.push_back(run::answered_labels(
            names[i], {columns().unit.one, names[i]}, logits.of(row),
            std::span(logits.labels).subspan(i * labels.size(), labels.size()), thresholds, labels));
    }
    return scored;
}

ImageClassification::Subjects ImageClassification::subjects(const data::LoaderSettings& loader) const {
    if (holds_dataset()) {
        const std::unique_ptr<Samples> split = open(data::Split::validation);
        return {split->stream(loader), split->names()};
    }
    const data::DataSettings& data = own().data;
    if (!info_of(settings()).any_image_size) {
        std::vector<std::string> of_photos;
        for (const data::DatasetInfo& info : data::kDatasets) {
            if (info.any_image_size) of_photos.emplace_back(info.name);
        }
        throw Error(ErrorKind::usage, data.data_dir + ": no " + std::string(spelling(data.dataset)) +
                                          " files there; photos need a network for --dataset " +
                                          listed(of_photos, "or"));
    }
    const std::unique_ptr<Samples> photos = asked();
    data::LoaderSettings smaller = loader;
    smaller.micro_batch = std::min(loader.micro_batch, photos->count());
    return {photos->stream(smaller), photos->names(), /*printed=*/true};
}

namespace {

std::string_view image_examples(Command command) {
    switch (command) {
        case Command::train:
            return "  cnntrain train --data-dir PHOTOS --model-size 18 --logs-path RUN\n"
                   "  cnntrain train --config resnet8_test --data-dir DIR --dry-run\n";
        case Command::validation:
            return "  cnntrain validation --restore-path RUN          all checkpoints of a run, on its data\n"
                   "  cnntrain validation --restore-path RUN/ckpt-500 --data-dir DIR\n";
        case Command::restore:
            return "  cnntrain restore --restore-path RUN\n";
        case Command::inference:
            return "  cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 100   "
                   "measures\n"
                   "  cnntrain inference --restore-path RUN             classifies the run's validation split\n"
                   "  cnntrain inference --restore-path RUN/ckpt-500 --data-dir 'PHOTOS/*.jpg' --predictions FILE.csv\n"
                   "Options that the line leaves out are those of the run.\n";
        default:
            return "";
    }
}

}  // namespace

run::TaskRow image_classification_row() {
    return {
        .options = {.name = "image-classification",
                    .commands = {Command::train, Command::validation, Command::inference, Command::restore},
                    .options = image_options,
                    .examples = image_examples,
                    .alternatives = {{"batch_norm", "group_norm"},
                                     {"epochs", "iterations"},
                                     {"label_smoothing", "smoothing"},
                                     {"base_learning_rate_exponent", "abs_learning_rate"},
                                     {"ckpts_per_epoch", "epochs_per_ckpt", true},
                                     {"validate_every", "validate_every_updates"},
                                     {"syncs_per_epoch", "epochs_per_sync", true},
                                     {"generated_data", "synthetic_data"}},
                    .takes_published_weights = true,
                    .options_of_files = options_of_weights,
                    .fill = fill_image_options,
                    .adjust = adjust_image_options,
                    .check = check_image_options,
                    .settings = [] { return TaskSettings(ImageSettings{}); },
                    .complete = complete_image_settings,
                    .data_reason = images_reason,
                    .not_resumed = {"smoothing"}},
        .make = run::make_task<ImageClassification>,
        .functions = image_functions,
        .usual_splits = usual_image_splits,
        .every_process_prints = true,
    };
}

}  // namespace cnntrain::tasks
