#include "data/sets/resolve.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/data/settings.h"
#include "data/images/image_file.h"
#include "data/sets/cifar.h"
#include "data/sets/encoded_images.h"
#include "data/sets/photo_set.h"

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
    return without_trailing_slashes(found->string());
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

std::int64_t label_count(const DataSettings& settings) {
    if (!settings.labels.several()) return 0;
    return settings.known_classes.empty() ? class_count(settings) : std::ssize(settings.known_classes);
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
    for (std::size_t c = 0; c < mean.size(); ++c) {
        mean[c] = -how.shift[c] / how.scale[c];
        // A mean of 0.5 is the level 127.5, which the division may miss. It is rounded later.
        const float half = std::round(2 * mean[c]) / 2;
        if (std::abs(mean[c] - half) < 1e-4F) mean[c] = half;
    }
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

std::filesystem::path common_folder(std::span<const std::filesystem::path> paths) {
    std::filesystem::path common = paths.empty() ? std::filesystem::path() : paths.front().parent_path();
    for (const std::filesystem::path& path : paths) {
        const std::filesystem::path folder = path.parent_path();
        const auto [end, other] = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end());
        std::filesystem::path shared;
        for (auto part = common.begin(); part != end; ++part)
            shared /= *part;
        common = shared;
    }
    return common;
}

std::vector<std::string> names_below_common_folder(const std::vector<std::string>& paths) {
    std::vector<fs::path> whole;
    for (const std::string& path : paths)
        whole.push_back(fs::absolute(path).lexically_normal());
    const fs::path common = common_folder(whole);
    std::vector<std::string> names;
    for (const fs::path& path : whole)
        names.push_back(path.lexically_relative(common).string());
    return names;
}

OriginPart part_of_file(const FileSystem& files, const std::string& path, std::int64_t samples) {
    const FileContent content = content_of(*files.open(path));
    return {std::string(last_part(path)), content.bytes, samples, content.checksum};
}

std::size_t total_bytes(const std::vector<Field>& fields) {
    std::size_t bytes = 0;
    for (const Field& field : fields)
        bytes += field.desc.bytes();
    return bytes;
}

std::size_t field_number(const std::vector<Field>& fields, std::string_view name) {
    const auto found = std::ranges::find(fields, name, &Field::name);
    if (found != fields.end()) return static_cast<std::size_t>(found - fields.begin());
    throw Error(ErrorKind::internal, "no field is called " + std::string(name) + "; there are: " +
                                         joined(fields, ", ", [](const Field& field) { return field.name; }));
}

const TensorDesc& field_desc(const std::vector<Field>& fields, std::string_view name) {
    return fields[field_number(fields, name)].desc;
}

bool has_field(const std::vector<Field>& fields, std::string_view name) {
    return std::ranges::find(fields, name, &Field::name) != fields.end();
}

std::int32_t Dataset::label(std::int64_t /*index*/, Workspace& /*workspace*/) const {
    return kNoLabel;
}

void Dataset::count_labels(std::int64_t index, Workspace& workspace, std::span<std::int64_t> counts) const {
    const std::int32_t own = label(index, workspace);
    CNNTRAIN_CHECK(own >= 0 && own < std::ssize(counts), "a label that is no class");
    ++counts[static_cast<std::size_t>(own)];
}

std::vector<Field> image_fields(const TensorDesc& image, std::int64_t labels) {
    const Shape shape = labels > 0 ? Shape{labels} : Shape{};
    return {{std::string(kImages), image}, {std::string(kLabels), {DType::i32, shape}}};
}

void store_label(std::int32_t label, SampleView out) {
    std::memcpy(out[1].data(), &label, sizeof label);
}

SampleState store_nothing(std::int32_t label, SampleView out) {
    std::memset(image_of(out).data(), 0, image_of(out).size());
    store_label(label, out);
    return label == kNoLabel ? SampleState::padding : SampleState::undecodable;
}

namespace {

/// The paths that glob(3) finds.
std::vector<std::string> globbed(const std::string& pattern) {
    glob_t found{};
    const int failed = ::glob(pattern.c_str(), GLOB_TILDE, nullptr, &found);
    const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, [](glob_t* result) { ::globfree(result); });
    if (failed != 0) return {};
    return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

/// True for files that this program stores beside data.
bool is_by_product(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.ends_with(".cnntrain-index") || name.ends_with("conversion.jsonl") || finished_name(name).has_value();
}

/// The only name that starts with `start`; otherwise the nearest name; "" if there is none.
std::string closest_match(const std::string& start, const std::vector<std::string>& names) {
    std::vector<std::string> longer;
    for (const std::string& name : names) {
        if (name.starts_with(start)) longer.push_back(name);
    }
    if (longer.size() == 1) return longer.front();
    return longer.empty() ? nearest_name(start, names) : "";
}

/// A hint about the first missing folder or file in `pattern`: "; in /data/text there is no 'vald.txt'; did you mean
/// 'valid.txt'?" If that part has a wildcard, lists the folder's contents instead.
std::string hint_for_missing_path(const fs::path& pattern) {
    constexpr std::size_t kShown = 8;
    fs::path folder = pattern.is_absolute() ? "/" : ".";
    fs::path missing;
    for (const fs::path& part : pattern.relative_path()) {
        missing = part;
        std::error_code failed;
        if (has_wildcard(part.string()) || !fs::is_directory(folder / part, failed)) break;
        folder /= part;
    }
    if (!is_directory(posix_files(), folder)) return "";
    std::vector<std::string> names;
    for (const std::string& name : posix_files().list(folder)) {
        if (!name.starts_with('.') && !is_by_product(name)) names.push_back(name);
    }
    std::ranges::sort(names);
    const std::string in = "; in " + folder.lexically_normal().string();
    if (names.empty()) return in + " there is nothing";
    const bool named = !has_wildcard(missing.string());
    const std::string nearest = named ? closest_match(missing.string(), names) : "";
    const std::string absent = named ? in + " there is no '" + missing.string() + "'" : "";
    if (!nearest.empty()) return absent + "; did you mean '" + nearest + "'?";
    std::string list;
    for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
        list += (i == 0 ? " " : ", ") + names[i];
    if (names.size() > kShown) list += ", ... (" + std::to_string(names.size()) + " in all)";
    return (named ? absent + " but" : in + " there is") + list;
}

}  // namespace

bool has_wildcard(const std::string& pattern) {
    return pattern.find_first_of("*?[") != std::string::npos;
}

std::vector<std::string> files_matching(const std::string& pattern) {
    std::vector<std::string> paths = globbed(pattern);
    if (has_wildcard(pattern)) {
        std::erase_if(paths, [](const std::string& path) {
            std::error_code failed;
            return fs::is_directory(path, failed) || is_by_product(path);
        });
    }
    if (!paths.empty()) return paths;
    posix_files().kind(pattern);  // throws when the system does not say what is there
    throw Error(ErrorKind::data, (has_wildcard(pattern) ? "no file fits the pattern '" : "there is no file '") +
                                     pattern + "'" + hint_for_missing_path(pattern));
}

std::vector<std::string> split_list(const std::string& list) {
    std::vector<std::string> parts;
    for (const std::string_view whole : split(list, ',')) {
        const std::string_view part = trimmed(whole, " \t\r\n");
        if (!part.empty()) parts.emplace_back(part);
    }
    return parts;
}

std::vector<std::string> matching_files(const std::string& patterns) {
    std::vector<std::string> files;
    for (const std::string& pattern : split_list(patterns)) {
        const std::vector<std::string> found = files_matching(pattern);
        files.insert(files.end(), found.begin(), found.end());
    }
    if (files.empty()) throw Error(ErrorKind::usage, "no files are given: a list of names or patterns is needed");
    return files;
}

namespace {

/// Folders are rarely deeper; greater depth indicates a loop of links.
constexpr int kMaxRawDepth = 32;

bool holds_image(const std::string& path) {
    try {
        const std::unique_ptr<InputFile> file = posix_files().open(path);
        std::vector<std::byte> head(std::min<std::uint64_t>(file->size_bytes(), kFormatBytes));
        file->read_at(0, head);
        return file_format(head).has_value();
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

std::string lower_extension(const std::string& path) {
    return in_lower_case(fs::path(path).extension().string());
}

bool is_named_as_image(const std::string& path) {
    static constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".jpe",  ".png",  ".webp", ".bmp",
                                                       ".gif", ".tif",  ".tiff", ".heic", ".heif", ".avif"};
    return std::ranges::find(kExtensions, lower_extension(path)) != std::end(kExtensions);
}

bool is_image_file(const std::string& path) {
    return is_named_as_image(path) || holds_image(path);
}

namespace {

/// True if a link leads to a folder in which it lies itself.
bool is_loop(const fs::path& link) {
    std::error_code failed;
    const fs::path target = fs::canonical(link, failed);
    const fs::path here = fs::canonical(link.parent_path(), failed);
    return !failed && std::mismatch(target.begin(), target.end(), here.begin(), here.end()).first == target.end();
}

template <typename Wanted> ListedFiles list_if(const std::string& folder, const Wanted& wanted) {
    ListedFiles files;
    try {
        for (fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink), end;
             entry != end; ++entry) {
            const fs::path& path = entry->path();
            if (entry.depth() > kMaxRawDepth) {
                throw Error(ErrorKind::data, "folder " + path.parent_path().string() + " is more than " +
                                                 std::to_string(kMaxRawDepth) +
                                                 " folders deep; is a link in it a loop?");
            }
            std::error_code failed;  // a link that leads to itself
            const bool is_hidden = path.filename().string().starts_with('.');
            const bool is_folder = entry->is_directory(failed);
            const bool loops = is_folder && entry->is_symlink(failed) && is_loop(path);
            if (is_hidden || !is_folder || loops) entry.disable_recursion_pending();
            if (is_hidden || (is_folder && !loops)) continue;
            const bool is_special = entry->exists(failed) && !entry->is_regular_file(failed);  // a pipe, say
            if (!is_special && wanted(path.string())) {
                files.names.push_back(path.lexically_relative(folder).string());
            } else {
                ++files.left_out[lower_extension(path.string())];
            }
        }
    } catch (const fs::filesystem_error& error) {
        throw Error(ErrorKind::data, "cannot read folder " + error.path1().string() + ": " + error.code().message());
    }
    std::sort(files.names.begin(), files.names.end());
    return files;
}

}  // namespace

ListedFiles list_files(const std::string& folder, std::string_view extension) {
    return list_if(folder, [&](const std::string& path) { return lower_extension(path) == extension; });
}

ListedFiles list_images(const std::string& folder) {
    return list_if(folder, is_image_file);
}

std::string left_out_text(const ListedFiles& files) {
    return joined(files.left_out, ", ", [](const auto& kind) {
        return std::to_string(kind.second) + " " + (kind.first.empty() ? "without an extension" : kind.first);
    });
}

namespace {

/// Removes the number at the front of `text` and returns it; nothing unless it has kShardDigits digits.
std::optional<int> take_number(std::string_view& text) {
    if (text.size() < kShardDigits) return std::nullopt;
    const auto value = as_number<int>(text.substr(0, kShardDigits));
    if (!value || text.front() == '-') return std::nullopt;
    text.remove_prefix(kShardDigits);
    return value;
}

}  // namespace

std::optional<ShardName> parse_shard_name(std::string_view file_name) {
    constexpr std::string_view kOf = "-of-";
    ShardName shard;
    if (file_name.ends_with(kRecordSuffix)) {
        shard.suffix = kRecordSuffix;
        file_name.remove_suffix(kRecordSuffix.size());
    }
    constexpr std::size_t kTail = 1 + kShardDigits + kOf.size() + kShardDigits;
    if (file_name.size() <= kTail) return std::nullopt;
    shard.prefix = file_name.substr(0, file_name.size() - kTail);
    std::string_view rest = file_name.substr(shard.prefix.size());
    if (!rest.starts_with('-')) return std::nullopt;
    rest.remove_prefix(1);
    const std::optional<int> index = take_number(rest);
    if (!index || !rest.starts_with(kOf)) return std::nullopt;
    rest.remove_prefix(kOf.size());
    const std::optional<int> count = take_number(rest);
    if (!count || *count == 0) return std::nullopt;
    shard.index = *index;
    shard.count = *count;
    return shard;
}

}  // namespace cnntrain::data
