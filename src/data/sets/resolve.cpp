#include "cnntrain/data/sets.h"

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/sets/cifar.h"
#include "data/sets/class_folders.h"
#include "data/sets/encoded_images.h"
#include "data/sets/imagenet.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

bool holds_any(DatasetId dataset, const fs::path& folder) {
    const ImageSet& set = image_set(dataset);
    return set.holds(dataset, folder.string(), Split::train) || set.holds(dataset, folder.string(), Split::validation);
}

/// The folders in a folder, and links to folders, sorted. The listing says which entries are files, so that no file
/// needs a system call of its own.
std::vector<fs::path> folders_in(const fs::path& folder) {
    std::vector<fs::path> folders;
    std::error_code failed;
    std::error_code ignored;  // unreadable folders are skipped
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
        if (it->is_directory(failed)) folders.push_back(it->path());
    }
    std::sort(folders.begin(), folders.end());
    return folders;
}

/// A folder's identity: the same for every path and link to it; none if it cannot be read.
std::optional<std::pair<dev_t, ino_t>> identity(const fs::path& folder) {
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0) return std::nullopt;
    return std::pair(status.st_dev, status.st_ino);
}

/// Searches breadth first, in sorted order, following links; visits each folder once, so that loops of links end.
/// Throws Error(data) if there are so many folders that `top` must be a mistake, such as the root folder.
std::optional<fs::path> search_below(DatasetId dataset, const fs::path& top) {
    constexpr std::size_t kMostFolders = 5'000;
    const std::string_view wanted = dataset_info(dataset).folder;
    if (wanted.empty()) return std::nullopt;
    std::set<std::pair<dev_t, ino_t>> visited;
    std::deque<fs::path> waiting = {top};
    while (!waiting.empty()) {
        const fs::path folder = waiting.front();
        waiting.pop_front();
        const auto id = identity(folder);
        if (!id || !visited.insert(*id).second) continue;
        if (visited.size() > kMostFolders) {
            throw Error(ErrorKind::data, std::string(dataset_info(dataset).name) + ": no folder named " +
                                             std::string(wanted) + " among the first " + std::to_string(kMostFolders) +
                                             " below " + top.string() + "; give --data-dir a folder nearer to it");
        }
        if (folder.filename() == wanted && holds_any(dataset, folder)) return folder;
        std::ranges::copy(folders_in(folder), std::back_inserter(waiting));
    }
    return std::nullopt;
}

/// A hint if the folder holds another data set; "" otherwise.
std::string looks_like(DatasetId wanted, const fs::path& folder) {
    for (const DatasetInfo& info : kDatasets) {
        if (info.id != wanted && holds_any(info.id, folder))
            return "; the folder looks like --dataset " + std::string(info.name);
    }
    return "";
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code ignored;  // unreadable folders are skipped
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
        names.push_back(it->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string find_data_folder(DatasetId dataset, const std::string& data_dir) {
    const DatasetInfo& info = dataset_info(dataset);
    if (data_dir.empty()) {
        throw Error(ErrorKind::usage, "no data folder for " + std::string(info.name) +
                                          ": give --data-dir or set the environment variable DATA_DIR");
    }
    const std::string below =
        info.folder.empty() ? "" : " and in a folder named " + std::string(info.folder) + " below it";
    const std::string looked_for =
        "looked for " + std::string(image_set(dataset).first_training_file) + " in it" + below;
    std::error_code failed;
    if (fs::is_regular_file(data_dir, failed) && holds_any(dataset, data_dir))
        return fs::absolute(data_dir).lexically_normal().string();
    if (!fs::is_directory(data_dir, failed)) {
        throw Error(ErrorKind::data, std::string(info.name) + ": data folder " + data_dir +
                                         (fs::exists(data_dir, failed) ? " is not a folder; " : " does not exist; ") +
                                         looked_for + "; give --data-dir the folder where the data are");
    }
    const fs::path top = fs::absolute(data_dir).lexically_normal();
    const std::optional<fs::path> found = holds_any(dataset, top) ? top : search_below(dataset, top);
    if (!found) {
        throw Error(ErrorKind::data, std::string(info.name) + ": no data in folder " + data_dir + "; " + looked_for +
                                         looks_like(dataset, top));
    }
    std::string path = found->string();
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

std::vector<std::string> split_files(DatasetId dataset, const std::string& folder, Split split) {
    return image_set(dataset).files({{.dataset = dataset}, folder}, split);
}

std::int64_t class_count(const DataSettings& settings) {
    const DatasetInfo& info = dataset_info(settings.dataset);
    const std::int64_t named = std::ssize(class_names(settings));
    // Records without a list of classes have as many as the user says.
    const bool is_open = info.format == ImageFormat::records || settings.kind != DataKind::real;
    if (named == 0 && is_open && settings.classes) return *settings.classes;
    const std::int64_t found = named > 0 ? named : info.classes;
    if (settings.classes && *settings.classes != found) {
        throw Error(ErrorKind::usage, "--num-classes " + std::to_string(*settings.classes) + ": " +
                                          (settings.data_dir.empty() ? std::string(info.name) : settings.data_dir) +
                                          " has " + std::to_string(found) + " classes");
    }
    return found;
}

std::vector<std::string> class_names(const DataSettings& settings) {
    const auto names = image_set(settings.dataset).classes;
    if (names == nullptr || settings.kind != DataKind::real) return {};
    InputSettings input{settings};
    try {
        input.folder = find_data_folder(settings.dataset, settings.data_dir);
    } catch (const Error&) {
        const bool published = dataset_info(settings.dataset).classes > 0;
        if (published) return {};  // there may be photos to classify; who needs the data reports that they are missing
        throw;
    }
    return names(input);
}

const ImageSet& image_set(DatasetId id) {
    static const std::array<const ImageSet*, kDatasets.size()> table = {&kImagenetSet, &kCifar100Set, &kCifar10Set,
                                                                        &kClassFoldersSet};
    return **std::ranges::find(table, id, &ImageSet::id);
}

nn::Normalisation normalisation(std::span<const double> mean, std::span<const double> deviation) {
    CNNTRAIN_CHECK(mean.size() == 3 && deviation.size() == 3, "constants for three channels");
    nn::Normalisation result{};
    for (std::size_t c = 0; c < 3; ++c) {
        result.scale[c] = static_cast<float>(1.0 / (255.0 * deviation[c]));
        result.shift[c] = static_cast<float>(-mean[c] / deviation[c]);
    }
    return result;
}

nn::Normalisation imagenet_normalisation(bool normalise_input) {
    if (!normalise_input) return {{1.0f, 1.0f, 1.0f}, {-123.68f, -116.78f, -103.94f}};
    constexpr std::array<double, 3> kMean = {0.485, 0.456, 0.406};
    constexpr std::array<double, 3> kDeviation = {0.229, 0.224, 0.225};
    return normalisation(kMean, kDeviation);
}

nn::Normalisation channel_normalisation(const DataSettings& settings) {
    const PreparationSettings& preparation = settings.preparation;
    if (preparation.normalise_mean.empty()) return imagenet_normalisation(settings.normalise_input);
    return normalisation(preparation.normalise_mean, preparation.normalise_std);
}

std::array<float, 3> mean_pixel(const DataSettings& settings) {
    const nn::Normalisation how = channel_normalisation(settings);
    std::array<float, 3> mean{};
    for (std::size_t c = 0; c < mean.size(); ++c)
        mean[c] = -how.shift[c] / how.scale[c];
    return mean;
}

std::int64_t used_share(std::int64_t records, std::int64_t percent) {
    constexpr std::int64_t kPercent = 100;
    return checked_product(records, percent, "the number of records") / kPercent;
}

PixelFormat host_format(const InputSettings& settings) {
    const bool by_channel = dataset_info(settings.dataset).normalised_by_channel;
    if (settings.eight_bit_io && (by_channel || settings.kind != DataKind::real)) return {DType::u8, std::nullopt};
    if (by_channel && settings.hostside_norm) return {settings.compute_dtype, channel_normalisation(settings)};
    return {settings.compute_dtype, std::nullopt};
}

nn::MixingSettings effective_mixing(const DataSettings& settings) {
    return settings.kind == DataKind::real ? settings.mixing : nn::MixingSettings{};
}

std::optional<nn::Normalisation> device_normalisation(const DataSettings& settings) {
    const bool on_host = settings.hostside_norm && !settings.eight_bit_io;
    if (!dataset_info(settings.dataset).normalised_by_channel || on_host) return std::nullopt;
    return channel_normalisation(settings);
}

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

std::size_t total_bytes(const std::vector<Field>& fields) {
    std::size_t bytes = 0;
    for (const Field& field : fields)
        bytes += field.desc.bytes();
    return bytes;
}

std::size_t field_number(const std::vector<Field>& fields, std::string_view name) {
    std::string names;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name == name) return i;
        names += (names.empty() ? "" : ", ") + fields[i].name;
    }
    throw Error(ErrorKind::internal, "no field is called " + std::string(name) + "; there are: " + names);
}

const TensorDesc& field_desc(const std::vector<Field>& fields, std::string_view name) {
    return fields[field_number(fields, name)].desc;
}

std::int32_t Dataset::label(std::int64_t /*index*/, Workspace& /*workspace*/) const {
    return kNoLabel;
}

std::vector<Field> image_fields(const TensorDesc& image) {
    return {{std::string(kImages), image}, {std::string(kLabels), {DType::i32, {}}}};
}

void store_label(std::int32_t label, SampleView out) {
    std::memcpy(out[1].data(), &label, sizeof label);
}

void store_nothing(std::int32_t label, SampleView out) {
    std::memset(image_of(out).data(), 0, image_of(out).size());
    store_label(label, out);
}

}  // namespace cnntrain::data
