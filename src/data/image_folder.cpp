#include "cnntrain/data/image_folder.h"

#include <filesystem>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/imagenet.h"
#include "data/raw_files.h"

namespace cnntrain::data {

ImageFolder::ImageFolder(const std::string& folder, std::int64_t image_size, const PixelFormat& format)
    : folder_(folder), names_(list_files(folder, {".jpg", ".jpeg"})), image_size_(image_size), format_(format) {
    if (names_.empty()) throw Error(ErrorKind::data, "no .jpg or .jpeg file in or below " + folder);
}

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

}  // namespace cnntrain::data
