#include "cnntrain/data/input.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <functional>

#include "cnntrain/base/error.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/mirroring.h"
#include "cnntrain/data/mixing.h"
#include "data/loading/constant_stream.h"
#include "data/sets/image_sets.h"

namespace cnntrain::data {
namespace {

/// The format of samples before mixing, which needs f32 images; mixing then converts them to the batch's type.
PixelFormat format_of_samples(const InputSettings& settings, Split split) {
    PixelFormat format = host_format(settings);
    const MixingSettings mixing = effective_mixing(settings);
    if (split == Split::train && mixing.any() && mixing.on_host) format.dtype = DType::f32;
    return format;
}

std::vector<Field> sample_fields(const InputSettings& settings, Split split) {
    const std::int64_t side = image_side(settings);
    return image_fields({format_of_samples(settings, split).dtype, {side, side, 3}});
}

/// Adds the settings that depend on the data and the split.
LoaderSettings completed(LoaderSettings loader, const InputSettings& settings, Split split) {
    loader.feed = split == Split::train && !settings.in_order ? Feed::training : Feed::sweeps;
    loader.seed = settings.seed;
    if (split == Split::train) {
        loader.transform = mixing_transform(effective_mixing(settings), settings.seed, host_format(settings).dtype);
    } else if (settings.test_time_flip) {
        loader.transform = mirroring_transform();
    }
    return loader;
}

}  // namespace

InputData::InputData(const InputSettings& settings, Split split) : settings_(settings), split_(split) {
    const DType type = settings.compute_dtype;
    CNNTRAIN_CHECK(type == DType::f32 || type == DType::bf16 || type == DType::f16,
                   "images are f32, bf16 or f16 (or u8 by eight-bit IO)");
    CNNTRAIN_CHECK(settings.image_size > 0, "images have at least one pixel");
    const DatasetInfo& info = dataset_info(settings.dataset);
    if (settings.kind != DataKind::real) {
        samples_ = split == Split::train ? info.train_images : info.validation_images;
        return;
    }
    dataset_ = image_set(settings.dataset).open(settings, split, format_of_samples(settings, split));
    samples_ = dataset_->size();
}

std::vector<std::string> InputData::names() const {
    std::vector<std::string> names;
    for (std::int64_t i = 0; dataset_ && i < dataset_->size(); ++i) {
        names.push_back(dataset_->name(i));
        if (names.back().empty()) return {};
    }
    return names;
}

Origin InputData::origin() const {
    if (dataset_) return dataset_->origin();
    const std::string how = settings_.kind == DataKind::generated ? "generated " : "synthetic ";
    return {.samples = samples_, .recipe = how + std::string(dataset_info(settings_.dataset).name) + " images"};
}

std::vector<std::int64_t> InputData::class_sizes(std::int64_t classes) const {
    CNNTRAIN_CHECK(dataset_ != nullptr, "only real data have classes of some size");
    using Range = tbb::blocked_range<std::int64_t>;
    using Sizes = std::vector<std::int64_t>;
    tbb::enumerable_thread_specific<Workspace> workspaces;
    const auto count = [&](const Range& range, Sizes sizes) {
        Workspace& workspace = workspaces.local();
        for (std::int64_t index = range.begin(); index < range.end(); ++index) {
            const std::int32_t label = dataset_->label(index, workspace);
            CNNTRAIN_CHECK(label >= 0 && label < classes, "a label that is no class");
            ++sizes[static_cast<std::size_t>(label)];
        }
        return sizes;
    };
    const auto sum = [](Sizes one, const Sizes& other) {
        std::ranges::transform(one, other, one.begin(), std::plus<>());
        return one;
    };
    constexpr std::int64_t kGrain = 256;  // records that a thread reads one behind the other
    const Sizes none(static_cast<std::size_t>(classes), 0);
    tbb::task_arena arena(std::clamp(settings_.threads, 1, tbb::info::default_concurrency()));
    return arena.execute([&] { return tbb::parallel_reduce(Range(0, dataset_->size(), kGrain), none, count, sum); });
}

std::string InputData::describe(std::int64_t index) const {
    return dataset_ ? dataset_->describe(index) : "sample " + std::to_string(index);
}

std::vector<Field> InputData::fields(std::int64_t micro_batch) const {
    return batch_fields(settings_, split_, micro_batch);
}

std::unique_ptr<Stream> InputData::stream(LoaderSettings settings) const {
    settings = completed(settings, settings_, split_);
    if (!dataset_) return std::make_unique<ConstantStream>(settings_, samples_, settings);
    return std::make_unique<Loader>(dataset_, settings);
}

std::vector<Field> batch_fields(const InputSettings& settings, Split split, std::int64_t micro_batch) {
    return batch_fields(sample_fields(settings, split), completed({.micro_batch = micro_batch}, settings, split));
}

SampleCount count_samples(const InputSettings& settings, Split split) {
    return image_set(settings.dataset).count(settings, split);
}

RingSize ring_size(const InputSettings& settings, Split split, LoaderSettings loader) {
    return ring_size(sample_fields(settings, split), completed(std::move(loader), settings, split));
}

}  // namespace cnntrain::data
