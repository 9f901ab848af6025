// Decodes the file of an image to a PPM file, as training and inference see it before they crop and resize.
#include <cstddef>
#include <span>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"
#include "data/images/image_file.h"
#include "run_tool.h"

namespace cnntrain {

namespace {

struct Options {
    std::string file;
    std::string output;
    bool as_stored = false;
};

int run(const Options& options) {
    const std::string bytes = read_text(posix_files(), options.file);
    data::Workspace workspace;
    const data::ImageFile image(std::as_bytes(std::span(bytes)),
                                options.as_stored ? data::Exif::ignored : data::Exif::applied, workspace);
    const data::ImageSize size = image.size();
    const data::PixelView view = image.decode({0, 0, size.height, size.width}, {data::DctMethod::accurate});
    std::string ppm = "P6\n" + std::to_string(size.width) + " " + std::to_string(size.height) + "\n255\n";
    for (std::int64_t row = 0; row < size.height; ++row) {
        ppm.append(reinterpret_cast<const char*>(view.pixels + row * view.row_bytes),
                   static_cast<std::size_t>(size.width) * 3);
    }
    write_text(posix_files(), options.output, ppm);
    return 0;
}

}  // namespace

}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::Options options;
    CLI::App app{"Decodes the file of an image to a PPM file, upright."};
    app.add_option("file", options.file, "JPEG, PNG, WebP, BMP, GIF or TIFF")->required();
    app.add_option("output", options.output, "PPM file to write")->required();
    app.add_flag("--as-stored", options.as_stored, "ignore the orientation in the file's Exif data");
    return cnntrain::run_tool(app, argc, argv, [&] { return cnntrain::run(options); });
}
