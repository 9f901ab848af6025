#include "data/sets/photo_checks.h"
#include "data/text/table.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"

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

/// The content; "" for a file that cannot be read, which training tells of.
std::string content_of(const std::string& path) {
    try {
        return read_text(posix_files(), path);
    } catch (const Error&) {
        return "";
    }
}

/// Numbers of the files that are as large as another one, by size, up to a limit of bytes.
std::vector<std::size_t> of_equal_size(const std::vector<std::uint64_t>& bytes, bool& limited) {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
    std::vector<std::size_t> all(bytes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::ranges::sort(all, {}, [&](std::size_t i) { return std::pair(bytes[i], i); });
    std::vector<std::size_t> result;
    std::uint64_t total = 0;
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = std::find_if(begin, all.end(), [&](std::size_t i) { return bytes[i] != bytes[*begin]; });
        const std::uint64_t needed = static_cast<std::uint64_t>(end - begin) * bytes[*begin];
        if (needed > 0 && end - begin > 1) {
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
        const std::string content = content_of(path(files[i].number));
        files[i].checksum = crc32c(std::as_bytes(std::span(content)));
    });
    std::ranges::sort(files);
    std::vector<std::size_t> first(bytes.size());
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t i = 1; i < files.size(); ++i) {
        const File& before = files[i - 1];
        const File& file = files[i];
        if (before.bytes != file.bytes || before.checksum != file.checksum) continue;
        if (content_of(path(before.number)) == content_of(path(file.number))) first[file.number] = first[before.number];
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
