// Writes what evaluation makes of each photo to standard output: the network's input, float32 [height][width][R, G, B],
// or, with --decoded, the upright image before it is cropped and resized, as a PPM file.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/image_folder.h"
#include "cnntrain/data/loader.h"
#include "data/images/image_file.h"
#include "run_tool.h"

namespace cnntrain {
namespace {

template <std::size_t count> CLI::Validator among(const std::array<std::string_view, count>& names) {
    return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

template <typename E, std::size_t count>
E named(const std::array<std::string_view, count>& names, const std::string& name) {
    return static_cast<E>(std::ranges::find(names, name) - names.begin());
}

void print(const void* bytes, std::size_t count) {
    if (std::fwrite(bytes, 1, count, stdout) != count) throw Error(ErrorKind::data, "cannot write to standard output");
}

void print_decoded(const std::string& photo) {
    const std::string bytes = read_text(posix_files(), photo);
    data::Workspace workspace;
    const data::ImageFile image(std::as_bytes(std::span(bytes)), data::Exif::applied, workspace);
    const data::ImageSize size = image.size();
    const data::PixelView view = image.decode({0, 0, size.height, size.width}, {data::DctMethod::accurate});
    std::printf("P6\n%lld %lld\n255\n", static_cast<long long>(size.width), static_cast<long long>(size.height));
    for (std::int64_t row = 0; row < size.height; ++row)
        print(view.pixels + row * view.row_bytes, static_cast<std::size_t>(size.width) * 3);
}

void print_input(const std::string& photo, const data::DataSettings& settings) {
    const data::PixelFormat format{DType::f32, data::channel_normalisation(settings)};
    const std::vector<std::string> photos = {photo};
    data::Loader loader(std::make_shared<data::ImageFolder>(photos, settings, format), {.feed = data::Feed::sweeps});
    const data::Batch batch = loader.next();
    print(batch.fields.front().data(), batch.fields.front().size());
}

}  // namespace
}  // namespace cnntrain

int main(int argc, char** argv) {
    using namespace cnntrain;
    std::vector<std::string> photos;
    bool decoded = false;
    data::DataSettings settings{.dataset = data::DatasetId::folder, .strict = true, .normalise_input = true};
    std::string mode(data::kResizeModeNames[0]);
    std::string interpolation(data::kInterpolationNames[0]);
    data::PreparationSettings& preparation = settings.preparation;
    CLI::App app("The network's input of photos, as evaluation prepares it, or the decoded photos.");
    app.add_option("photos", photos, "JPEG, PNG, WebP, BMP, GIF or TIFF")->required();
    app.add_flag("--decoded", decoded, "PPM files of the decoded photos, upright");
    app.add_option("--image-size", settings.image_size);
    app.add_option("--crop-fraction", preparation.crop_fraction);
    app.add_option("--resize-mode", mode)->check(among(data::kResizeModeNames));
    app.add_option("--interpolation", interpolation)->check(among(data::kInterpolationNames));
    app.add_option("--normalise-mean", preparation.normalise_mean)->expected(3);
    app.add_option("--normalise-std", preparation.normalise_std)->expected(3);
    return run_tool(app, argc, argv, [&] {
        preparation.resize_mode = named<data::ResizeMode>(data::kResizeModeNames, mode);
        preparation.interpolation = named<data::Interpolation>(data::kInterpolationNames, interpolation);
        for (const std::string& photo : photos)
            decoded ? print_decoded(photo) : print_input(photo, settings);
        return 0;
    });
}
