#include "data/sets/unused_files.h"

#include <algorithm>
#include <string_view>

#include "cnntrain/base/enumerators.h"
#include "cnntrain/base/text.h"

namespace cnntrain::data {
namespace {

struct Words {
    Unused reason;
    std::string_view one;
    std::string_view many;
};

constexpr auto kWords = std::to_array<Words>({
    {Unused::not_an_image, "not an image", "not images"},
    {Unused::unread_format, "of a format that is not read", "of formats that are not read"},
    {Unused::empty, "empty", "empty"},
    {Unused::too_large, "too large", "too large"},
    {Unused::unreadable, "unreadable", "unreadable"},
    {Unused::missing, "missing", "missing"},
    {Unused::repeated, "named again", "named again"},
    {Unused::no_class, "in no class folder", "in no class folder"},
    {Unused::no_split, "in no split", "in no split"},
    {Unused::test_data, "test data", "test data"},
    {Unused::hidden, "hidden", "hidden"},
});

std::string example_of(const UnusedFile& file) {
    return file.path + (file.detail.empty() ? "" : ": " + file.detail);
}

}  // namespace

std::string unused_text(const UnusedFiles& files) {
    constexpr std::size_t kMostNamed = 3;
    if (files.empty()) return "";
    std::vector<std::string> parts;
    for (const Words& words : kWords) {
        std::vector<std::string> examples;
        std::int64_t count = 0;
        for (const UnusedFile& file : files) {
            if (file.reason != words.reason) continue;
            if (++count <= static_cast<std::int64_t>(kMostNamed)) examples.push_back(example_of(file));
        }
        if (count == 0) continue;
        const bool more = count > static_cast<std::int64_t>(kMostNamed);
        parts.push_back(std::to_string(count) + " " + std::string(count == 1 ? words.one : words.many) + " (" +
                        joined(examples) + (more ? ", ..." : "") + ")");
    }
    return counted(static_cast<std::int64_t>(files.size()), "file") + (files.size() == 1 ? " is" : " are") +
           " not used: " + joined(parts, "; ");
}

std::string unused_csv(const UnusedFiles& files) {
    std::string csv = "file,reason,detail\n";
    for (const UnusedFile& file : files) {
        const auto words = std::ranges::find(kWords, file.reason, &Words::reason);
        csv += csv_field(file.path) + "," + std::string(words->one) + "," + csv_field(file.detail) + "\n";
    }
    return csv;
}

}  // namespace cnntrain::data
