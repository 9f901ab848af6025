#include "cnntrain/tasks/tasks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"

namespace cnntrain::tasks {

using graph::OpKind;
using graph::ValueId;

namespace {

constexpr const char* kMicroBatch = "16";
constexpr std::int64_t kSamplesAtOnce = 16;
constexpr std::int64_t kMostSamples = 64;  // with which a written file is compared

/// Names of BERT's inputs in other programs.
struct InputName {
    std::string_view own;
    std::string_view theirs;
};
constexpr auto kInputNames = std::to_array<InputName>({{nn::kInputIds, "input_ids"},
                                                       {nn::kInputMask, "attention_mask"},
                                                       {nn::kSequenceNumbers, "attention_mask"},
                                                       {nn::kSegmentIds, "token_type_ids"},
                                                       {nn::kInputPosition, "position_ids"}});

/// Inputs that only losses read.
bool is_target(const std::string& name) {
    return name == data::kLabels || name == nn::kMaskedIds || name == nn::kMaskedWeights ||
           name == nn::kNextSentenceLabels || name == nn::kNextSentenceWeights;
}

std::string exported_name(const std::string& own) {
    const auto* found = std::ranges::find(kInputNames, own, &InputName::own);
    return found == kInputNames.end() ? own : std::string(found->theirs);
}

/// Appends the first `count` samples of a tensor to those of another.
void append_trained(HostTensor& all, const HostTensor& part, std::int64_t count) {
    Shape shape = part.shape();
    const std::size_t row = part.bytes().size() / static_cast<std::size_t>(shape.front());
    const std::int64_t before = all.shape().empty() ? 0 : all.shape().front();
    shape.front() = before + count;
    HostTensor longer({part.dtype(), shape});
    if (before > 0) std::ranges::copy(all.bytes(), longer.bytes().begin());
    std::memcpy(longer.bytes().data() + static_cast<std::size_t>(before) * row, part.bytes().data(),
                static_cast<std::size_t>(count) * row);
    all = std::move(longer);
}

/// One number of a made-up sample; `place` within the sample.
double made_up_value(const data::Field& field, std::int64_t place, std::int64_t words, std::mt19937_64& random) {
    constexpr double kMiddle = 127;
    constexpr double kWidth = 60;
    const std::int64_t length = field.desc.shape.size() > 1 ? field.desc.shape[1] : 1;
    if (field.desc.dtype == DType::u8)
        return std::clamp(std::round(std::normal_distribution<double>(kMiddle, kWidth)(random)), 0.0, 255.0);
    if (field.desc.dtype != DType::i32) {
        const bool levels = field.name == data::kImages;
        return std::normal_distribution<double>(levels ? kMiddle : 0, levels ? kWidth : 1)(random);
    }
    if (field.name == nn::kInputIds) return static_cast<double>(random() % static_cast<std::uint64_t>(words));
    if (field.name == nn::kInputMask || field.name == nn::kSequenceNumbers) return 1;
    if (field.name == nn::kSequencePaddingIndex) return 1e6;
    if (field.name == nn::kInputPosition || field.name == nn::kMaskedPositions) return static_cast<double>(place);
    if (field.name == nn::kSegmentIds) return 2 * place < length ? 0 : 1;
    return 0;
}

/// The folder of the run, if one of pretraining wrote these checkpoints; otherwise "".
std::string run_of_pretraining(const FileSystem& files, const std::string& path) {
    const std::string given = without_trailing_slashes(path);
    const std::string parent = folder_part(given);
    for (const std::string& folder : {given, parent.empty() ? "." : without_trailing_slashes(parent)}) {
        const std::string record = folder + "/arguments.json";
        if (!exists(files, record)) continue;
        return options::recorded_task(read_text(files, record)) == "pretraining" ? folder : "";
    }
    return "";
}

std::vector<std::string> words_of(const OpenRequest& request, bool made_up) {
    std::vector<std::string> words = {"--restore-path", request.run, "--precision",        "32.32",
                                      "--backend",      "cpu",       "--micro-batch-size", kMicroBatch};
    words.insert(words.end(), request.options.begin(), request.options.end());
    if (made_up) words.emplace_back("--synthetic-data");
    return words;
}

}  // namespace

TrainedNetwork::~TrainedNetwork() = default;

void TrainedNetwork::parse(const OpenRequest& request, bool made_up) {
    make_task(words_of(request, made_up));
    const std::optional<weights::ImageNetwork> image = image_network(*arguments_);
    if (!image || !(image->images.test_time_flip || image->images.eight_bit_io)) return;
    std::vector<std::string> words = words_of(request, made_up);
    // Other programs give the network one view at a time, and do not round its input.
    if (image->images.test_time_flip) words.emplace_back("--no-test-time-flip");
    if (image->images.eight_bit_io) words.emplace_back("--no-eight-bit-io");
    make_task(words);
}

/// Parses a run of pretraining. The samples are made up, because pretraining changes the samples of its data as it
/// reads them.
void TrainedNetwork::parse_pretraining(const std::string& run, const FileSystem& files) {
    const std::vector<std::string> words = {"--restore-path", run};
    const options::ParseResult line =
        parse_command_line(options::Command::restore, words, options::process_environment());
    arguments_ = std::make_unique<options::ParseResult>(restored_arguments(line, files));
    options::Settings& settings = arguments_->settings;
    settings.device.precision = nn::Precision::p32_32;
    settings.run.backend = backend::BackendKind::cpu;
    settings.training.micro_batch_size = kSamplesAtOnce;
    settings.main.restore_path = run;
    backend_ = run::make_backend(settings.run.backend);
    task_ = row_of(*arguments_).make(*arguments_, *backend_, 0);
}

bool TrainedNetwork::image_network_or_none() const {
    try {
        return image_network(*arguments_).has_value();
    } catch (const Error&) {
        return true;
    }
}

void TrainedNetwork::make_task(const std::vector<std::string>& words) {
    arguments_ = std::make_unique<options::ParseResult>(
        parse_command_line(options::Command::inference, words, options::process_environment()));
    options::refuse_unavailable(*arguments_);
    backend_ = run::make_backend(arguments_->settings.run.backend);
    task_ = row_of(*arguments_).make(*arguments_, *backend_, 0);
}

TrainedNetwork::TrainedNetwork(const FileSystem& files, const OpenRequest& request) {
    samples_text_ = "samples of the validation set";
    if (const std::string run = run_of_pretraining(files, request.run); !run.empty()) {
        parse_pretraining(run, files);
    } else {
        open_classifier(request);
    }
    const bool made_up = batches_.empty();
    if (made_up) {
        samples_text_ = "generated samples";
        sample_count_ = kMostSamples;
        fields_ = task_->batch_fields(data::Split::validation, arguments_->settings.training.micro_batch_size);
    }
    const bool has_logits = task_->classifier() != nullptr || task_->scorer() != nullptr;
    graph_ = std::make_unique<graph::Graph>(
        task_->graph(has_logits ? run::GraphUse::classes : run::GraphUse::evaluation, fields_));
    find_ports();
    const options::Settings& settings = arguments_->settings;
    checkpoint_ = run::checkpoint_to_evaluate(files, *settings.main.restore_path).path;
    variables_ = run::model_variables(*graph_, run::checkpoint_weights(files, checkpoint_, settings), checkpoint_);
    if (!request.compares) return;
    if (made_up) make_up_samples();
    executable_ = backend_->compile(run::compile_request(*graph_, settings, fields_, 0));
    executable_->load(backend::NamedTensors(variables_.begin(), variables_.end()));
    outputs_of_samples_ = answers();
}

/// Opens the network of a task with classes. Without its data the samples are made up.
void TrainedNetwork::open_classifier(const OpenRequest& request) {
    try {
        parse(request, /*made_up=*/false);
        if (request.compares) open_samples();
    } catch (const Error& error) {
        const bool without_data = error.kind() == ErrorKind::data || error.kind() == ErrorKind::usage;
        if (!without_data) throw;
        batches_.clear();
        try {
            // Texts have no option for this; their parsed line is enough.
            const bool texts = task_ != nullptr && !image_network_or_none();
            if (!texts) parse(request, /*made_up=*/true);
            static_cast<void>(task_->class_names());
        } catch (const Error&) {
            throw error;
        }
        if (!request.compares) return;
        log::info("the data of the run cannot be read (" + std::string(error.what()) +
                  "): the file is compared on generated samples");
    }
}

/// Images are drawn from a normal distribution, words evenly from the vocabulary.
void TrainedNetwork::make_up_samples() {
    const auto table = graph_->find("bert/embeddings/word_embeddings");
    const std::int64_t words = table ? graph_->desc(*table).shape.front() : 1;
    const std::int64_t batch = fields_.front().desc.shape.front();
    std::mt19937_64 random(1);
    for (std::int64_t first = 0; first < sample_count_; first += batch) {
        std::vector<HostTensor>& tensors = batches_.emplace_back();
        for (const data::Field& field : fields_) {
            HostTensor& tensor = tensors.emplace_back(field.desc);
            const std::int64_t row = tensor.elements() / batch;
            for (std::int64_t i = 0; i < tensor.elements(); ++i)
                tensor.set(i, made_up_value(field, i % row, words, random));
        }
    }
}

void TrainedNetwork::open_samples() {
    const run::Classifier* const classifier = task_->classifier();
    CNNTRAIN_CHECK(classifier != nullptr || task_->scorer() != nullptr, "a network without answers");
    std::unique_ptr<run::Samples> asked;
    std::unique_ptr<data::Stream> opened;
    const data::LoaderSettings loader = run::loader_settings(arguments_->settings, 0);
    if (classifier != nullptr) {
        opened = classifier->subjects(loader).stream;
    } else {
        asked = task_->scorer()->asked();
        opened = asked->stream(loader);
    }
    data::Stream& stream = *opened;
    fields_ = stream.fields();
    sample_count_ = std::min(kMostSamples, stream.samples());
    for (std::int64_t first = 0; first < sample_count_; first += stream.micro_batch()) {
        const data::Batch batch = stream.next();
        std::vector<HostTensor>& tensors = batches_.emplace_back();
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            tensors.emplace_back(fields_[i].desc);
            std::ranges::copy(batch.fields[i], tensors.back().bytes().begin());
        }
    }
}

/// Images: the network begins where they have been normalised. Positions of tokens count from 0.
void TrainedNetwork::find_ports() {
    for (const ValueId input : graph_->values_with_role(graph::Role::input)) {
        const graph::Value& value = graph_->value(input);
        if (is_target(value.name)) continue;
        const bool in_order = !graph_->find(nn::kMaskPaddingIndex) && !graph_->find(nn::kSequenceNumbers);
        if (value.name == nn::kInputPosition && in_order) {
            const std::int64_t length = value.desc.shape.back();
            HostTensor places({DType::i32, {1, length}});
            for (std::int64_t i = 0; i < length; ++i)
                places.set(i, static_cast<double>(i));
            fixed_.push_back({input, std::move(places)});
            continue;
        }
        weights::Port port{exported_name(value.name), input};
        if (value.name == data::kImages && value.users.size() == 1) {
            const graph::Node& first = graph_->node(value.users.front());
            if (first.kind == OpKind::normalise_image || first.kind == OpKind::cast) port.value = first.outputs[0];
        }
        inputs_.push_back(std::move(port));
    }
    const auto logits = std::ranges::find(graph_->outputs(), std::string(run::kLogits), &graph::Output::name);
    if (logits != graph_->outputs().end()) {
        outputs_.push_back({run::kLogits, logits->value});
    } else {
        find_scores();
    }
}

/// Pretraining: the scores of masked words [N,M,V] and of the next sentence [N,2], or of K sentences in a row [N,K,2],
/// which the losses read.
void TrainedNetwork::find_scores() {
    const std::int64_t samples = fields_.front().desc.shape.front();
    const auto add_scores = [&](std::string_view loss, const std::string& name, bool several) {
        const auto output = std::ranges::find(graph_->outputs(), loss, &graph::Output::name);
        CNNTRAIN_CHECK(output != graph_->outputs().end(), "the network has no " + std::string(loss));
        ValueId logits = graph_->node(graph_->value(output->value).producer).inputs[0];
        const Shape rows = graph_->desc(logits).shape;
        if (several) {
            logits = graph_->add_one(OpKind::reshape, graph::ReshapeAttrs{{samples, rows[0] / samples, rows[1]}},
                                     {logits}, name);
        }
        graph_->mark_output(name, logits);
        outputs_.push_back({name, logits});
    };
    add_scores(nn::kMaskedLoss, "prediction_logits", true);
    add_scores(nn::kSentenceLoss, "seq_relationship_logits", graph_->find(nn::kSequenceNumbers).has_value());
}

weights::ExportedNetwork TrainedNetwork::exported(const FileSystem& files) {
    return {.checkpoint = checkpoint_,
            .part = {*graph_, inputs_, fixed_, outputs_, variables_},
            .image = image_network(*arguments_),
            .class_names = task_->class_names(),
            .samples = samples_text(),
            .outputs = outputs_of_samples_,
            .answers = [this](weights::Checkpoint weights,
                              const std::string& path) { return answers(std::move(weights), path); },
            .stored = [this, &files] { return run::checkpoint_weights(files, checkpoint_, arguments_->settings); }};
}

std::string TrainedNetwork::samples_text() const {
    return outputs_of_samples_.empty() ? "" : std::to_string(sample_count_) + " " + samples_text_;
}

weights::Outputs TrainedNetwork::answers() {
    weights::Outputs outputs;
    std::int64_t left = sample_count_;
    const std::int64_t samples = fields_.front().desc.shape.front();
    for (const std::vector<HostTensor>& batch : batches_) {
        std::vector<std::span<const std::byte>> bytes;
        for (const HostTensor& field : batch)
            bytes.push_back(field.bytes());
        data::FixedBatch source(fields_, std::move(bytes), samples);
        executable_->evaluate(source, 1);
        const std::int64_t count = std::min(left, samples);
        left -= count;
        for (const weights::Port& port : outputs_)
            append_trained(outputs[port.name], executable_->output(port.name), count);
    }
    return outputs;
}

weights::Outputs TrainedNetwork::answers(weights::Checkpoint weights, const std::string& path) {
    const auto variables = run::model_variables(*graph_, std::move(weights), path);
    executable_->load(backend::NamedTensors(variables.begin(), variables.end()));
    return answers();
}

}  // namespace cnntrain::tasks
