#include "cnntrain/train/vocabulary.h"

#include <algorithm>
#include <optional>

#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/class_names.h"
#include "cnntrain/checkpoint/file.h"
#include "cnntrain/checkpoint/foreign.h"
#include "train/runs/resume.h"
#include "train/runs/same_data.h"

namespace cnntrain::train {
namespace {

/// Text classification alone has classes and reads a file without samples.
std::optional<data::OriginPart> recorded_vocabulary(const FileSystem& files, const std::string& checkpoint) {
    if (checkpoint::foreign_format(files, checkpoint)) return std::nullopt;
    const checkpoint::CheckpointFile file(files, checkpoint, checkpoint::Edited::ignored);
    const auto data = file.metadata().find(kDataKey);
    if (data == file.metadata().end() || !file.metadata().contains(checkpoint::kClassesKey)) return std::nullopt;
    const DataOrigin origin = origin_of(data->second);
    if (!origin.training) return std::nullopt;
    const auto found = std::ranges::find(origin.training->parts, 0, &data::OriginPart::samples);
    return found == origin.training->parts.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

bool is_vocabulary_of(const FileSystem& files, const std::string& checkpoint, const std::string& vocabulary) {
    const std::optional<data::OriginPart> recorded = recorded_vocabulary(files, checkpoint);
    if (!recorded) return false;
    const data::OriginPart found = data::part_of_file(files, vocabulary, 0);
    if (found.bytes == recorded->bytes && found.checksum == recorded->checksum) return true;
    throw Error(ErrorKind::data, vocabulary + " is not the vocabulary with which " + checkpoint + " was trained (" +
                                     other_part(*recorded, found) +
                                     "); the network knows no other numbers of words; give that file with "
                                     "--vocab-file");
}

}  // namespace cnntrain::train
