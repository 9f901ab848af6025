// Photos with which a file that prepares them itself is compared.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::exports {

/// The pixels of image files, u8 [H,W,3] each. `names`: relative to the data folder of the settings. Files that cannot
/// be read are left out.
std::vector<HostTensor> read_photos(const FileSystem& files, const data::DataSettings& images,
                                    const std::vector<std::string>& names);

/// Made-up photos of several sizes and aspect ratios; of the network's size if its images are not resized.
std::vector<HostTensor> drawn_photos(const data::DataSettings& images, std::int64_t count);

}  // namespace cnntrain::exports
