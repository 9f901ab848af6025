#include "data/sets/image_sets.h"

#include <algorithm>
#include <array>

#include "data/sets/cifar.h"
#include "data/sets/class_folders.h"
#include "data/sets/imagenet.h"

namespace cnntrain::data {

const ImageSet& image_set(DatasetId id) {
    static const std::array<const ImageSet*, kDatasets.size()> table = {&kImagenetSet, &kCifar100Set, &kCifar10Set,
                                                                        &kClassFoldersSet};
    return **std::ranges::find(table, id, &ImageSet::id);
}

}  // namespace cnntrain::data
