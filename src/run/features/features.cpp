#include "run/features/features.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/evaluator.h"
#include "run/features/linear_head.h"
#include "run/monitor.h"
#include "run/ranks.h"
#include "run/resume.h"

namespace cnntrain::run {
namespace {

std::string text_of_crc(std::uint32_t crc) {
    return "crc32c " + hex_text(crc);
}

/// One batch's results of one rank, as ranks exchange them.
struct BatchShare {
    std::int64_t first_sample = 0;
    std::int64_t stopped = 0;
};

/// Evaluates sweeps over the data and collects the features of all ranks.
class Sweeps {
public:
    Sweeps(backend::Executable& executable, std::string_view label_field, const Host& host,
           metrics::Observers& observers, std::string unit, std::int64_t batches)
        : executable_(executable),
          label_field_(label_field),
          host_(host),
          observers_(observers),
          unit_(std::move(unit)),
          batches_(batches) {}

    /// The next `views` sweeps of the stream.
    void collect(data::Stream& stream, std::int64_t views, SplitFeatures& into) {
        LabelTap tap(stream, label_field_);
        into.labels_each = data::field_desc(stream.fields(), label_field_).elements() / stream.micro_batch();
        into.labels.resize(static_cast<std::size_t>(stream.samples() * into.labels_each), data::kNoLabel);
        for (std::int64_t view = 0; view < views; ++view) {
            HostTensor features;
            for (std::int64_t batch = 0; batch < stream.batches_per_sweep(); ++batch) {
                add_batch(tap, stream, features, into);
                show_progress(stream.micro_batch());
            }
            into.views.push_back(std::move(features));
        }
    }

private:
    void add_batch(LabelTap& tap, const data::Stream& stream, HostTensor& features, SplitFeatures& into) {
        BatchShare share;
        HostTensor values;
        backend::StepResult result;
        try {
            result = executable_.evaluate(tap, 1);
            share.stopped = result.stopped || stop_requested() ? 1 : 0;
            values = executable_.output(kFeatures);
            share.first_sample = tap.first_sample();
        } catch (const Interrupted&) {
            if (alone()) throw;
            share.stopped = 1;
        }
        if (share.stopped != 0 && alone()) throw Interrupted();
        if (share.stopped == 0) {
            const auto where = not_finite_in(executable_, result, std::string(kFeatures), /*looks_inside=*/done_ == 0);
            if (where) fail_not_finite("features of the training data", *where);
        }
        if (features.shape().empty() && values.shape().size() == 2)
            features = HostTensor({values.dtype(), {stream.samples(), values.shape()[1]}});
        if (alone()) {
            store(share, tap.labels(), values.bytes(), features, into);
        } else {
            exchange(share, tap.labels(), values, features, into);
        }
    }

    /// Stores the batches of all ranks.
    void exchange(const BatchShare& share, const std::vector<std::int32_t>& mine, const HostTensor& values,
                  HostTensor& features, SplitFeatures& into) {
        comm::Communicator& all = *host_.communicator;
        const auto words = [&](std::int64_t word) {
            return all.all_gather(static_cast<std::uint64_t>(word), "features of a batch");
        };
        const std::vector<std::uint64_t> stops = words(share.stopped);
        if (std::ranges::any_of(stops, [](std::uint64_t word) { return word != 0; })) throw Interrupted();
        const std::vector<std::uint64_t> firsts = words(share.first_sample);
        const std::size_t label_bytes = mine.size() * sizeof(std::int32_t);
        const std::size_t rank_bytes = label_bytes + values.bytes().size();
        std::vector<std::byte> out(rank_bytes);
        std::vector<std::byte> in(rank_bytes * firsts.size());
        std::memcpy(out.data(), mine.data(), label_bytes);
        std::memcpy(out.data() + label_bytes, values.bytes().data(), values.bytes().size());
        all.all_gather_among({0, all.size()}, out, in, "features of a batch");
        std::vector<std::int32_t> theirs(mine.size());
        for (std::size_t rank = 0; rank < firsts.size(); ++rank) {
            const auto part = std::span(in).subspan(rank * rank_bytes, rank_bytes);
            std::memcpy(theirs.data(), part.data(), label_bytes);
            store({static_cast<std::int64_t>(firsts[rank]), 0}, theirs, part.subspan(label_bytes), features, into);
        }
    }

    static void store(const BatchShare& share, const std::vector<std::int32_t>& batch_labels,
                      std::span<const std::byte> values, HostTensor& features, SplitFeatures& into) {
        const std::int64_t batch = std::ssize(batch_labels) / into.labels_each;
        const std::int64_t left = std::max<std::int64_t>(0, into.samples() - share.first_sample);
        const auto count = static_cast<std::size_t>(std::min(batch, left));
        const std::size_t row_bytes = values.size() / static_cast<std::size_t>(batch);
        const auto first = static_cast<std::size_t>(share.first_sample);
        if (count == 0) return;
        std::memcpy(features.bytes().data() + first * row_bytes, values.data(), count * row_bytes);
        std::copy_n(batch_labels.begin(), count * static_cast<std::size_t>(into.labels_each),
                    into.labels.begin() + share.first_sample * into.labels_each);
    }

    void show_progress(std::int64_t micro_batch) {
        ++done_;
        const double seen = static_cast<double>(done_ * micro_batch * host_.communicator->size());
        observers_.on(
            metrics::Progress{done_, 0, batches_, seen / watch_.seconds(), watch_.seconds(), "batches", unit_, true});
    }

    bool alone() const { return host_.communicator->size() == 1; }
    bool stop_requested() const { return host_.stop_requested && host_.stop_requested(); }

    backend::Executable& executable_;
    std::string label_field_;
    const Host& host_;
    metrics::Observers& observers_;
    std::string unit_;
    std::int64_t batches_;
    std::int64_t done_ = 0;
    Stopwatch watch_;
};

}  // namespace

std::vector<std::int64_t> labelled_samples(const SplitFeatures& split) {
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < split.samples(); ++i) {
        if (split.labels[static_cast<std::size_t>(i * split.labels_each)] >= 0) numbers.push_back(i);
    }
    return numbers;
}

FeatureRows feature_rows(const SplitFeatures& split, const std::vector<std::int64_t>& samples, std::size_t views) {
    FeatureRows rows;
    rows.width = split.width();
    rows.labels_each = split.labels_each;
    rows.values.reserve(views * samples.size() * static_cast<std::size_t>(rows.width));
    for (std::size_t view = 0; view < views; ++view) {
        const HostTensor wide = split.views.at(view).cast(DType::f32);
        const std::span<const float> all = wide.as<float>();
        for (const std::int64_t sample : samples) {
            const auto begin = all.begin() + sample * rows.width;
            rows.values.insert(rows.values.end(), begin, begin + rows.width);
            const auto labels = split.labels.begin() + sample * split.labels_each;
            rows.labels.insert(rows.labels.end(), labels, labels + split.labels_each);
        }
    }
    return rows;
}

FeatureSource::FeatureSource(const EvaluationWork& work, bool with_validation)
    : work_(work),
      training_(classifier().in_order(data::Split::train, /*augmented=*/false)),
      validation_(with_validation ? classifier().in_order(data::Split::validation, /*augmented=*/false) : nullptr),
      features_(classifier().features_graph(training_->fields(work.settings().training.micro_batch_size))) {}

/// The fields are those of the first samples without their labels.
std::string FeatureSource::first_samples(const Samples& samples) const {
    const std::int64_t count = std::min<std::int64_t>(4, samples.count());
    const auto stream = samples.stream({.micro_batch = count, .batches_ahead = 1});
    const std::vector<data::Field> fields = stream->fields();
    const data::Batch batch = stream->next();
    std::uint32_t crc = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name != classifier().label_field()) crc = crc32c(batch.fields[i], crc);
    }
    return text_of_crc(crc);
}

FeatureFacts FeatureSource::facts(const std::map<std::string, HostTensor>& weights) const {
    FeatureFacts facts;
    std::uint32_t crc = 0;
    for (const auto& [name, tensor] : weights) {
        if (name == last_layer().weight || name == last_layer().bias) continue;
        crc = crc32c(std::as_bytes(std::span(name)), crc);
        crc = crc32c(tensor.bytes(), crc);
    }
    const std::string single = classifier().features_graph(training_->fields(1)).graph.to_text();
    facts.network = {{"program", CNNTRAIN_VERSION},
                     {"backend", work_.backend.library()},
                     {"network", text_of_crc(crc32c(std::as_bytes(std::span(single))))},
                     {"weights", text_of_crc(crc)}};
    facts.preprocessing = first_samples(*training_);
    DataOrigin origin{training_->origin(), {}};
    if (validation_) origin.validation = validation_->origin();
    facts.data = origin_of(to_text(origin));  // as a file gives it back
    return facts;
}

FeatureSet FeatureSource::compute(const std::map<std::string, HostTensor>& weights, std::int64_t views) const {
    const options::Settings& settings = work_.settings();
    const Host& host = work_.host;
    const auto executable = work_.backend.compile(compile_request(
        graph(), settings, training_->fields(settings.training.micro_batch_size), work_.seed, host.stop_requested));
    if (is_first(host)) executable->load(weights);
    share_variables(*host.communicator, *executable, "weights of the features");
    data::LoaderSettings loader = for_rank(loader_settings(settings, 0), *host.communicator);
    loader.stop_requested = host.stop_requested;
    const auto sweep_batches = [&](const Samples& samples) {
        const std::int64_t round = loader.micro_batch * loader.ranks;
        return (samples.count() + round - 1) / round;
    };
    const std::int64_t batches = views * sweep_batches(*training_) + (validation_ ? sweep_batches(*validation_) : 0);
    Sweeps sweeps(*executable, classifier().label_field(), host, work_.observers, work_.task.columns().unit.many,
                  batches);
    FeatureSet set;
    sweeps.collect(*training_->stream(loader), 1, set.training);
    if (views > 1) {
        const std::uint64_t view_bytes = set.training.views.front().bytes().size();
        require_memory(static_cast<std::uint64_t>(views - 1) * view_bytes, "features of all views");
        const auto augmented = classifier().in_order(data::Split::train, /*augmented=*/true);
        sweeps.collect(*augmented->stream(loader), views - 1, set.training);
    }
    if (validation_) sweeps.collect(*validation_->stream(loader), 1, set.validation.emplace());
    return set;
}

namespace {

using Metadata = std::map<std::string, std::string>;

// Keys of the file's metadata
constexpr const char* kNetworkPrefix = "features.network.";
constexpr const char* kPreprocessing = "features.preprocessing";
constexpr const char* kData = "features.data";
constexpr const char* kViews = "features.views";
constexpr const char* kSeed = "features.seed";

constexpr const char* kTrainingPrefix = "training/";
constexpr const char* kValidationPrefix = "validation/";
constexpr const char* kLabels = "labels";

std::string view_name(const std::string& split, std::size_t view) {
    return split + "view" + std::to_string(view);
}

/// True for a file that FeatureCache::write() wrote, also if it is damaged now.
bool is_own(const FileSystem& files, const std::string& path) {
    constexpr std::uint64_t kMetadataBytes = 64 << 10;  // the header begins with it
    const std::string begin = beginning_of(files, path, kMetadataBytes);
    return begin.find("\"" + std::string(kPreprocessing) + "\"") != std::string::npos;
}

Metadata feature_metadata(const WantedFeatures& wanted) {
    Metadata metadata;
    for (const auto& [name, value] : wanted.facts.network)
        metadata[kNetworkPrefix + name] = value;
    metadata[kPreprocessing] = wanted.facts.preprocessing;
    metadata[kData] = to_text(wanted.facts.data);
    metadata[kViews] = std::to_string(wanted.views);
    metadata[kSeed] = std::to_string(wanted.seed);
    return metadata;
}

std::string text_in(const Metadata& metadata, const std::string& key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? "" : found->second;
}

std::int64_t views_in(const Metadata& metadata) {
    const std::string text = text_in(metadata, kViews);
    std::int64_t views = 0;
    std::from_chars(text.data(), text.data() + text.size(), views);
    return views;
}

/// Describes how the file's features differ from the wanted ones; "" if they do not.
std::string difference_of_features(const Metadata& found, const WantedFeatures& wanted) {
    std::vector<std::string> parts;
    const DataOrigin data = origin_of(text_in(found, kData));
    const std::string other = other_data(data, wanted.facts.data);
    if (!other.empty()) parts.push_back("other data (" + other + ")");
    if (wanted.facts.data.validation && !data.validation) parts.emplace_back("no validation split");
    const auto compare = [&](const std::string& name, const std::string& before, const std::string& now) {
        if (before != now) parts.push_back("other " + name + " (" + before + ", now " + now + ")");
    };
    for (const auto& [name, value] : wanted.facts.network)
        compare(name, text_in(found, kNetworkPrefix + name), value);
    compare("preprocessing", text_in(found, kPreprocessing), wanted.facts.preprocessing);
    if (views_in(found) < wanted.views) {
        parts.push_back(counted(views_in(found), "view") + " of each sample, not " + std::to_string(wanted.views));
    } else if (wanted.views > 1) {
        compare("seed of the views", text_in(found, kSeed), std::to_string(wanted.seed));
    }
    return joined(parts, "; ");
}

SplitFeatures taken_split(weights::Checkpoint& file, const std::string& split, std::int64_t views) {
    SplitFeatures features;
    const HostTensor& stored = file.tensors.at(split + kLabels);
    if (stored.dtype() != DType::i32) throw Error(ErrorKind::data, "its labels are no whole numbers of 32 bits");
    const auto labels = stored.as<std::int32_t>();
    if (stored.shape().size() == 2) features.labels_each = std::max<std::int64_t>(stored.shape()[1], 1);
    features.labels.assign(labels.begin(), labels.end());
    for (std::size_t view = 0; view < static_cast<std::size_t>(views); ++view) {
        HostTensor& values = file.tensors.at(view_name(split, view));
        const Shape& shape = values.shape();
        if (shape.size() != 2 || shape[0] != features.samples())
            throw Error(ErrorKind::data, "its features and labels do not fit together");
        features.views.push_back(std::move(values));
    }
    return features;
}

void add_split(const SplitFeatures& features, const std::string& split, std::map<std::string, const HostTensor*>& all,
               std::map<std::string, HostTensor>& labels) {
    for (std::size_t view = 0; view < features.views.size(); ++view)
        all.emplace(view_name(split, view), &features.views[view]);
    Shape shape = {features.samples()};
    if (features.labels_each > 1) shape.push_back(features.labels_each);
    HostTensor& tensor = labels.emplace(split + kLabels, TensorDesc{DType::i32, shape}).first->second;
    std::ranges::copy(features.labels, tensor.as<std::int32_t>().begin());
    all.emplace(split + kLabels, &tensor);
}

}  // namespace

FeatureCache::FeatureCache(FileSystem& files, std::string path, const std::string& flag)
    : files_(files), path_(std::move(path)) {
    if (path_.empty()) return;
    weights::refuse_run_checkpoint(files_, flag, path_);
    check_outputs(files_, {{{flag, path_}, false, "", is_own}});
}

std::optional<FeatureSet> FeatureCache::read(const WantedFeatures& wanted, metrics::Observers& observers) const {
    if (path_.empty() || !exists(files_, path_)) return std::nullopt;
    try {
        const std::string other = difference_of_features(weights::CheckpointFile(files_, path_).metadata(), wanted);
        if (!other.empty()) {
            observers.line("The features are computed anew: " + path_ + " has those of " + other);
            return std::nullopt;
        }
        weights::Checkpoint file = weights::load(files_, path_);
        FeatureSet set{taken_split(file, kTrainingPrefix, wanted.views), {}};
        if (wanted.facts.data.validation) set.validation = taken_split(file, kValidationPrefix, 1);
        return set;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        observers.line("The features are computed anew: " + path_ + " is damaged: " + error.what());
    } catch (const std::out_of_range&) {
        observers.line("The features are computed anew: " + path_ + " is damaged: it lacks features or labels");
    }
    return std::nullopt;
}

bool FeatureCache::write(const WantedFeatures& wanted, const FeatureSet& set) const {
    if (path_.empty()) return false;
    weights::Checkpoint file;
    file.metadata = feature_metadata(wanted);
    std::map<std::string, const HostTensor*> all;
    std::map<std::string, HostTensor> labels;
    add_split(set.training, kTrainingPrefix, all, labels);
    if (set.validation) add_split(*set.validation, kValidationPrefix, all, labels);
    weights::TensorSource source;
    for (const auto& [name, tensor] : all)
        source.descs.emplace(name, tensor->desc());
    source.tensor = [&all](const std::string& name) { return *all.at(name); };
    try {
        weights::save(files_, path_, file, source);
        return true;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::storage) throw;
        log::warning(std::string(error.what()) + "; the features are not kept");
        return false;
    }
}

namespace {

std::string seconds_text(const Stopwatch& watch) {
    return formatted("%.1f s", watch.seconds());
}

std::string score_text(const HeadScore& score) {
    constexpr double kPercent = 100;
    return formatted("%.2f %% (loss %.4f)", kPercent * score.accuracy, score.loss);
}

std::vector<std::string> variable_names(const graph::Graph& graph) {
    std::vector<std::string> names;
    for (const graph::ValueId id : graph.variables())
        names.push_back(graph.value(id).name);
    return names;
}

std::int64_t classes_of_layer(const FeatureSource& source) {
    return source.graph().desc(*source.graph().find(source.last_layer().bias)).elements();
}

/// Rows to fit a head to, and rows of other samples to compare strengths on.
struct Rows {
    FeatureRows all;     // of training
    FeatureRows fitted;  // for choosing the strength; empty: all
    FeatureRows held_out;
    std::string held_out_name;
    std::int64_t held_out_samples = 0;
};

constexpr std::int32_t kParts = 5;  // one of them is held out where there is no validation split

/// The class of each sample; of several labels, the first one that is there, or their number.
std::vector<std::int32_t> classes_to_divide(const SplitFeatures& split) {
    if (split.labels_each == 1) return split.labels;
    std::vector<std::int32_t> classes;
    for (auto labels = split.labels.begin(); labels != split.labels.end(); labels += split.labels_each) {
        const auto first = std::find(labels, labels + split.labels_each, 1);
        classes.push_back(*labels < 0 ? *labels : static_cast<std::int32_t>(first - labels));
    }
    return classes;
}

Rows divided(const FeatureSet& set, std::size_t views, std::uint64_t seed, const metrics::Unit& unit) {
    Rows rows;
    rows.all = feature_rows(set.training, labelled_samples(set.training), views);
    if (set.validation) {
        rows.held_out = feature_rows(*set.validation, labelled_samples(*set.validation), 1);
        rows.held_out_name = "the validation split";
    }
    if (rows.held_out.count() > 0) return rows;
    const std::vector<std::int32_t> parts = stratified_parts(classes_to_divide(set.training), kParts, seed);
    std::vector<std::int64_t> fitted, held_out;
    for (const std::int64_t sample : labelled_samples(set.training))
        (parts[static_cast<std::size_t>(sample)] == 0 ? held_out : fitted).push_back(sample);
    rows.fitted = feature_rows(set.training, fitted, views);
    rows.held_out = feature_rows(set.training, held_out, 1);
    rows.held_out_name = "a fifth of the training " + unit.many;
    return rows;
}

/// Error(data) unless a head can be solved.
void check_rows(const Rows& rows, const metrics::Unit& unit) {
    const std::vector<std::int32_t>& labels = rows.all.labels;
    const bool of_one_class = std::ranges::adjacent_find(labels, std::ranges::not_equal_to()) == labels.end();
    if (!of_one_class) return;
    throw Error(ErrorKind::data, "the last layer cannot be solved: expected training " + unit.many +
                                     " of at least two classes, found " +
                                     (labels.empty() ? "none that can be read" : "those of one class"));
}

struct Solved {
    LinearHead head;
    HeadScore training, held_out;
    double strength = 0;
    std::size_t tried = 0;
};

Solved solve(Rows rows, std::int64_t classes, const std::optional<double>& strength, FitSettings how) {
    const bool parts = rows.fitted.count() > 0;
    FeatureRows& fitted = parts ? rows.fitted : rows.all;
    const Standardisation of_fitted = standardisation_of(fitted);
    of_fitted.apply(fitted);
    of_fitted.apply(rows.held_out);
    Solved solved;
    std::optional<LinearHead> start;
    if (strength) {
        how.strength = *strength;
    } else {
        ChosenStrength chosen = choose_strength(fitted, rows.held_out, classes, how);
        how.strength = chosen.strength;
        solved.tried = chosen.tried.size();
        start = std::move(chosen.head);
    }
    Fit fit = fit_head(fitted, classes, how, start ? &*start : nullptr);
    solved.held_out = score(fit.head, rows.held_out, how.threads);
    solved.strength = how.strength;
    Standardisation of_all = of_fitted;
    if (parts) {
        of_all = standardisation_of(rows.all);
        of_all.apply(rows.all);
        fit = fit_head(rows.all, classes, how, &fit.head);
    }
    solved.training = score(fit.head, rows.all, how.threads);
    solved.head = for_plain_features(std::move(fit.head), of_all);
    return solved;
}

std::map<std::string, HostTensor> variables_of(const LinearHead& head, const FeatureSource& source) {
    const nn::LastLayer& layer = source.last_layer();
    const auto shape = [&](const std::string& name) { return source.graph().desc(*source.graph().find(name)).shape; };
    HostTensor weight({DType::f32, shape(layer.weight)});
    HostTensor bias({DType::f32, shape(layer.bias)});
    const std::int64_t row = layer.by_class ? head.width : 1;
    const std::int64_t column = layer.by_class ? 1 : head.classes;
    for (std::int64_t c = 0; c < head.classes; ++c) {
        for (std::int64_t k = 0; k < head.width; ++k)
            weight.set(c * row + k * column, head.weight[static_cast<std::size_t>(c * head.width + k)]);
        bias.set(c, head.bias[static_cast<std::size_t>(c)]);
    }
    std::map<std::string, HostTensor> variables;
    variables.emplace(layer.weight, std::move(weight));
    variables.emplace(layer.bias, std::move(bias));
    return variables;
}

}  // namespace

std::string feature_cache_path(const options::Settings& settings, const std::string& folder) {
    if (settings.head.cache) return *settings.head.cache;
    return settings.logging.no_logs ? "" : folder + "/" + kFeatureCacheName;
}

FeatureSet cached_features(const EvaluationWork& work, const FeatureSource& source, const FeatureCache& cache,
                           const std::map<std::string, HostTensor>& weights, std::int64_t views) {
    const Stopwatch watch;
    const metrics::Unit& unit = work.task.columns().unit;
    comm::Communicator& all = *work.host.communicator;
    std::optional<FeatureSet> set;
    WantedFeatures wanted{{}, views, work.seed};
    if (is_first(work.host)) {
        wanted.facts = source.facts(weights);
        set = cache.read(wanted, work.observers);
    }
    const bool known = !broadcast_text(all, set ? "known" : "", "whether features are known").empty();
    if (known && !set) return {};  // rank 0 has them
    bool kept = known;
    if (!known) {
        set = source.compute(weights, views);
        if (is_first(work.host)) kept = cache.write(wanted, *set);
    }
    const std::int64_t validation = set->validation ? set->validation->samples() : 0;
    const double rows = static_cast<double>(views * set->training.samples() + validation);
    std::string text = "Features of " + std::to_string(set->training.samples()) + " training";
    if (validation > 0) text += " and " + std::to_string(validation) + " validation";
    text += " " + unit.many + ", " + std::to_string(set->training.width()) + " each";
    if (views > 1) text += ", " + std::to_string(views) + " views";
    text += known ? ": read from " + cache.path() + " in " + seconds_text(watch)
                  : ": " + seconds_text(watch) + formatted(", %.1f %s/s", rows / watch.seconds(), unit.brief.c_str()) +
                        (kept ? ", kept in " + cache.path() : "");
    work.observers.line(text);
    return std::move(*set);
}

void solve_last_layer(const EvaluationWork& work, backend::Executable& executable, const graph::Graph& graph,
                      const std::string& folder, bool with_validation) {
    const HeadSettings& settings = work.settings().head;
    const metrics::Unit& unit = work.task.columns().unit;
    const bool first = is_first(work.host);
    if (first && !work.settings().training.init_path) {
        log::warning("no " + init_flag(work.arguments) +
                     ": the network is untrained, so the last layer is solved for random features");
    }
    const FeatureCache cache(*work.host.files, first ? feature_cache_path(work.settings(), folder) : "",
                             "--feature-cache");
    const FeatureSource source(work, with_validation);
    const FeatureSet set =
        cached_features(work, source, cache, executable.store(variable_names(source.graph())), settings.views);
    if (!first) return;
    const Stopwatch watch;
    Rows rows = divided(set, static_cast<std::size_t>(settings.views), work.seed, unit);
    check_rows(rows, unit);
    const std::string held_out = rows.held_out_name;
    const Solved solved =
        solve(std::move(rows), classes_of_layer(source), settings.strength,
              {.threads = compute_threads(work.settings().run), .stop_requested = work.host.stop_requested});
    const std::string how =
        settings.strength ? "as given" : "the best of " + std::to_string(solved.tried) + " on held-out samples";
    work.observers.line("Last layer: solved in " + seconds_text(watch) + ", L2 strength " +
                        short_text(solved.strength) + " (" + how + ")");
    work.observers.line("Last layer: training accuracy " + score_text(solved.training) + ", held-out accuracy " +
                        score_text(solved.held_out) + " on " + held_out);
    load_with_masters(executable, graph, variables_of(solved.head, source));
}

}  // namespace cnntrain::run
