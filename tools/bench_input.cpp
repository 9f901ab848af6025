// Times the input pipeline on ImageNet TFRecords, or on photos in class folders: whole streams with the share of each
// stage. Rates are by the processor time of all threads, which other processes hardly change.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cnntrain/data/input.h"
#include "cnntrain/data/resolve.h"
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

/// Images/s of a core in each round.
std::vector<double> rates_of(data::Stream& stream, const Options& options) {
    std::vector<double> rates;
    for (int round = 0; round < options.rounds; ++round) {
        for (int i = 0; i < 6; ++i)
            stream.next();  // the workers' buffers grow, and batches are there that were prepared ahead
        const std::int64_t before = stream.stats().filled;
        const double begin = processor_seconds();
        double seconds = 0;
        while (seconds < options.seconds * options.threads) {
            stream.next();
            seconds = processor_seconds() - begin;
        }
        rates.push_back(static_cast<double>(stream.stats().filled - before) / seconds);
    }
    return rates;
}

int run(const Options& options) {
    const data::InputData input(data_settings(options),
                                options.split == "train" ? data::Split::train : data::Split::validation);
    const auto stream = input.stream({.micro_batch = options.batch, .threads = options.threads});
    const std::vector<double> rates = rates_of(*stream, options);
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    std::printf("stream %.1f images/s/core (%.1f to %.1f), %d threads, %s\n", median(rates), *least, *most,
                options.threads, options.dtype.c_str());
    const data::StreamStats stats = stream->stats();
    const auto print_stage = [&](const char* name, double seconds) {
        std::printf("  %-18s %9.3f ms/image %6.1f %%\n", name, 1e3 * seconds / static_cast<double>(stats.filled),
                    100 * seconds / stats.work_seconds);
    };
    print_stage("read and check", stats.stages.read);
    print_stage("parse", stats.stages.parse);
    print_stage("decode", stats.stages.decode);
    print_stage("resize and store", stats.stages.resize);
    print_stage("augment", stats.stages.augment);
    std::printf("  memory: ring %.1f MB, workers %.1f MB, index and order %.1f MB, shared cache %.1f MB\n",
                static_cast<double>(stats.ring_bytes) / 1e6, static_cast<double>(stats.worker_bytes) / 1e6,
                static_cast<double>(stats.dataset_bytes) / 1e6, static_cast<double>(stats.cache_bytes) / 1e6);
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
    app.add_option("--rounds", options.rounds, "rounds, of which median and range are printed");
    app.add_option("--cache-gb", options.cache_gb, "memory for encoded records");
    return cnntrain::run_tool(app, argc, argv, [&] { return cnntrain::run(options); });
}
