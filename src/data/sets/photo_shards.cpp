// Photos in tar archives: shards in WebDataset's layout, or class folders in an archive.
#include "data/sets/photo_set.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <tbb/parallel_for.h>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "data/records/tar.h"
#include "data/text/table.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// The split by the first word of a file's name that is one: validation for "photos-validation-03.tar".
SplitWord split_of_name(const std::string& name) {
    std::string word;
    for (const char c : in_lower_case(name) + ".") {
        if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
            word += c;
            continue;
        }
        if (const SplitWord split = split_word(word); split != SplitWord::none) return split;
        word.clear();
    }
    return SplitWord::none;
}

struct Shard {
    std::string path;  // relative to the top
    SplitWord split;
};

struct Shards {
    fs::path top;
    std::vector<Shard> files;  // sorted by path
};

/// Adds the archives in a folder. The folder's name goes before a file's.
void add_shards(Shards& shards, const std::string& folder, SplitWord split) {
    for (const std::string& name : names_in((shards.top / folder).string())) {
        if (name.starts_with('.') || !is_named_as_tar(name)) continue;
        const std::string path = folder.empty() ? name : folder + "/" + name;
        shards.files.push_back({path, split != SplitWord::none ? split : split_of_name(name)});
    }
}

Shards find_shards(const std::string& place) {
    std::error_code failed;
    const fs::path path = fs::absolute(without_trailing_slashes(place)).lexically_normal();
    if (is_named_as_tar(place)) {
        if (!fs::is_regular_file(path, failed)) return {};
        const std::string name = path.filename().string();
        return {path.parent_path(), {{name, split_of_name(name)}}};
    }
    Shards shards{path, {}};
    if (!fs::is_directory(path, failed)) return shards;
    add_shards(shards, "", split_word(path.filename().string()));
    for (const std::string& name : names_in(path.string())) {
        const SplitWord split = split_word(name);
        if (split != SplitWord::none && fs::is_directory(path / name, failed)) add_shards(shards, name, split);
    }
    std::ranges::sort(shards.files, {}, &Shard::path);
    return shards;
}

bool has_split(const Shards& shards, SplitWord split) {
    return std::ranges::any_of(shards.files, [&](const Shard& shard) { return shard.split == split; });
}

/// A value that names a class; "" for another one.
std::string class_in(const nlohmann::json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.is_number_integer() ? value.dump() : "";
}

/// The photos of one archive, and the name of each one's class; "" for none.
struct ShardPhotos {
    std::vector<TarMember> photos;
    std::vector<std::string> classes;
    std::vector<std::string> others;
};

class ShardReader {
public:
    explicit ShardReader(const std::string& path) : path_(path), archive_(posix_files().open(path)) {}

    /// A sample's files have one name up to the first dot: "0001.jpg" and "0001.cls", or "0001.json".
    ShardPhotos photos() {
        const std::shared_ptr<const std::vector<TarMember>> kept = kept_tar_members(*archive_);
        const std::vector<TarMember>& members = *kept;
        std::map<std::string_view, std::string> labels;
        for (const TarMember& member : members) {
            const std::string_view kind = kind_of(member.name);
            if (kind == "cls") labels[sample_of(member.name)] = trimmed_text(member);
            if (kind == "json") labels.try_emplace(sample_of(member.name), label_in(member));
        }
        ShardPhotos result;
        for (const TarMember& member : members) {
            if (is_named_as_image(member.name)) {
                const auto label = labels.find(sample_of(member.name));
                result.photos.push_back(member);
                result.classes.push_back(label != labels.end() && !label->second.empty()
                                             ? label->second
                                             : fs::path(member.name).parent_path().filename().string());
            } else if (!labels.contains(sample_of(member.name))) {
                result.others.push_back(member.name);
            }
        }
        return result;
    }

private:
    static std::size_t dot_of(std::string_view name) {
        const std::size_t slash = name.rfind('/');
        return std::min(name.find('.', slash == std::string_view::npos ? 0 : slash), name.size());
    }
    static std::string_view sample_of(std::string_view name) { return name.substr(0, dot_of(name)); }
    static std::string_view kind_of(std::string_view name) {
        return name.substr(std::min(dot_of(name) + 1, name.size()));
    }

    std::string text_of(const TarMember& member) const {
        constexpr std::uint64_t kMostLabelBytes = std::uint64_t{1} << 20;
        const std::string place = path_ + "/" + member.name;
        if (member.bytes > kMostLabelBytes) {
            throw Error(ErrorKind::data, place + ": expected a label of at most " + std::to_string(kMostLabelBytes) +
                                             " bytes, got " + std::to_string(member.bytes));
        }
        return std::string(checked_utf8(text_in(*archive_, member.begin, member.bytes), place));
    }
    std::string trimmed_text(const TarMember& member) const { return std::string(trimmed(text_of(member), " \t\r\n")); }
    std::string label_in(const TarMember& member) const {
        const nlohmann::json object = nlohmann::json::parse(text_of(member), nullptr, /*allow_exceptions=*/false);
        if (object.is_discarded() || !object.is_object())
            throw Error(ErrorKind::data, path_ + "/" + member.name + ": expected an object of JSON");
        std::string found;
        for (const auto& [key, value] : object.items()) {
            if (found.empty() && names_class_column(in_lower_case(key))) found = class_in(value);
        }
        return found;
    }

    std::string path_;
    std::unique_ptr<InputFile> archive_;
};

}  // namespace

bool is_shards(const std::string& place) {
    return !find_shards(place).files.empty();
}

bool names_validation_shards(const std::string& place) {
    return has_split(find_shards(place), SplitWord::validation);
}

PhotoListing list_shards(const std::string& place) {
    const Shards shards = find_shards(place);
    PhotoListing listing;
    listing.top = shards.top.string();
    listing.places = {place, place};
    const bool validates = has_split(shards, SplitWord::validation);
    const bool only_tests = !validates && !has_split(shards, SplitWord::train) && !has_split(shards, SplitWord::none);
    listing.holds_out = !validates && !only_tests;
    std::vector<ShardPhotos> read(shards.files.size());
    tbb::parallel_for(std::size_t{0}, read.size(), [&](std::size_t i) {
        if (shards.files[i].split != SplitWord::test || only_tests)
            read[i] = ShardReader(path_in(listing.top, shards.files[i].path)).photos();
    });
    for (const ShardPhotos& shard : read)
        listing.classes.insert(listing.classes.end(), shard.classes.begin(), shard.classes.end());
    std::erase(listing.classes, "");
    sort_classes(listing.classes);
    std::map<std::string_view, std::size_t> numbers;
    for (const std::string& name : listing.classes)
        numbers.emplace(name, numbers.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
        const Shard& shard = shards.files[i];
        if (shard.split == SplitWord::test && !only_tests) {
            listing.unused.push_back({shard.path, Unused::test_data});
            listing.notices.push_back("folder: " + path_in(listing.top, shard.path) +
                                      " is used neither for training nor for validation; to validate with it, give "
                                      "validation --data-dir that file");
            continue;
        }
        std::optional<Split> split;
        if (validates) split = shard.split == SplitWord::validation ? Split::validation : Split::train;
        if (only_tests) split = Split::validation;
        for (std::size_t photo = 0; photo < read[i].photos.size(); ++photo) {
            const TarMember& member = read[i].photos[photo];
            const std::string& name = read[i].classes[photo];
            if (name.empty()) {
                listing.unused.push_back({shard.path + "/" + member.name, Unused::no_class});
            } else {
                listing.photos.push_back({shard.path + "/" + member.name, numbers.at(name), split, member.bytes});
            }
        }
        for (const std::string& other : read[i].others)
            listing.unused.push_back({shard.path + "/" + other, Unused::not_an_image});
    }
    return listing;
}

}  // namespace cnntrain::data
