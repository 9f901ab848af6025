// Times the input pipeline on ImageNet TFRecords or photos: reading alone, decoding alone, and whole streams with the
// share of each stage. Rates are by the processor time of all threads, which other processes hardly change.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/input.h"
#include "cnntrain/data/resolve.h"
#include "cnntrain/data/tfrecord.h"
#include "data/images/crop.h"
#include "data/images/jpeg.h"
#include "data/images/preprocess.h"
#include "data/records/example.h"
#include "run_tool.h"

namespace cnntrain {
namespace {

struct Options {
    std::string data_dir;
    bool photos = false;
    std::string split = "train";
    std::string dtype = "bf16";
    std::int64_t image_size = 224;
    std::int64_t batch = 32;
    int threads = 1;
    double seconds = 3;
    int rounds = 3;
    double cache_gb = 0;
};

struct Rate {
    double images_per_second = 0;
    double bytes_per_second = 0;
};

void print_rates(const char* name, std::vector<Rate> rates, const char* note) {
    std::sort(rates.begin(), rates.end(),
              [](const Rate& a, const Rate& b) { return a.images_per_second < b.images_per_second; });
    const Rate& median = rates[rates.size() / 2];
    std::printf("%-28s %9.1f images/s/core (%.1f to %.1f)", name, median.images_per_second,
                rates.front().images_per_second, rates.back().images_per_second);
    if (median.bytes_per_second > 0) std::printf(" %7.2f GB/s", median.bytes_per_second / 1e9);
    std::printf("  %s\n", note);
}

/// Runs `work(i)`, which returns bytes, for i = 0, 1, ... during the asked time, several rounds.
std::vector<Rate> time_rounds(const Options& options, const std::function<std::size_t(std::int64_t)>& work) {
    std::vector<Rate> rates;
    std::int64_t next = 0;
    for (int round = 0; round < options.rounds; ++round) {
        const double begin = processor_seconds();
        double seconds = 0;
        std::int64_t images = 0;
        double bytes = 0;
        while (seconds < options.seconds) {
            bytes += static_cast<double>(work(next++));
            ++images;
            seconds = processor_seconds() - begin;
        }
        rates.push_back({static_cast<double>(images) / seconds, bytes / seconds});
    }
    return rates;
}

/// One thread reads records at random and checks them.
void time_reading(const data::RecordFiles& records, const std::vector<std::uint32_t>& order, const Options& options) {
    std::vector<std::byte> buffer;
    const auto rates = time_rounds(options, [&](std::int64_t i) {
        return records.read(order[static_cast<std::size_t>(i) % order.size()], buffer).size();
    });
    print_rates("read and check", rates, "records in random order, crc32c of each");
}

/// One thread decodes images that are in memory: the limit that libjpeg-turbo sets.
void time_decoding(const data::RecordFiles& records, const std::vector<std::uint32_t>& order, const Options& options) {
    const std::size_t count = std::min<std::size_t>(order.size(), 500);
    std::vector<std::vector<std::byte>> images;
    std::vector<std::byte> buffer;
    data::ImageExample example;
    for (std::size_t i = 0; i < count; ++i) {
        data::parse_image_example(records.read(order[i], buffer), example);
        images.emplace_back(example.jpeg.begin(), example.jpeg.end());
    }
    data::JpegDecoder decoder;
    std::vector<std::uint8_t> pixels;
    const auto whole = time_rounds(options, [&](std::int64_t i) {
        const data::ImageSize size = decoder.open(images[static_cast<std::size_t>(i) % count]);
        decoder.decode({0, 0, size.height, size.width}, {data::DctMethod::fast}, pixels);
        return std::size_t{0};
    });
    print_rates("decode, whole images", whole, "libjpeg-turbo, nothing else");
    const auto crops = time_rounds(options, [&](std::int64_t i) {
        const data::ImageSize size = decoder.open(images[static_cast<std::size_t>(i) % count]);
        Rng rng(1, RngStream::crop, 0, static_cast<std::uint64_t>(i));
        const data::Rectangle crop = data::sample_crop(size, {}, rng);
        const int shrink = data::largest_shrink({crop.height, crop.width}, options.image_size);
        decoder.decode(crop, {data::DctMethod::fast, shrink}, pixels);
        return std::size_t{0};
    });
    print_rates("decode, training crops", crops, "only the crop, shrunk in the DCT: the limit of the pipeline below");
}

data::InputSettings data_settings(const Options& options) {
    data::InputSettings settings;
    settings.dataset = options.photos ? data::DatasetId::folder : data::DatasetId::imagenet;
    settings.data_dir = options.data_dir;
    settings.folder = data::find_data_folder(settings.dataset, options.data_dir);
    settings.image_size = options.image_size;
    settings.compute_dtype = options.dtype == "f32" ? DType::f32 : DType::bf16;
    settings.eight_bit_io = options.dtype == "u8";
    settings.threads = options.threads;
    settings.cache_gb = options.cache_gb;
    return settings;
}

void print_stage(const char* name, double seconds, const data::StreamStats& stats) {
    std::printf("  %-26s %9.3f ms/image %6.1f %%\n", name, 1e3 * seconds / static_cast<double>(stats.filled),
                100 * seconds / stats.work_seconds);
}

void print_stages(const data::StreamStats& stats) {
    print_stage("read and check", stats.stages.read, stats);
    print_stage("parse", stats.stages.parse, stats);
    print_stage("decode", stats.stages.decode, stats);
    print_stage("resize and store", stats.stages.resize, stats);
    if (stats.stages.augment > 0) print_stage("augment", stats.stages.augment, stats);
    std::printf("  memory: ring %.1f MB, workers %.1f MB, index and order %.1f MB, shared cache %.1f MB\n",
                static_cast<double>(stats.ring_bytes) / 1e6, static_cast<double>(stats.worker_bytes) / 1e6,
                static_cast<double>(stats.dataset_bytes) / 1e6, static_cast<double>(stats.cache_bytes) / 1e6);
}

void time_stream(const data::InputSettings& settings, data::Split split, const Options& options) {
    const data::InputData input(settings, split);
    const std::unique_ptr<data::Stream> stream =
        input.stream({.micro_batch = options.batch, .threads = options.threads});
    std::vector<Rate> rates;
    for (int round = 0; round < options.rounds; ++round) {
        for (int i = 0; i < 6; ++i)
            stream->next();  // the workers' buffers grow, and batches are there that were prepared ahead
        const std::int64_t before = stream->stats().filled;
        const double begin = processor_seconds();
        double seconds = 0;
        while (seconds < options.seconds * options.threads) {
            stream->next();
            seconds = processor_seconds() - begin;
        }
        rates.push_back({static_cast<double>(stream->stats().filled - before) / seconds, 0});
    }
    const std::string note = "whole pipeline, " + std::to_string(options.threads) + " threads, " + options.dtype;
    print_rates("stream", rates, note.c_str());
    print_stages(stream->stats());
}

int run(const Options& options) {
    const data::InputSettings settings = data_settings(options);
    const data::Split split = options.split == "train" ? data::Split::train : data::Split::validation;
    if (!options.photos) {
        const data::RecordFiles records(data::split_files(settings.dataset, settings.folder, split));
        const auto order = shuffled_order(1, 0, static_cast<std::uint32_t>(records.size()));
        std::printf("%lld records in %zu files of %s\n", static_cast<long long>(records.size()), records.paths().size(),
                    settings.folder.c_str());
        time_reading(records, order, options);
        time_decoding(records, order, options);
    }
    time_stream(settings, split, options);
    return 0;
}

}  // namespace
}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::Options options;
    CLI::App app{"Times the input pipeline on ImageNet TFRecords or photos, per core and by stage."};
    app.option_defaults()->always_capture_default();
    app.add_option("--data-dir", options.data_dir, "folder with TFRecord files, or class folders")->required();
    app.add_flag("--photos", options.photos, "the folder has class folders of photos");
    app.add_option("--split", options.split, "train or validation")->check(CLI::IsMember({"train", "validation"}));
    app.add_option("--dtype", options.dtype, "pixels: bf16, f32 or u8")->check(CLI::IsMember({"bf16", "f32", "u8"}));
    app.add_option("--image-size", options.image_size, "side of the images delivered")->check(CLI::PositiveNumber);
    app.add_option("--batch", options.batch, "images of a batch")->check(CLI::PositiveNumber);
    app.add_option("--threads", options.threads, "loader threads")->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "length of a round")->check(CLI::PositiveNumber);
    app.add_option("--rounds", options.rounds, "rounds of median and range")->check(CLI::PositiveNumber);
    app.add_option("--cache-gb", options.cache_gb, "memory for encoded records");
    return cnntrain::run_tool(app, argc, argv, [&] { return cnntrain::run(options); });
}
