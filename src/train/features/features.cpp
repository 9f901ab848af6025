#include "train/features/features.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/loading.h"
#include "train/runs/finite.h"
#include "train/runs/label_tap.h"
#include "train/runs/ranks.h"
#include "train/runs/timing.h"

namespace cnntrain::train {

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
        into.labels.resize(static_cast<std::size_t>(stream.samples()), data::kNoLabel);
        for (std::int64_t view = 0; view < views; ++view) {
            HostTensor features;
            for (std::int64_t batch = 0; batch < stream.batches_per_sweep(); ++batch) {
                add_batch(tap, stream, features, into.labels);
                show_progress(stream.micro_batch());
            }
            into.views.push_back(std::move(features));
        }
    }

private:
    void add_batch(LabelTap& tap, const data::Stream& stream, HostTensor& features, std::vector<std::int32_t>& labels) {
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
            store(share, tap.labels(), values.bytes(), features, labels);
        } else {
            exchange(share, tap.labels(), values, features, labels, stream.micro_batch());
        }
    }

    /// Stores the batches of all ranks.
    void exchange(const BatchShare& share, const std::vector<std::int32_t>& mine, const HostTensor& values,
                  HostTensor& features, std::vector<std::int32_t>& labels, std::int64_t micro_batch) {
        comm::Communicator& all = *host_.communicator;
        const auto words = [&](std::int64_t word) {
            return all.all_gather(static_cast<std::uint64_t>(word), "features of a batch");
        };
        const std::vector<std::uint64_t> stops = words(share.stopped);
        if (std::ranges::any_of(stops, [](std::uint64_t word) { return word != 0; })) throw Interrupted();
        const std::vector<std::uint64_t> firsts = words(share.first_sample);
        const auto label_bytes = static_cast<std::size_t>(micro_batch) * sizeof(std::int32_t);
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
            store({static_cast<std::int64_t>(firsts[rank]), 0}, theirs, part.subspan(label_bytes), features, labels);
        }
    }

    static void store(const BatchShare& share, const std::vector<std::int32_t>& batch_labels,
                      std::span<const std::byte> values, HostTensor& features, std::vector<std::int32_t>& labels) {
        const std::int64_t left = std::max<std::int64_t>(0, std::ssize(labels) - share.first_sample);
        const auto count = static_cast<std::size_t>(std::min(std::ssize(batch_labels), left));
        const std::size_t row_bytes = values.size() / batch_labels.size();
        const auto first = static_cast<std::size_t>(share.first_sample);
        if (count == 0) return;
        std::memcpy(features.bytes().data() + first * row_bytes, values.data(), count * row_bytes);
        std::copy_n(batch_labels.begin(), count, labels.begin() + share.first_sample);
    }

    void show_progress(std::int64_t micro_batch) {
        ++done_;
        const double seen = static_cast<double>(done_ * micro_batch * host_.communicator->size());
        observers_.progress({done_, 0, batches_, seen / watch_.seconds(), watch_.seconds(), "batches", unit_, true});
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

std::unique_ptr<backend::Executable> compile_features(const backend::Backend& backend, const graph::Graph& graph,
                                                      const Samples& samples, const config::Settings& settings,
                                                      std::uint64_t seed, const Host& host) {
    backend::CompileRequest request =
        compile_request(graph, settings, samples.fields(settings.training.micro_batch_size), seed);
    request.runtime.stop_requested = host.stop_requested;
    return backend.compile(request);
}

}  // namespace

std::vector<std::int64_t> labelled_samples(const SplitFeatures& split) {
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < split.samples(); ++i) {
        if (split.labels[static_cast<std::size_t>(i)] >= 0) numbers.push_back(i);
    }
    return numbers;
}

FeatureRows feature_rows(const SplitFeatures& split, const std::vector<std::int64_t>& samples, std::size_t views) {
    FeatureRows rows;
    rows.width = split.width();
    rows.values.reserve(views * samples.size() * static_cast<std::size_t>(rows.width));
    for (std::size_t view = 0; view < views; ++view) {
        const HostTensor wide = split.views.at(view).cast(DType::f32);
        const std::span<const float> all = wide.as<float>();
        for (const std::int64_t sample : samples) {
            const auto begin = all.begin() + sample * rows.width;
            rows.values.insert(rows.values.end(), begin, begin + rows.width);
            rows.labels.push_back(split.labels[static_cast<std::size_t>(sample)]);
        }
    }
    return rows;
}

FeatureSource::FeatureSource(const Task& task, const backend::Backend& backend, const config::Settings& settings,
                             std::uint64_t seed, const Host& host, bool with_validation)
    : task_(task),
      backend_(backend),
      settings_(settings),
      seed_(seed),
      host_(host),
      training_(classifier().in_order(data::Split::train, /*augmented=*/false)),
      validation_(with_validation ? classifier().in_order(data::Split::validation, /*augmented=*/false) : nullptr),
      features_(classifier().features_graph(training_->fields(settings.training.micro_batch_size))) {}

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
                     {"backend", backend_.library()},
                     {"network", text_of_crc(crc32c(std::as_bytes(std::span(single))))},
                     {"weights", text_of_crc(crc)}};
    facts.preprocessing = first_samples(*training_);
    DataOrigin origin{training_->origin(), {}};
    if (validation_) origin.validation = validation_->origin();
    facts.data = origin_of(to_text(origin));  // as a file gives it back
    return facts;
}

FeatureSet FeatureSource::compute(const std::map<std::string, HostTensor>& weights, std::int64_t views,
                                  metrics::Observers& observers) const {
    const auto executable = compile_features(backend_, graph(), *training_, settings_, seed_, host_);
    if (is_first(host_)) executable->load(weights);
    share_variables(*host_.communicator, *executable, "weights of the features");
    data::LoaderSettings loader = for_rank(loader_settings(settings_, 0), *host_.communicator);
    loader.stop_requested = host_.stop_requested;
    const auto sweep_batches = [&](const Samples& samples) {
        const std::int64_t round = loader.micro_batch * loader.ranks;
        return (samples.count() + round - 1) / round;
    };
    const std::int64_t batches = views * sweep_batches(*training_) + (validation_ ? sweep_batches(*validation_) : 0);
    Sweeps sweeps(*executable, classifier().label_field(), host_, observers, task_.columns().unit.many, batches);
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

}  // namespace cnntrain::train
