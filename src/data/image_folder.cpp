#include "cnntrain/data/image_folder.h"

#include <algorithm>
#include <filesystem>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/imagenet.h"
#include "data/jpeg_files.h"

namespace cnntrain::data {

ImageFolder::ImageFolder(const std::string& folder, std::int64_t image_size, const PixelFormat& format)
    : folder_(folder), names_(list_jpeg_files(folder)), image_size_(image_size), format_(format) {}

TensorDesc ImageFolder::image_desc() const {
    return {format_.dtype, {image_size_, image_size_, 3}};
}

std::int32_t ImageFolder::read(std::int64_t index, SamplePosition, std::span<std::byte> image,
                               Workspace& workspace) const {
    const std::string path = (std::filesystem::path(folder_) / names_[static_cast<std::size_t>(index)]).string();
    const std::unique_ptr<InputFile> file = posix_files().open(path);
    workspace.record.resize(file->size_bytes());
    file->read_at(0, workspace.record);
    try {
        preprocess_for_evaluation(workspace.record, image_size_, format_, image, workspace);
    } catch (const Error& error) {
        throw error.within(path);
    }
    return -1;
}

std::vector<std::string> list_jpeg_files(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) throw Error(ErrorKind::data, "image folder " + folder + " does not exist");
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        std::string extension = entry.path().extension().string();
        std::transform(extension.begin(), extension.end(), extension.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        const bool jpeg = extension == ".jpg" || extension == ".jpeg";
        if (jpeg && entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder).string());
    }
    if (names.empty()) throw Error(ErrorKind::data, "no .jpg or .jpeg file in or below " + folder);
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace cnntrain::data
