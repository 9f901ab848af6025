#include "data/sets/photo_checks.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <span>
#include <tuple>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/listed.h"

namespace cnntrain::data {
namespace {

constexpr std::size_t kMostNamed = 5;

std::string first_of(std::vector<std::string> names) {
    if (names.size() > kMostNamed) {
        names.resize(kMostNamed);
        names.emplace_back("others");
    }
    return listed(names);
}

std::string lower(const std::string& name) {
    std::string text = name;
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
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
        by_lower[lower(name)].push_back(name);
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

/// A photo in one of the splits.
struct Place {
    std::uint32_t bytes;
    std::uint32_t checksum;
    Split split;
    std::int64_t index;
};

/// The photos of sizes that both splits have, up to a limit of bytes, sorted by size.
std::vector<Place> of_equal_size(const PhotoSet& photos, bool& limited) {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
    std::vector<Place> all;
    for (const Split split : {Split::train, Split::validation}) {
        for (std::int64_t i = 0; i < photos.of(split).size(); ++i) {
            if (photos.of(split).bytes(i) > 0) all.push_back({photos.of(split).bytes(i), 0, split, i});
        }
    }
    std::ranges::sort(all, {}, [](const Place& place) { return std::tie(place.bytes, place.split, place.index); });
    std::vector<Place> result;
    std::uint64_t total = 0;
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end =
            std::find_if(begin, all.end(), [&](const Place& place) { return place.bytes != begin->bytes; });
        if (begin->split != std::prev(end)->split) {
            const std::uint64_t needed = static_cast<std::uint64_t>(end - begin) * begin->bytes;
            limited = limited || total + needed > kMostBytes;
            if (total + needed <= kMostBytes) {
                result.insert(result.end(), begin, end);
                total += needed;
            }
        }
        begin = end;
    }
    return result;
}

std::string content_of(const PhotoSet& photos, const Place& place) {
    try {
        return read_text(posix_files(), photos.file(place.split, place.index));
    } catch (const Error&) {
        return "";  // training tells of it
    }
}

}  // namespace

void check_training_photos(const PhotoSet& photos) {
    const std::vector<std::int64_t> counts = photos.counts(Split::train);
    const auto found = std::ranges::find(counts, 0);
    if (found == counts.end()) return;
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
    add_unvalidated(photos, texts);
    add_alike(photos, texts);
    add_unequal(photos, texts);
    return texts;
}

std::string copies_text(const PhotoSet& photos) {
    constexpr std::size_t kMostPairs = 3;
    bool limited = false;
    std::vector<Place> places = of_equal_size(photos, limited);
    tbb::parallel_for(std::size_t{0}, places.size(), [&](std::size_t i) {
        const std::string content = content_of(photos, places[i]);
        places[i].checksum = crc32c(std::as_bytes(std::span(content)));
    });
    std::ranges::sort(
        places, {}, [](const Place& place) { return std::tie(place.bytes, place.checksum, place.split, place.index); });
    std::int64_t copies = 0;
    std::vector<std::string> pairs;
    const Place* trained = nullptr;
    for (const Place& place : places) {
        if (place.split == Split::train) {
            trained = &place;
            continue;
        }
        if (trained == nullptr || trained->bytes != place.bytes || trained->checksum != place.checksum) continue;
        if (content_of(photos, *trained) != content_of(photos, place)) continue;
        ++copies;
        if (pairs.size() < kMostPairs) {
            pairs.push_back(std::string(photos.of(Split::validation).path(place.index)) + " is " +
                            std::string(photos.of(Split::train).path(trained->index)));
        }
    }
    std::string text;
    if (copies > 0) {
        text = "folder: " + counted(copies, "validation photo") +
               (copies == 1 ? " is a copy of a training photo: " : " are copies of training photos: ") + joined(pairs) +
               (copies > static_cast<std::int64_t>(pairs.size()) ? ", ..." : "") +
               "; the accuracy of validation is too high by them";
    }
    if (limited) {
        text += std::string(text.empty() ? "folder: " : "; ") +
                "not all photos of equal size were compared for copies, which would take long";
    }
    return text;
}

}  // namespace cnntrain::data
