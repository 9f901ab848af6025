#include "cnntrain/run/weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/hugging_face.h"
#include "run/evaluator.h"

namespace cnntrain::run {
namespace {

/// Sizes the ring for the batches that a consumer holds at once and one that is ready.
void let_hold(data::LoaderSettings& loader, std::int64_t held, const std::vector<data::Field>& fields) {
    loader.batches_ahead = std::max(loader.batches_ahead, held + 1);
    const auto batch_bytes = static_cast<std::int64_t>(data::total_bytes(fields));
    loader.ring_bytes = std::max(loader.ring_bytes, checked_product(held + 3, batch_bytes, "the ring of batches"));
}

}  // namespace

std::uint64_t Task::input_bytes(const data::LoaderSettings& loader) const {
    return data::ring_size(batch_fields(data::Split::train, 1), loader).bytes +
           index_bytes(samples(data::Split::train, Counted::used));
}

std::uint64_t index_bytes(std::int64_t samples) {
    constexpr std::uint64_t kPerSample = sizeof(std::uint64_t) + sizeof(std::uint32_t);  // place in a file, order
    return static_cast<std::uint64_t>(samples) * kPerSample;
}

data::LoaderSettings loader_settings(const options::Settings& settings, std::int64_t first_sample) {
    data::LoaderSettings result;
    result.micro_batch = settings.training.micro_batch_size;
    result.first_sample = first_sample;
    result.threads = core_budget(settings.run).input_threads;
    if (settings.run.prefetch_depth) result.batches_ahead = *settings.run.prefetch_depth;
    return result;
}

data::LoaderSettings training_loader_settings(const options::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample) {
    data::LoaderSettings result = loader_settings(settings, first_sample);
    result.micro_batch = placement.samples;
    const std::int64_t held = schedule::batches_in_flight(placement);
    if (held > 1) let_hold(result, held, fields);
    return result;
}

data::LoaderSettings validation_loader_settings(const options::Settings& settings) {
    data::LoaderSettings result = loader_settings(settings, 0);
    if (settings.device.latency && !settings.run.prefetch_depth) result.batches_ahead = 1;
    return result;
}

data::LoaderSettings request_loader_settings(const options::Settings& settings,
                                             const std::vector<data::Field>& fields) {
    data::LoaderSettings result = loader_settings(settings, 0);
    let_hold(result, settings.main.inference_threads, fields);
    return result;
}

// Parts that tasks have in common: samples from a data set, a check of their columns.

namespace {

class DatasetSamples final : public Samples {
public:
    DatasetSamples(std::shared_ptr<const data::Dataset> dataset, data::Split split, std::uint64_t seed)
        : dataset_(std::move(dataset)), split_(split), seed_(seed) {}

    std::int64_t count() const override { return dataset_->samples(); }
    std::int64_t rows() const override { return dataset_->size(); }
    data::Origin origin() const override { return dataset_->origin(); }
    std::string describe(std::int64_t index) const override { return dataset_->place(index).text; }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override {
        return data::batch_fields(dataset_->fields(), completed({.micro_batch = micro_batch}));
    }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        return std::make_unique<data::Loader>(dataset_, completed(settings));
    }

private:
    data::LoaderSettings completed(data::LoaderSettings settings) const {
        settings.feed = split_ == data::Split::train ? data::Feed::training : data::Feed::sweeps;
        settings.seed = seed_;
        return settings;
    }

    std::shared_ptr<const data::Dataset> dataset_;
    data::Split split_;
    std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Samples> dataset_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                         std::uint64_t seed) {
    return std::make_unique<DatasetSamples>(std::move(dataset), split, seed);
}

void check_columns(const graph::Graph& graph, const std::vector<metrics::Column>& columns) {
    std::vector<std::string> scalars;
    for (const graph::Output& output : graph.outputs()) {
        if (graph.desc(output.value) == TensorDesc{DType::f32, {}}) scalars.push_back(output.name);
    }
    std::vector<metrics::Column> summed = columns;
    std::erase_if(summed, [](const metrics::Column& column) { return column.divisor == kScored; });
    for (const std::string& output : metrics::outputs_of(summed)) {
        const bool counted_by_class = output == kRecallSum || output == kClassesSeen;  // by the host
        if (counted_by_class || std::ranges::find(scalars, output) != scalars.end()) continue;
        throw Error(ErrorKind::internal, "a column of the task reads the output '" + output +
                                             "', which the graph does not have; its f32[] outputs: " + joined(scalars));
    }
}

metrics::Column score_column(const std::string& name, const std::string& label) {
    return {.name = name, .output = name, .divisor = kScored, .label = label};
}

metrics::Column balanced_accuracy_column() {
    return {.name = kBalancedColumn,
            .output = kRecallSum,
            .divisor = kClassesSeen,
            .scale = 100,
            .at_end = true,
            .label = "balanced"};
}

std::string balanced_accuracy_line(const Task& task, const metrics::ValidationRow& row) {
    const auto balanced = task.metric(Metric::balanced_accuracy, row);
    if (!balanced) return "";
    return formatted("\nValidation loss: %6.4f, balanced: %6.3f %% [%s]", task.metric(Metric::loss, row).value_or(0),
                     *balanced, row.name.c_str());
}

std::optional<double> Task::metric(Metric metric, const metrics::ValidationRow& row) const {
    const auto found = traits().metrics.find(metric);
    if (found == traits().metrics.end()) return std::nullopt;
    double sum = 0;
    for (const std::string& column : found->second) {
        const auto value = metrics::result_of(row, columns(), column);
        if (!value) return std::nullopt;
        sum += *value;
    }
    return sum;
}

std::string Task::run_name(std::string_view tag) const {
    const TaskDescription about = description();
    return about.run_name + (about.tags_run_name ? "_" + std::string(tag) : "");
}

FirstWeights Task::first_weights() const {
    FirstWeights weights = traits().first_weights;
    weights.classes = class_names();
    return weights;
}

namespace {

/// A file has no types, only names: a slot is named after its variable plus one part, "all/fc/weight/Momentum".
bool is_slot(const std::string& name, const std::map<std::string, HostTensor>& all) {
    const std::size_t slash = name.rfind('/');
    return slash != std::string::npos && all.contains(name.substr(0, slash));
}

backend::NamedTensors in_types(const std::map<std::string, TensorDesc>& wanted, const weights::Checkpoint& checkpoint) {
    std::map<std::string, HostTensor> result;
    for (const auto& [name, desc] : wanted) {
        const HostTensor& tensor = checkpoint.tensors.at(name);
        result.emplace(name, tensor.dtype() == desc.dtype ? tensor : tensor.cast(desc.dtype));
    }
    return result;
}

/// Size of the groups in which tensors are copied. Copying all at once would double the memory of a large model;
/// copying them one by one would be slow on a device.
constexpr std::size_t kPartBytes = std::size_t{16} << 20;

/// Calls work(names) on groups of variables of about kPartBytes each.
template <typename Work> void in_parts(const std::vector<backend::Variable>& variables, Work&& work) {
    std::vector<std::string> names;
    std::size_t bytes = 0;
    for (const backend::Variable& variable : variables) {
        if (!names.empty() && bytes + variable.desc.bytes() > kPartBytes) {
            work(std::exchange(names, {}));
            bytes = 0;
        }
        names.push_back(variable.name);
        bytes += variable.desc.bytes();
    }
    if (!names.empty()) work(names);
}

/// The config.json with which the checkpoint came from transformers; empty for checkpoints of this program's runs.
std::optional<weights::BertConfig> bert_config(const weights::Checkpoint& checkpoint, const std::string& path) {
    const auto found = checkpoint.metadata.find(weights::kConfigKey);
    if (found == checkpoint.metadata.end()) return std::nullopt;
    return weights::parse_bert_config(found->second, path + ": " + found->first);
}

/// Compares activation, epsilon and heads. The shapes of variables are compared when they are loaded.
void expect_same_network(const weights::BertConfig& config, const graph::Graph& graph, const std::string& path) {
    const std::optional<nn::BertFacts> facts = nn::bert_facts(graph);
    if (!facts) return;
    const auto refuse = [&](const std::string& says, const std::string& give) {
        throw Error(ErrorKind::usage, path + ": by its config.json, the network has " + says + ": give " + give);
    };
    const graph::Activation activation = config.exact_gelu ? graph::Activation::gelu : graph::Activation::gelu_tanh;
    if (facts->activation != activation || facts->head_activation.value_or(activation) != activation) {
        refuse(config.exact_gelu ? "the exact form of gelu" : "the tanh form of gelu",
               config.exact_gelu ? "--hidden-act gelu_erf" : "--hidden-act gelu");
    }
    const double most = std::max(facts->norm_epsilon, config.norm_epsilon);
    if (std::abs(facts->norm_epsilon - config.norm_epsilon) > 1e-6 * most) {
        const std::string epsilon = text(config.norm_epsilon);
        refuse("norms with an epsilon of " + epsilon, "--layer-norm-epsilon " + epsilon);
    }
    if (config.heads != 0 && facts->heads != config.heads) {
        throw Error(ErrorKind::usage, path + ": by its config.json, the network has " + std::to_string(config.heads) +
                                          " attention heads, and not " + std::to_string(facts->heads));
    }
}

/// The graph's variables without optimiser slots.
std::map<std::string, TensorDesc> model_descs(const graph::Graph& graph) {
    std::map<std::string, TensorDesc> descs = variables(graph);
    for (const graph::ValueId slot : graph.values_with_role(graph::Role::slot))
        descs.erase(graph.value(slot).name);
    return descs;
}

/// The place in `found` of each of `wanted`, if it is there. Empty if none is, or if names are not unique.
std::vector<std::optional<std::size_t>> places_in(const std::vector<std::string>& found,
                                                  const std::vector<std::string>& wanted) {
    std::map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < found.size(); ++i)
        by_name.emplace(found[i], i);
    if (by_name.size() != found.size() || std::set(wanted.begin(), wanted.end()).size() != wanted.size()) return {};
    std::vector<std::optional<std::size_t>> places;
    for (const std::string& name : wanted) {
        const auto place = by_name.find(name);
        places.push_back(place == by_name.end() ? std::nullopt : std::optional(place->second));
    }
    const bool any = std::ranges::any_of(places, [](const auto& place) { return place.has_value(); });
    return any ? places : std::vector<std::optional<std::size_t>>{};
}

std::size_t class_axis(const Shape& shape, const FirstWeights& allowed) {
    return allowed.classes_first || shape.empty() ? 0 : shape.size() - 1;
}

/// Element i of an axis is that of `from` at places[i], or stays where there is none.
void copy_classes(const HostTensor& from, const std::vector<std::optional<std::size_t>>& places, std::size_t axis,
                  HostTensor& to) {
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < to.shape().size(); ++i)
        inner *= to.shape()[i];
    const auto count = static_cast<std::int64_t>(places.size());
    for (std::int64_t i = 0; i < to.elements(); ++i) {
        const std::optional<std::size_t>& place = places[static_cast<std::size_t>(i / inner % count)];
        const std::int64_t first = i / (inner * count) * from.shape()[axis];
        if (place) to.set(i, from.at((first + static_cast<std::int64_t>(*place)) * inner + i % inner));
    }
}

bool begins_with_any(std::string_view name, const std::vector<std::string>& beginnings) {
    return std::ranges::any_of(beginnings, [&](const std::string& beginning) { return name.starts_with(beginning); });
}

/// "[512, C]" for the shape [512, 10] and class_axis 1.
std::string class_shape_text(const Shape& shape, std::size_t class_axis) {
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < shape.size(); ++i)
        sizes.push_back(i == class_axis ? "C" : std::to_string(shape[i]));
    return "[" + joined(sizes) + "]";
}

/// A last layer may be missing or have other classes, an axis of all its variables. Error(data) otherwise.
void expect_last_layer(const weights::Checkpoint& checkpoint, const graph::Graph& graph, const FirstWeights& allowed,
                       const std::string& path) {
    std::vector<std::string> expected;
    std::vector<std::string> given;
    bool fits = true;
    std::optional<std::int64_t> classes;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        const graph::Value& variable = graph.value(id);
        if (!begins_with_any(variable.name, allowed.last_layer)) continue;
        Shape wanted = variable.desc.shape;
        const std::size_t axis = class_axis(wanted, allowed);
        expected.push_back(variable.name + " " + class_shape_text(wanted, axis));
        const auto found = checkpoint.tensors.find(variable.name);
        if (found == checkpoint.tensors.end()) continue;
        const Shape& shape = found->second.shape();
        given.push_back(variable.name + " " + to_string(shape));
        if (!classes && axis < shape.size()) classes = shape[axis];
        if (!wanted.empty() && classes) wanted[axis] = *classes;
        fits = fits && shape == wanted && classes != 0;
    }
    if (given.empty() || (fits && given.size() == expected.size())) return;
    throw Error(ErrorKind::data, path + ": its last layer does not fit the network: it has " + listed(given) +
                                     "; expected " + listed(expected) +
                                     ", with C classes; use other weights, or remove the last layer from the file, "
                                     "and it is drawn anew");
}

std::int64_t nans_in(const HostTensor& tensor) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (std::isnan(tensor.at(i))) ++count;
    }
    return count;
}

}  // namespace

void initialise(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed) {
    in_parts(executable.report().variables, [&](const std::vector<std::string>& names) {
        backend::NamedTensors tensors;
        for (const std::string& name : names)
            tensors.emplace(name, nn::initial_value(graph.value(*graph.find(name)), seed));
        executable.load(tensors);
    });
}

std::map<std::string, HostTensor> initial_variables(const graph::Graph& graph, std::uint64_t seed) {
    std::map<std::string, HostTensor> result;
    for (const graph::ValueId id : graph.variables()) {
        const graph::Value& variable = graph.value(id);
        result.emplace(variable.name, nn::initial_value(variable, seed));
    }
    return result;
}

weights::TensorSource variable_source(const backend::Executable& executable) {
    weights::TensorSource source;
    for (const backend::Variable& variable : executable.report().variables)
        source.descs.emplace(variable.name, variable.desc);
    source.tensor = [&executable](const std::string& name) { return executable.store(name); };
    return source;
}

weights::TensorSource with_averages(weights::TensorSource source, const std::map<std::string, HostTensor>& averages) {
    for (const auto& [variable, average] : averages)
        source.descs.emplace(variable + std::string(weights::kAverageSuffix), average.desc());
    source.tensor = [stored = std::move(source.tensor), &averages](const std::string& name) {
        if (!name.ends_with(weights::kAverageSuffix)) return stored(name);
        return averages.at(name.substr(0, name.size() - weights::kAverageSuffix.size()));
    };
    return source;
}

std::map<std::string, HostTensor> stored_variables(const backend::Executable& executable) {
    return executable.store(executable.variable_names());
}

weights::Checkpoint checkpoint_weights(const FileSystem& files, const std::string& path,
                                       const options::Settings& settings) {
    weights::Checkpoint checkpoint =
        weights::load_weights(files, path, weights::edited_if(settings.checkpoint.trust_edited));
    if (settings.main.averaged_weights) weights::use_averages(checkpoint, path);
    return checkpoint;
}

weights::Checkpoint first_checkpoint(const FileSystem& files, const std::string& path,
                                     const options::Settings& settings) {
    weights::Checkpoint checkpoint =
        weights::load_weights(files, path, weights::edited_if(settings.checkpoint.trust_edited));
    weights::take_averages(checkpoint);
    return checkpoint;
}

void load_all(backend::Executable& executable, const graph::Graph& graph, const weights::Checkpoint& checkpoint,
              const std::string& path) {
    const std::map<std::string, TensorDesc> wanted = variables(graph);
    weights::match(wanted, checkpoint, path);
    executable.load(in_types(wanted, checkpoint));
}

std::string state_left_out(const graph::Graph& graph, const weights::Checkpoint& checkpoint) {
    const std::vector<graph::ValueId> own = graph.values_with_role(graph::Role::slot);
    const bool has_state = std::ranges::any_of(
        checkpoint.tensors, [&](const auto& tensor) { return is_slot(tensor.first, checkpoint.tensors); });
    if (own.empty() || !has_state) return "";
    const auto missing = std::ranges::find_if(
        own, [&](graph::ValueId slot) { return !checkpoint.tensors.contains(graph.value(slot).name); });
    const std::string why = missing == own.end() ? "the optimiser's state in it is left out"
                                                 : "the state in it is another optimiser's (there is no " +
                                                       graph.value(*missing).name + ") and left out";
    return why + ": the run's begins anew";
}

void load_model(backend::Executable& executable, const graph::Graph& graph, weights::Checkpoint checkpoint,
                const std::string& path, const RunSettings& settings) {
    const std::string left_out = state_left_out(graph, checkpoint);
    if (!left_out.empty()) log::info(path + ": " + left_out);
    const std::map<std::string, HostTensor> variables = model_variables(graph, std::move(checkpoint), path);
    if (const auto bad = first_bad_number(variables)) {
        if (settings.stop_on_nan) fail_not_finite("'" + path + "'", *bad);
        log::warning(path + ": " + *bad + "; continuing because of --no-stop-on-nan");
    }
    executable.load(variables);
}

weights::Checkpoint in_own_layout(weights::Checkpoint checkpoint, const graph::Graph& graph, const std::string& path) {
    const std::optional<weights::BertConfig> config = bert_config(checkpoint, path);
    if (config) expect_same_network(*config, graph, path);
    if (!weights::is_hugging_face(checkpoint)) {
        try {
            checkpoint.tensors = nn::in_own_layout(std::move(checkpoint.tensors), model_descs(graph));
        } catch (const Error& error) {
            throw error.within(path);
        }
        return checkpoint;
    }
    weights::ImportSettings settings;
    if (config) {
        settings.sizes = config->sizes;
        settings.classifier = config->classifies_texts();
    }
    weights::BertVariables& variables = settings.variables;
    variables = {true, false, false, false};
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        const graph::Value& variable = graph.value(id);
        if (variable.name.ends_with("/qkv_weight")) variables.qkv_split = false;
        if (variable.name.ends_with("/query/bias")) variables.qkv_bias = true;
        if (variable.name.ends_with("/projection/dense/bias")) variables.projection_bias = true;
        if (variable.name.ends_with("/predictions/output_bias")) variables.prediction_bias = true;
        if (variable.name.ends_with("/word_embeddings")) settings.vocabulary = variable.desc.shape[0];
    }
    return weights::from_hugging_face(std::move(checkpoint), settings, path).checkpoint;
}

CompletedWeights completed(weights::Checkpoint checkpoint, const graph::Graph& graph, const FirstWeights& allowed,
                           std::uint64_t seed, const std::string& path) {
    expect_last_layer(checkpoint, graph, allowed, path);
    CompletedWeights result;
    const std::map<std::string, TensorDesc> own = variables(graph);
    std::vector<std::string> extra;
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (own.contains(name) || !begins_with_any(name, allowed.may_have)) continue;
        extra.push_back(name);
        if (!is_slot(name, checkpoint.tensors)) result.left_out.push_back(name);
    }
    for (const std::string& name : extra)
        checkpoint.tensors.erase(name);
    const std::vector<std::string> named = weights::class_names(checkpoint.metadata);
    const bool compares = !allowed.classes.empty() && !named.empty() && allowed.classes != named;
    const auto places = compares ? places_in(named, allowed.classes) : std::vector<std::optional<std::size_t>>{};
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i]) result.new_classes.push_back(allowed.classes[i]);
    }
    std::vector<std::string> missing;
    std::ranges::copy_if(allowed.may_lack, std::back_inserter(missing), [&](const std::string& part) {
        return std::ranges::none_of(checkpoint.tensors,
                                    [&](const auto& tensor) { return tensor.first.starts_with(part); });
    });
    const bool same_classes = !places.empty() && result.new_classes.empty() && named.size() == places.size();
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        graph::Value variable = graph.value(id);
        const bool may_change = begins_with_any(variable.name, allowed.last_layer);
        if (!may_change && !begins_with_any(variable.name, missing)) continue;
        const auto found = checkpoint.tensors.find(variable.name);
        const bool there = found != checkpoint.tensors.end();
        const std::size_t axis = class_axis(variable.desc.shape, allowed);
        const bool is_named =
            there && axis < found->second.shape().size() && found->second.shape()[axis] == std::ssize(named);
        if (there && !compares && found->second.shape() == variable.desc.shape) continue;
        if (is_named && same_classes) {
            HostTensor reordered(found->second.desc());
            copy_classes(found->second, places, axis, reordered);
            found->second = std::move(reordered);
            result.reordered = true;
            continue;
        }
        variable.desc.dtype = DType::f32;  // a master starts with the unrounded value
        HostTensor drawn = nn::initial_value(variable, seed);
        if (is_named && !places.empty()) {
            copy_classes(found->second, places, axis, drawn);
            result.extended.push_back(variable.name);
        } else {
            if (there) result.replaced.push_back(variable.name);
            result.drawn.push_back(variable.name);
        }
        checkpoint.tensors.insert_or_assign(variable.name, std::move(drawn));
    }
    std::ranges::sort(result.drawn);
    std::ranges::sort(result.replaced);
    result.checkpoint = std::move(checkpoint);
    return result;
}

void copy_variables(const backend::Executable& from, backend::Executable& to) {
    in_parts(to.report().variables, [&](const std::vector<std::string>& names) { to.load(from.store(names)); });
}

bool holds_slots(const graph::Graph& graph, const weights::Checkpoint& checkpoint) {
    return std::ranges::all_of(graph.values_with_role(graph::Role::slot), [&](graph::ValueId slot) {
        return checkpoint.tensors.contains(graph.value(slot).name);
    });
}

namespace {

/// Refuses weights of BERT that have no last layer for the task, as those of a pretraining.
void expect_head(const std::map<std::string, TensorDesc>& wanted, const weights::Checkpoint& checkpoint,
                 const std::string& path) {
    const auto has = [](const auto& variables, const std::string& prefix) {
        const auto found = variables.lower_bound(prefix);
        return found != variables.end() && found->first.starts_with(prefix);
    };
    for (const std::string_view scope : {nn::kClassifierScope, nn::kAnswersScope}) {
        const std::string head = std::string(scope) + "/";
        if (!has(wanted, head) || has(checkpoint.tensors, head) || !has(checkpoint.tensors, "bert/")) continue;
        throw Error(ErrorKind::data, "checkpoint '" + path + "' has no head for this task, " + head +
                                         "...; train first: cnntrain train with --init-checkpoint " + path);
    }
}

}  // namespace

std::map<std::string, HostTensor> model_variables(const graph::Graph& graph, weights::Checkpoint checkpoint,
                                                  const std::string& path) {
    checkpoint = in_own_layout(std::move(checkpoint), graph, path);
    const std::map<std::string, TensorDesc> wanted = model_descs(graph);
    expect_head(wanted, checkpoint, path);
    std::set<std::string> slots;
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (is_slot(name, checkpoint.tensors)) slots.insert(name);
    }
    std::erase_if(checkpoint.tensors, [&](const auto& tensor) { return slots.contains(tensor.first); });
    weights::match(wanted, checkpoint, path);
    return in_types(wanted, checkpoint);
}

void initialise_masters(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed) {
    for (const optim::Master& pair : optim::masters(graph)) {
        graph::Value variable = graph.value(pair.parameter);
        const DType stored = variable.desc.dtype;
        variable.desc.dtype = DType::f32;
        const HostTensor start = nn::initial_value(variable, seed);
        executable.load(graph.value(pair.master).name, start);
        executable.load(variable.name, start.cast(stored));
    }
}

void load_masters(backend::Executable& executable, const graph::Graph& graph, const weights::Checkpoint& checkpoint) {
    for (const optim::Master& pair : optim::masters(graph)) {
        const HostTensor& tensor = checkpoint.tensors.at(graph.value(pair.parameter).name);
        executable.load(graph.value(pair.master).name, tensor.cast(DType::f32));
    }
}

void load_with_masters(backend::Executable& executable, const graph::Graph& graph,
                       const std::map<std::string, HostTensor>& values) {
    backend::NamedTensors tensors(values.begin(), values.end());
    for (const optim::Master& pair : optim::masters(graph)) {
        const auto found = values.find(graph.value(pair.parameter).name);
        if (found != values.end()) tensors.emplace(graph.value(pair.master).name, found->second);
    }
    executable.load(tensors);
}

weights::Found checkpoint_to_evaluate(const FileSystem& files, const std::string& restore_path) {
    return weights::find_checkpoint(files, "--restore-path", restore_path);
}

metrics::NanRow count_nans(std::int64_t iteration, const weights::TensorSource& tensors) {
    metrics::NanRow row;
    row.iteration = iteration;
    for (const auto& [name, desc] : tensors.descs) {
        const std::int64_t count = nans_in(tensors.tensor(name));
        row.nan_count += count;
        if (count > 0) ++row.nan_variables;
    }
    return row;
}

namespace {

std::vector<graph::ValueId> recompute_points(const graph::Graph& forward, const graph::Objective& objective,
                                             const TrainingSettings& training) {
    if (!training.recomputation) return graph::all_but_cheap_values(forward, objective);
    return training.pipeline ? graph::values_of_last_stage(forward, objective)
                             : graph::choose_recompute_points(forward, objective);
}

}  // namespace

optim::UpdateSettings update_settings(const options::Settings& settings, const backend::Backend& backend,
                                      double moving_average_decay) {
    const schedule::BatchPlan batch = batch_plan(settings);
    optim::UpdateSettings result{settings.optimiser};
    result.micro_batches = batch.global_batch() / placement(settings, backend).samples;
    result.gradients = backend.info().update_types.gradients;
    result.slots = backend.info().update_types.slots;
    result.f32_means = backend.info().update_types.f32_means;
    result.moving_average_decay = moving_average_decay;
    result.mean_square_decay = optim::rmsprop_decay(settings.optimiser, batch.global_batch());
    return result;
}

graph::Graph with_update(graph::Graph forward, std::string_view loss, const options::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay) {
    const auto samples = static_cast<double>(placement(settings, backend).samples);
    return with_update(std::move(forward), {{loss, samples}}, settings, backend, moving_average_decay);
}

graph::Graph with_update(graph::Graph forward, const std::vector<LossTerm>& loss, const options::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay) {
    graph::Graph graph = graph::apply_rewrites(std::move(forward), backend.rewrites().training);
    graph::Objective objective;
    objective.loss = graph.output(loss.at(0).output);
    objective.seed = 1 / loss.at(0).divisor;
    objective.loss_scaling = optim::loss_scaling(graph);
    for (std::size_t i = 1; i < loss.size(); ++i)
        objective.more_losses[graph.output(loss[i].output)] = 1 / loss[i].divisor;
    objective.targets = optim::trainable_parameters(graph, settings.optimiser);
    objective.recompute_points = recompute_points(graph, objective, settings.training);
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    optim::append_update(graph, gradients, update_settings(settings, backend, moving_average_decay));
    return graph::apply_rewrites(std::move(graph), backend.rewrites().backward);
}

std::map<std::string, TensorDesc> variables(const graph::Graph& graph) {
    std::map<std::string, TensorDesc> result;
    for (const graph::ValueId id : graph.variables())
        result.emplace(graph.value(id).name, graph.desc(id));
    return result;
}

void warn_of_idle_filters(const graph::Graph& graph, const nn::PrecisionSettings& settings) {
    const std::map<std::string, TensorDesc> all = variables(graph);
    const auto check = [&](const std::string& flag, const std::vector<std::string>& filters) {
        for (const std::string& filter : filters) {
            const bool hit = std::ranges::any_of(
                all, [&](const auto& variable) { return variable.first.find(filter) != std::string::npos; });
            if (!hit) log::warning(flag + " " + filter + " changes nothing: no variable has that in its name");
        }
    };
    check("--force-weight-to-fp16", settings.force_weight_to_fp16);
    check("--force-weight-to-fp32", settings.force_weight_to_fp32);
}

}  // namespace cnntrain::run
