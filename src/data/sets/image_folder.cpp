#include "cnntrain/data/image_folder.h"

#include <filesystem>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/image_fields.h"
#include "data/images/preprocess.h"
#include "data/sets/damage_log.h"
#include "data/sets/image_sample.h"
#include "data/sets/raw_files.h"

namespace cnntrain::data {

ImageFolder::ImageFolder(const std::string& folder, std::int64_t image_size, const PixelFormat& format, bool strict)
    : folder_(folder),
      image_size_(image_size),
      format_(format),
      strict_(strict),
      damage_(std::make_unique<DamageLog>()) {
    ListedFiles listed = list_files(folder, {".jpg", ".jpeg"});
    names_ = std::move(listed.names);
    left_out_ = left_out_text(listed);
    if (names_.empty()) {
        throw Error(ErrorKind::data, "no .jpg or .jpeg file in or below " + folder +
                                         (left_out_.empty() ? "" : "; other files there: " + left_out_));
    }
}

ImageFolder::~ImageFolder() = default;

std::int64_t ImageFolder::damaged() const {
    return damage_->count();
}

std::vector<Field> ImageFolder::fields() const {
    return image_fields({format_.dtype, {image_size_, image_size_, 3}});
}

void ImageFolder::pad(SampleView out) const {
    store_nothing(kNoLabel, out);
}

SampleState ImageFolder::read(std::int64_t index, SamplePosition, SampleView out, Workspace& workspace) const {
    const std::string path = (std::filesystem::path(folder_) / names_[static_cast<std::size_t>(index)]).string();
    const std::unique_ptr<InputFile> file = posix_files().open(path);
    workspace.record.resize(file->size_bytes());
    file->read_at(0, workspace.record);
    try {
        preprocess_for_evaluation(workspace.record, image_size_, format_, image_of(out), workspace);
        store_label(kNoLabel, out);
        return SampleState::counted;
    } catch (const Error& bad) {
        const Error error = bad.within(path);
        if (bad.kind() != ErrorKind::data || strict_) throw error;
        damage_->add(path, error.what(), "it is left out");
        store_nothing(kLeftOut, out);
        return SampleState::undecodable;
    }
}

}  // namespace cnntrain::data
