#include "data/sets/photo_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <tbb/parallel_for.h>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/numbers.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "data/images/image_file.h"
#include "data/images/jpeg.h"
#include "data/records/tar.h"
#include "data/sets/resolve.h"
#include "data/text/table.h"

namespace cnntrain::data {
namespace {

constexpr std::size_t kFirstBytes = 512;
/// A JPEG's size lies after its thumbnail and colour profile.
constexpr std::size_t kMostBytes = std::size_t{1} << 17;
/// Number of files up to which all are looked into; of more, only files that are not named as images.
constexpr std::size_t kMostOpened = 300'000;

[[noreturn]] void fail_photo(const std::string& what) {
    throw Error(ErrorKind::data, "folder: " + what);
}

std::span<const std::byte> read_head(const InputFile& file, std::size_t most, std::vector<std::byte>& head) {
    head.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file.size_bytes(), most)));
    file.read_at(0, head);
    return head;
}

std::string path_of(const std::string& top, std::string_view path) {
    return (path.starts_with('/') ? "" : top + "/") + std::string(path);
}

/// Why a file is not used; nothing if it is. Sets the sizes of file and image.
std::optional<UnusedFile> look_into(const std::string& top, ListedPhoto& photo) {
    const auto unused = [&](Unused reason, std::string detail = "") {
        return UnusedFile{photo.path, reason, std::move(detail)};
    };
    try {
        const std::unique_ptr<InputFile> file = open_in_tar(path_of(top, photo.path));
        photo.bytes = file->size_bytes();
        if (photo.bytes == 0) return unused(Unused::empty);
        thread_local std::vector<std::byte> head;
        std::span<const std::byte> bytes = read_head(*file, kFirstBytes, head);
        const std::optional<FileFormat> format = file_format(bytes);
        if (!format) {
            const std::string kind(unread_kind(bytes));
            return unused(kind.empty() ? Unused::not_an_image : Unused::unread_format, kind);
        }
        if (const std::string package(missing_package(*format)); !package.empty())
            return unused(Unused::unread_format, std::string(format_name(*format)) + ", " + package + " is missing");
        std::optional<ImageSize> size = claimed_size(bytes, *format);
        if (!size && *format == FileFormat::jpeg && photo.bytes > bytes.size())
            size = claimed_size(read_head(*file, kMostBytes, head), *format);
        if (!size) return std::nullopt;
        photo.shorter_side = std::min(size->height, size->width);
        const std::int64_t most = *format == FileFormat::jpeg ? kMostPixels : kMostWholePixels;
        if (size->height > 0 && size->width > 0 && !size_problem(size->height, size->width, most).empty())
            return unused(Unused::too_large, std::to_string(size->width) + " x " + std::to_string(size->height));
        return std::nullopt;
    } catch (const Error& error) {
        const bool is_there = exists_in_tar(path_of(top, photo.path));
        return unused(is_there ? Unused::unreadable : Unused::missing, is_there ? error.what() : "");
    }
}

/// Moves the files that are no images to the unused ones.
void look_into_files(PhotoListing& listing) {
    std::vector<std::optional<UnusedFile>> found(listing.photos.size());
    const bool all = listing.photos.size() <= kMostOpened;
    if (!all) {
        listing.notices.push_back("folder: of more than " + std::to_string(kMostOpened) +
                                  " files, those named as images are looked into when they are used, and copies are "
                                  "not searched");
    }
    tbb::parallel_for(std::size_t{0}, found.size(), [&](std::size_t i) {
        if (all || !is_named_as_image(listing.photos[i].path)) found[i] = look_into(listing.top, listing.photos[i]);
    });
    std::vector<ListedPhoto> used;
    used.reserve(listing.photos.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i]) {
            listing.unused.push_back(std::move(*found[i]));
        } else {
            used.push_back(std::move(listing.photos[i]));
        }
    }
    listing.photos = std::move(used);
}

/// Spreads the bits of a hash (the finaliser of SplitMix64), so that similar names lie far apart.
std::uint64_t spread(std::uint64_t hash) {
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
    return hash ^ (hash >> 31);
}

/// Number of photos of a class to hold out. A class with two photos or more keeps at least one for validation and one
/// for training, unless all or none are held out.
std::int64_t held_out_of(std::int64_t count, double fraction) {
    if (fraction == 0 || fraction == 1) return fraction == 0 ? 0 : count;
    if (count < 2) return 0;
    return std::clamp<std::int64_t>(std::llround(fraction * static_cast<double>(count)), 1, count - 1);
}

/// Number of the first photo with the same content, for each photo.
std::vector<std::size_t> first_copies_in(const PhotoListing& listing) {
    std::vector<std::uint64_t> bytes;
    for (const ListedPhoto& photo : listing.photos)
        bytes.push_back(photo.bytes);
    bool limited = false;
    return first_copies(
        bytes, [&](std::size_t i) { return path_of(listing.top, listing.photos[i].path); }, limited);
}

/// The class of each photo; with several labels, the rarest one of its labels, or the number of classes if it has none.
std::vector<std::size_t> rarest_classes(const PhotoListing& listing) {
    std::vector<std::size_t> result;
    if (listing.label_sets.empty()) {
        for (const ListedPhoto& photo : listing.photos)
            result.push_back(photo.class_number);
        return result;
    }
    std::vector<std::int64_t> counts(listing.classes.size() + 1, std::numeric_limits<std::int64_t>::max());
    std::fill(counts.begin(), counts.end() - 1, 0);
    for (const ListedPhoto& photo : listing.photos) {
        for (const std::int32_t label : listing.label_sets[photo.class_number])
            ++counts[static_cast<std::size_t>(label)];
    }
    for (const ListedPhoto& photo : listing.photos) {
        std::size_t rarest = listing.classes.size();
        for (const std::int32_t label : listing.label_sets[photo.class_number]) {
            if (counts[static_cast<std::size_t>(label)] < counts[rarest]) rarest = static_cast<std::size_t>(label);
        }
        result.push_back(rarest);
    }
    return result;
}

/// Sets the split of the photos that have none: in each class, those with the least hashes of seed and path are
/// validated. A photo more moves at most one other of its class. Copies of a photo stay together.
void hold_out(PhotoListing& listing, const InputSettings& settings) {
    struct Hashed {
        std::uint64_t hash;
        std::size_t first_copy;
        std::size_t number;
        auto operator<=>(const Hashed&) const = default;  // NOLINT(modernize-use-nullptr)
    };
    const std::vector<std::size_t> copy_of = first_copies_in(listing);
    const std::uint64_t start = hash_text(std::to_string(settings.split_seed) + "/");
    const std::vector<std::size_t> classes = rarest_classes(listing);
    std::vector<std::vector<Hashed>> by_class(listing.classes.size() + 1);
    for (std::size_t i = 0; i < listing.photos.size(); ++i) {
        const ListedPhoto& photo = listing.photos[i];
        if (photo.split) continue;
        const std::string& path = listing.photos[copy_of[i]].path;
        by_class[classes[i]].push_back({spread(hash_text(path, start)), copy_of[i], i});
    }
    for (std::vector<Hashed>& photos : by_class) {
        std::ranges::sort(photos);
        const std::int64_t held = held_out_of(std::ssize(photos), settings.validation_fraction);
        for (auto begin = photos.begin(); begin != photos.end();) {
            const auto end = std::find_if(begin, photos.end(),
                                          [&](const Hashed& photo) { return photo.first_copy != begin->first_copy; });
            const bool all = begin == photos.begin() && end == photos.end();
            const bool validates = begin - photos.begin() < held && (!all || held == std::ssize(photos));
            for (; begin != end; ++begin)
                listing.photos[begin->number].split = validates ? Split::validation : Split::train;
        }
    }
}

/// Number in the network of each class of the data, or the number of each set of labels; the network's classes replace
/// those of the data.
std::vector<std::int32_t> labels_of(PhotoListing& listing, const std::vector<std::string>& known) {
    const std::vector<std::string>& wanted = known.empty() ? listing.classes : known;
    std::vector<std::int32_t> labels;
    for (const std::string& name : listing.classes) {
        const auto found = std::ranges::find(wanted, name);
        if (found == wanted.end()) {
            fail_photo("the network has no class '" + name + "', of which there are photos in " + listing.top +
                       "; it has " + joined(wanted).substr(0, 200));
        }
        labels.push_back(static_cast<std::int32_t>(found - wanted.begin()));
    }
    if (!known.empty()) listing.classes = known;
    if (listing.label_sets.empty()) return labels;
    for (std::vector<std::int32_t>& set : listing.label_sets) {
        for (std::int32_t& label : set)
            label = labels[static_cast<std::size_t>(label)];
    }
    labels.resize(listing.label_sets.size());
    std::iota(labels.begin(), labels.end(), 0);
    return labels;
}

void sort_photos(std::vector<ListedPhoto>& photos) {
    std::ranges::sort(photos, [](const ListedPhoto& a, const ListedPhoto& b) {
        return std::tie(a.class_number, a.path) < std::tie(b.class_number, b.path);
    });
}

void note_held_out(const PhotoListing& listing, const InputSettings& settings, std::vector<std::string>& notices) {
    const auto held = std::ranges::count(listing.photos, Split::validation, &ListedPhoto::split);
    notices.push_back("folder: " + std::to_string(held) + " of " + std::to_string(listing.photos.size()) +
                      " photos in " + listing.top +
                      " are held out for validation, the same ones for the same names and --split-seed " +
                      std::to_string(settings.split_seed) + " (--validation-fraction)");
}

}  // namespace

void PhotoList::add(std::string_view path, std::int32_t label, std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    entries_.push_back({names_.size(), label, bytes > kMost ? 0 : static_cast<std::uint32_t>(bytes)});
    names_ += path;
    names_ += '\0';
}

std::string PhotoSet::file(Split split, std::int64_t index) const {
    return path_of(top, of(split).path(index));
}

std::vector<std::int64_t> PhotoSet::counts(Split split) const {
    std::vector<std::int64_t> result(classes.size());
    for (std::int64_t i = 0; i < of(split).size(); ++i) {
        const auto label = static_cast<std::size_t>(of(split).label(i));
        if (label_sets.empty()) ++result[label];
        for (const std::int32_t one : label_sets.empty() ? std::span<const std::int32_t>() : label_sets[label])
            ++result[static_cast<std::size_t>(one)];
    }
    return result;
}

std::string PhotoSet::name_of(std::int32_t label) const {
    if (label_sets.empty()) return classes.at(static_cast<std::size_t>(label));
    std::vector<std::string> names;
    for (const std::int32_t one : label_sets.at(static_cast<std::size_t>(label)))
        names.push_back(classes.at(static_cast<std::size_t>(one)));
    return joined(names, "|");
}

std::shared_ptr<const PhotoSet> FoundPhotos::get(const InputSettings& settings) {
    Digest digest;
    digest.add(settings.folder);
    digest.add(std::to_string(settings.validation_fraction));
    digest.add(static_cast<std::uint64_t>(settings.split_seed));
    digest.add(std::string(spelling(settings.labels.kind)) + settings.labels.separator);
    for (const std::string& name : settings.known_classes)
        digest.add(name);
    const std::lock_guard lock(mutex_);
    if (!set_ || key_ != digest.text()) {
        set_ = std::make_shared<const PhotoSet>(find_photos(settings));
        key_ = digest.text();
        reported_ = false;
    }
    return set_;
}

std::shared_ptr<FoundPhotos> found_photos() {
    return std::make_shared<FoundPhotos>();
}

/// The median of the known ones; 0 if none is known.
std::int64_t median_side(const std::vector<ListedPhoto>& photos) {
    std::vector<std::int64_t> sides;
    for (const ListedPhoto& photo : photos) {
        if (photo.shorter_side > 0) sides.push_back(photo.shorter_side);
    }
    return sides.empty() ? 0 : median(std::move(sides));
}

PhotoSet find_photos(const InputSettings& settings) {
    if (settings.labels.several() && !is_photo_table(settings.folder)) {
        throw Error(ErrorKind::usage,
                    "--labels several: expected a table of files and labels (.csv, .tsv or .jsonl) "
                    "as --data-dir, got " +
                        settings.folder);
    }
    PhotoListing listing = list_photos(settings.folder, settings.labels);
    if (listing.classes.size() < 2 && settings.known_classes.empty()) {
        fail_photo("expected a folder for each of at least two classes in " +
                   listing.places[static_cast<std::size_t>(Split::train)] + ", found " +
                   (listing.classes.empty() ? "none" : "only " + listing.classes.front()));
    }
    look_into_files(listing);
    sort_photos(listing.photos);
    if (listing.holds_out) hold_out(listing, settings);
    PhotoSet set;
    set.notices = std::move(listing.notices);
    if (listing.holds_out) note_held_out(listing, settings, set.notices);
    const std::vector<std::int32_t> labels = labels_of(listing, settings.known_classes);
    for (const ListedPhoto& photo : listing.photos)
        set.splits[static_cast<std::size_t>(*photo.split)].add(photo.path, labels[photo.class_number], photo.bytes);
    set.median_side = median_side(listing.photos);
    set.of_network = !settings.known_classes.empty();
    set.places = std::move(listing.places);
    set.top = std::move(listing.top);
    set.classes = std::move(listing.classes);
    set.label_sets = std::move(listing.label_sets);
    set.unused = std::move(listing.unused);
    return set;
}

namespace {

constexpr std::size_t kMostNamed = 5;

std::string first_of(std::vector<std::string> names) {
    if (names.size() > kMostNamed) {
        names.resize(kMostNamed);
        names.emplace_back("others");
    }
    return listed(names);
}

void add_unvalidated(const PhotoSet& photos, std::vector<std::string>& texts) {
    if (photos.of(Split::validation).size() == 0) return;
    const std::vector<std::int64_t> counts = photos.counts(Split::validation);
    std::vector<std::string> without;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) without.push_back(photos.classes[i]);
    }
    if (without.empty()) return;
    const std::string count = std::to_string(without.size());
    texts.push_back("folder: " + count + " of " + std::to_string(counts.size()) + " classes have no image in " +
                    photos.place(Split::validation) + " for validation: " + first_of(std::move(without)));
}

void add_alike(const PhotoSet& photos, std::vector<std::string>& texts) {
    std::map<std::string, std::vector<std::string>> by_lower;
    for (const std::string& name : photos.classes)
        by_lower[in_lower_case(name)].push_back(name);
    for (const auto& [text, names] : by_lower) {
        if (names.size() > 1)
            texts.push_back("folder: the classes " + listed(names) + " differ only by upper and lower case");
    }
}

void add_unequal(const PhotoSet& photos, std::vector<std::string>& texts) {
    constexpr std::int64_t kRatio = 20;
    const std::vector<std::int64_t> counts = photos.counts(Split::train);
    if (photos.of(Split::train).size() == 0) return;
    const auto [least, most] = std::ranges::minmax_element(counts);
    if (*most < kRatio * *least) return;
    const auto text = [&](auto count) {
        return photos.classes[static_cast<std::size_t>(count - counts.begin())] + " has " +
               counted(*count, "training photo");
    };
    texts.push_back("folder: the classes are very unequal: " + text(most) + ", " + text(least) +
                    "; a network may do well by guessing the frequent ones");
}

/// The content; "" for a file that cannot be read, which training reports.
std::string photo_bytes(const std::string& path) {
    try {
        return whole_text(*open_in_tar(path));
    } catch (const Error&) {
        return "";
    }
}

/// Numbers of the files that are as large as another one, by size, up to a limit of bytes.
std::vector<std::size_t> of_equal_size(const std::vector<std::uint64_t>& bytes, bool& limited) {
    constexpr std::uint64_t kMostBytesTogether = std::uint64_t{1} << 30;
    std::vector<std::size_t> all(bytes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::ranges::sort(all, {}, [&](std::size_t i) { return std::pair(bytes[i], i); });
    std::vector<std::size_t> result;
    std::uint64_t total = 0;
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = std::find_if(begin, all.end(), [&](std::size_t i) { return bytes[i] != bytes[*begin]; });
        const std::uint64_t needed = static_cast<std::uint64_t>(end - begin) * bytes[*begin];
        if (needed > 0 && end - begin > 1) {
            limited = limited || total + needed > kMostBytesTogether;
            if (total + needed <= kMostBytesTogether) {
                result.insert(result.end(), begin, end);
                total += needed;
            }
        }
        begin = end;
    }
    return result;
}

}  // namespace

void check_training_photos(const PhotoSet& photos) {
    const std::vector<std::int64_t> counts = photos.counts(Split::train);
    const auto found = std::ranges::find(counts, 0);
    if (found == counts.end() || (photos.of_network && photos.of(Split::train).size() > 0)) return;
    const std::string& name = photos.classes[static_cast<std::size_t>(found - counts.begin())];
    UnusedFiles inside;
    for (const UnusedFile& file : photos.unused) {
        if (file.path.find(name + "/") != std::string::npos) inside.push_back(file);
    }
    throw Error(ErrorKind::data, "folder: no photo of the class " + name + " to train on in " +
                                     photos.place(Split::train) + (inside.empty() ? "" : ": " + unused_text(inside)) +
                                     "; add photos of the class, or remove it");
}

void check_validation_photos(const PhotoSet& photos) {
    if (photos.of(Split::validation).size() > 0) return;
    throw Error(ErrorKind::data, "folder: no photo in the class folders of " + photos.place(Split::validation) +
                                     " for validation; add some, give --validation-fraction a share above 0, or train "
                                     "with --no-validation");
}

std::vector<std::string> suspicions(const PhotoSet& photos) {
    std::vector<std::string> texts;
    if (!photos.of_network) add_unvalidated(photos, texts);
    add_alike(photos, texts);
    if (!photos.of_network) add_unequal(photos, texts);
    return texts;
}

std::vector<std::size_t> first_copies(const std::vector<std::uint64_t>& bytes,
                                      const std::function<std::string(std::size_t)>& path, bool& limited) {
    struct File {
        std::uint64_t bytes;
        std::uint32_t checksum;
        std::size_t number;
        auto operator<=>(const File&) const = default;  // NOLINT(modernize-use-nullptr)
    };
    std::vector<File> files;
    for (const std::size_t i : of_equal_size(bytes, limited))
        files.push_back({bytes[i], 0, i});
    tbb::parallel_for(std::size_t{0}, files.size(), [&](std::size_t i) {
        const std::string content = photo_bytes(path(files[i].number));
        files[i].checksum = crc32c(std::as_bytes(std::span(content)));
    });
    std::ranges::sort(files);
    std::vector<std::size_t> first(bytes.size());
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t i = 1; i < files.size(); ++i) {
        const File& before = files[i - 1];
        const File& file = files[i];
        if (before.bytes != file.bytes || before.checksum != file.checksum) continue;
        if (photo_bytes(path(before.number)) == photo_bytes(path(file.number)))
            first[file.number] = first[before.number];
    }
    return first;
}

std::string copies_text(const PhotoSet& photos) {
    constexpr std::size_t kMostPairs = 3;
    const PhotoList& training = photos.of(Split::train);
    const PhotoList& validation = photos.of(Split::validation);
    const auto trained = static_cast<std::size_t>(training.size());  // files before those of validation
    std::set<std::uint64_t> sizes;                                   // of validation photos
    for (std::int64_t i = 0; i < validation.size(); ++i)
        sizes.insert(validation.bytes(i));
    std::vector<std::uint64_t> bytes;
    for (std::int64_t i = 0; i < training.size(); ++i)
        bytes.push_back(sizes.contains(training.bytes(i)) ? training.bytes(i) : 0);
    for (std::int64_t i = 0; i < validation.size(); ++i)
        bytes.push_back(validation.bytes(i));
    bool limited = false;
    const std::vector<std::size_t> first = first_copies(
        bytes,
        [&](std::size_t i) {
            const bool in_training = i < trained;
            return photos.file(in_training ? Split::train : Split::validation,
                               static_cast<std::int64_t>(in_training ? i : i - trained));
        },
        limited);
    std::int64_t copies = 0;
    std::vector<std::string> pairs;
    for (std::size_t i = trained; i < first.size(); ++i) {
        if (first[i] >= trained) continue;
        ++copies;
        if (pairs.size() >= kMostPairs) continue;
        pairs.push_back(std::string(validation.path(static_cast<std::int64_t>(i - trained))) + " is " +
                        std::string(training.path(static_cast<std::int64_t>(first[i]))));
    }
    std::string text;
    if (copies > 0) {
        text = "folder: " + counted(copies, "validation photo") +
               (copies == 1 ? " is a copy of a training photo: " : " are copies of training photos: ") + joined(pairs) +
               (copies > static_cast<std::int64_t>(pairs.size()) ? ", ..." : "") +
               "; they make the validation accuracy too high";
    }
    if (limited) {
        text += std::string(text.empty() ? "folder: " : "; ") +
                "not all photos of equal size were compared for copies, which would take long";
    }
    return text;
}

}  // namespace cnntrain::data
