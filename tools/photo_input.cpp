// Writes the input that evaluation makes of each photo: float32 [height][width][R, G, B], in the order of the photos.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cnntrain/data/image_folder.h"
#include "cnntrain/data/loader.h"
#include "run_tool.h"

namespace cnntrain {

namespace {

struct Options {
    std::vector<std::string> photos;
    data::DataSettings data{.dataset = data::DatasetId::folder, .strict = true, .normalise_input = true};
};

template <std::size_t count> CLI::Validator among(const std::array<std::string_view, count>& names) {
    return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

template <typename E, std::size_t count>
E named(const std::array<std::string_view, count>& names, const std::string& name) {
    return static_cast<E>(std::ranges::find(names, name) - names.begin());
}

int run(const Options& options) {
    const data::PixelFormat format{DType::f32, data::channel_normalisation(options.data)};
    for (const std::string& photo : options.photos) {
        const auto image = std::make_shared<data::ImageFolder>(photo, options.data, format);
        data::Loader loader(image, {.feed = data::Feed::sweeps});
        const data::Batch batch = loader.next();
        const std::span<const std::byte> pixels = batch.fields.front();
        if (std::fwrite(pixels.data(), 1, pixels.size(), stdout) != pixels.size())
            throw Error(ErrorKind::data, "cannot write the pixels of " + photo);
    }
    return 0;
}

}  // namespace

}  // namespace cnntrain

int main(int argc, char** argv) {
    using namespace cnntrain;
    Options options;
    std::string mode(data::kResizeModeNames[0]);
    std::string interpolation(data::kInterpolationNames[0]);
    data::PreparationSettings& preparation = options.data.preparation;
    CLI::App app("The network's input of photos, as evaluation prepares it, on standard output.");
    app.add_option("photos", options.photos)->required();
    app.add_option("--image-size", options.data.image_size);
    app.add_option("--crop-fraction", preparation.crop_fraction);
    app.add_option("--resize-mode", mode)->check(among(data::kResizeModeNames));
    app.add_option("--interpolation", interpolation)->check(among(data::kInterpolationNames));
    app.add_option("--normalise-mean", preparation.normalise_mean)->expected(3);
    app.add_option("--normalise-std", preparation.normalise_std)->expected(3);
    return run_tool(app, argc, argv, [&] {
        preparation.resize_mode = named<data::ResizeMode>(data::kResizeModeNames, mode);
        preparation.interpolation = named<data::Interpolation>(data::kInterpolationNames, interpolation);
        return run(options);
    });
}
