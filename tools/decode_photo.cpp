// Writes a decoded photo, upright and before it is cropped and resized, to standard output as a PPM file.
#include <string>

#include "cnntrain/base/io.h"
#include "data/images/image_file.h"
#include "run_tool.h"

int main(int argc, char** argv) {
    using namespace cnntrain;
    std::string photo;
    CLI::App app("The decoded photo as a PPM file.");
    app.add_option("PHOTO", photo, "JPEG, PNG, WebP, BMP, GIF, TIFF, HEIC or AVIF")->required();
    return run_tool(app, argc, argv, [&] {
        const std::string bytes = read_text(posix_files(), photo);
        data::Workspace workspace;
        const data::ImageFile image(std::as_bytes(std::span(bytes)), data::Exif::applied, workspace);
        const data::ImageSize size = image.size();
        const data::PixelView view = image.decode({0, 0, size.height, size.width}, {data::DctMethod::accurate});
        std::printf("P6\n%lld %lld\n255\n", static_cast<long long>(size.width), static_cast<long long>(size.height));
        for (std::int64_t row = 0; row < size.height; ++row)
            std::fwrite(view.pixels + row * view.row_bytes, 3, static_cast<std::size_t>(size.width), stdout);
        return std::fflush(stdout) == 0 ? 0 : exit_code(ErrorKind::data);
    });
}
