#include "cnntrain/data/origin.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/text.h"

namespace cnntrain::data {

std::vector<std::string> names_below_common_folder(const std::vector<std::string>& paths) {
    namespace fs = std::filesystem;
    std::vector<fs::path> whole;
    for (const std::string& path : paths)
        whole.push_back(fs::absolute(path).lexically_normal());
    fs::path common = whole.empty() ? fs::path() : whole.front().parent_path();
    for (const fs::path& path : whole) {
        const fs::path folder = path.parent_path();
        const auto [end, other] = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end());
        fs::path shared;
        for (auto part = common.begin(); part != end; ++part)
            shared /= *part;
        common = shared;
    }
    std::vector<std::string> names;
    for (const fs::path& path : whole)
        names.push_back(path.lexically_relative(common).string());
    return names;
}

OriginPart part_of_file(const FileSystem& files, const std::string& path, std::int64_t samples) {
    const std::unique_ptr<InputFile> file = files.open(path);
    std::vector<std::byte> bytes(file->size_bytes());
    file->read_at(0, bytes);
    return {std::string(last_part(path)), bytes.size(), samples, crc32c(bytes)};
}

}  // namespace cnntrain::data
