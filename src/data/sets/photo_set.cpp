#include "data/sets/photo_set.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/resolve.h"
#include "data/images/file_format.h"
#include "data/images/jpeg_errors.h"
#include "data/sets/photo_checks.h"
#include "data/sets/photo_listing.h"
#include "data/sets/raw_files.h"

namespace cnntrain::data {
namespace {

constexpr std::size_t kFirstBytes = 512;
/// A JPEG's size lies behind its thumbnail and colour profile.
constexpr std::size_t kMostBytes = std::size_t{1} << 17;
/// Of more files, those whose names do not tell an image are looked into.
constexpr std::size_t kMostOpened = 300'000;

[[noreturn]] void fail_photo(const std::string& what) {
    throw Error(ErrorKind::data, "folder: " + what);
}

std::span<const std::byte> read_head(const InputFile& file, std::size_t most, std::vector<std::byte>& head) {
    head.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file.size_bytes(), most)));
    file.read_at(0, head);
    return head;
}

std::string path_of(const std::string& top, const ListedPhoto& photo) {
    return photo.path.starts_with('/') ? photo.path : top + "/" + photo.path;
}

/// Why a file is not used; nothing if it is. Sets the sizes of file and image.
std::optional<UnusedFile> look_into(const std::string& top, ListedPhoto& photo) {
    const auto unused = [&](Unused reason, std::string detail = "") {
        return UnusedFile{photo.path, reason, std::move(detail)};
    };
    try {
        const std::unique_ptr<InputFile> file = posix_files().open(path_of(top, photo));
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
        const bool is_there = exists(posix_files(), top + "/" + photo.path) || exists(posix_files(), photo.path);
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

/// Of a class with two photos or more, at least one is validated and one trained on.
std::int64_t held_out_of(std::int64_t count, double fraction) {
    if (fraction == 0 || fraction == 1) return fraction == 0 ? 0 : count;
    if (count < 2) return 0;
    return std::clamp<std::int64_t>(std::llround(fraction * static_cast<double>(count)), 1, count - 1);
}

/// For each photo, the number of the first one with the same content.
std::vector<std::size_t> first_copies_in(const PhotoListing& listing) {
    std::vector<std::uint64_t> bytes;
    for (const ListedPhoto& photo : listing.photos)
        bytes.push_back(photo.bytes);
    bool limited = false;
    return first_copies(
        bytes, [&](std::size_t i) { return path_of(listing.top, listing.photos[i]); }, limited);
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
    std::vector<std::vector<Hashed>> by_class(listing.classes.size());
    for (std::size_t i = 0; i < listing.photos.size(); ++i) {
        const ListedPhoto& photo = listing.photos[i];
        if (photo.split) continue;
        const std::string& path = listing.photos[copy_of[i]].path;
        by_class[photo.class_number].push_back({spread(hash_text(path, start)), copy_of[i], i});
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

/// For each class of the data, its number in the network; the network's classes replace those of the data.
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
    const std::string path(of(split).path(index));
    return path.starts_with('/') ? path : top + "/" + path;
}

std::vector<std::int64_t> PhotoSet::counts(Split split) const {
    std::vector<std::int64_t> result(classes.size());
    for (std::int64_t i = 0; i < of(split).size(); ++i)
        ++result[static_cast<std::size_t>(of(split).label(i))];
    return result;
}

std::shared_ptr<const PhotoSet> FoundPhotos::get(const InputSettings& settings) {
    Digest digest;
    digest.add(settings.folder);
    digest.add(std::to_string(settings.validation_fraction));
    digest.add(static_cast<std::uint64_t>(settings.split_seed));
    for (const std::string& name : settings.known_classes)
        digest.add(name);
    const std::lock_guard lock(mutex_);
    if (!set_ || key_ != digest.text()) {
        set_ = std::make_shared<const PhotoSet>(find_photos(settings));
        key_ = digest.text();
        told_ = false;
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
    if (sides.empty()) return 0;
    const auto middle = sides.begin() + std::ssize(sides) / 2;
    std::ranges::nth_element(sides, middle);
    return *middle;
}

PhotoSet find_photos(const InputSettings& settings) {
    PhotoListing listing = list_photos(settings.folder);
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
    set.places = std::move(listing.places);
    set.top = std::move(listing.top);
    set.classes = std::move(listing.classes);
    set.unused = std::move(listing.unused);
    return set;
}

}  // namespace cnntrain::data
