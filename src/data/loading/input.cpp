#include "cnntrain/data/input.h"

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/resolve.h"
#include "data/loading/constant_stream.h"
#include "data/records/record_index.h"
#include "data/sets/cifar.h"
#include "data/sets/imagenet.h"

namespace cnntrain::data {
namespace {

/// Images are mixed before they are converted to the type that travels.
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

/// What the data and the split say about their stream.
LoaderSettings completed(LoaderSettings loader, const InputSettings& settings, Split split) {
    loader.feed = split == Split::train ? Feed::training : Feed::passes;
    loader.seed = settings.seed;
    loader.mixing = effective_mixing(settings);
    loader.host_mixed_type = host_format(settings).dtype;
    return loader;
}

std::string index_name(Split split) {
    return split == Split::train ? "train.cnntrain-index" : "validation.cnntrain-index";
}

std::shared_ptr<const Dataset> open_imagenet(const InputSettings& settings, Split split, bool augment) {
    ImagenetSettings how;
    how.image_size = settings.image_size;
    how.format = format_of_samples(settings, split);
    how.augment = augment;
    if (split == Split::train) how.percentage_to_use = settings.percentage_to_use;
    how.seed = settings.seed;
    how.on_bad_image = settings.strict         ? OnBadImage::stop
                       : split == Split::train ? OnBadImage::replace
                                               : OnBadImage::leave_out;
    how.records.threads = settings.threads;
    how.records.index_name = index_name(split);
    how.records.cache_bytes = static_cast<std::int64_t>(settings.cache_gb * 1e9);
    auto dataset = std::make_shared<Imagenet>(split_files(settings.dataset, settings.folder, split), how);
    if (how.percentage_to_use < 100) {
        log::debug("using the first " + std::to_string(dataset->size()) + " training images of " + settings.folder);
    }
    return dataset;
}

std::shared_ptr<const Dataset> open_cifar(const InputSettings& settings, Split split, bool augment) {
    return std::make_shared<Cifar>(settings.dataset, split_files(settings.dataset, settings.folder, split),
                                   CifarSettings{augment, format_of_samples(settings, split).dtype, settings.seed});
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
    const bool augment = split == Split::train && !settings.train_with_valid_preprocessing;
    dataset_ = settings.dataset == DatasetId::imagenet ? open_imagenet(settings, split, augment)
                                                       : open_cifar(settings, split, augment);
    samples_ = dataset_->size();
}

std::vector<Field> InputData::fields(std::int64_t micro_batch) const {
    return batch_fields(sample_fields(settings_, split_), completed({.micro_batch = micro_batch}, settings_, split_));
}

std::unique_ptr<Stream> InputData::stream(LoaderSettings settings) const {
    settings = completed(settings, settings_, split_);
    if (!dataset_) return std::make_unique<ConstantStream>(settings_, samples_, settings);
    return std::make_unique<Loader>(dataset_, settings);
}

SampleCount count_samples(const InputSettings& settings, Split split) {
    constexpr double kPatienceSeconds = 0.5;
    const std::vector<std::string> paths = split_files(settings.dataset, settings.folder, split);
    if (settings.dataset == DatasetId::imagenet) {
        const RecordCount count = count_records(paths, index_name(split), posix_files(), kPatienceSeconds);
        return {split == Split::train ? used_share(count.records, settings.percentage_to_use) : count.records,
                count.exact};
    }
    const CifarLayout layout =
        cifar_layout(settings.dataset == DatasetId::cifar100 ? FileFormat::cifar100 : FileFormat::cifar10);
    SampleCount count;
    for (const std::string& path : paths)
        count.samples += static_cast<std::int64_t>(posix_files().open(path)->size_bytes() / layout.record_bytes);
    return count;
}

RingSize ring_size(const InputSettings& settings, Split split, LoaderSettings loader) {
    return ring_size(sample_fields(settings, split), completed(loader, settings, split));
}

}  // namespace cnntrain::data
