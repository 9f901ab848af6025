#include "train/runs/same_data.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/json_check.h"
#include "cnntrain/base/listed.h"

namespace cnntrain::train {
namespace {

using data::Origin;
using data::OriginPart;
using nlohmann::json;

constexpr const char* kDamaged = "what the checkpoint says about its data is damaged: ";
constexpr const char* kTraining = "training";
constexpr const char* kValidation = "validation";

/// Parts are lists: there may be thousands of them.
json to_json(const Origin& origin) {
    json parts = json::array();
    for (const OriginPart& part : origin.parts)
        parts.push_back({part.name, part.bytes, part.samples, part.checksum});
    return {{"samples", origin.samples}, {"recipe", origin.recipe}, {"parts", std::move(parts)}};
}

std::uint64_t count_in(const json& node, std::uint64_t most = std::numeric_limits<std::int64_t>::max()) {
    if (node.is_number_unsigned() && node.get<std::uint64_t>() <= most) return node.get<std::uint64_t>();
    throw Error(ErrorKind::data, "expected a whole number, found " + node.dump().substr(0, 40));
}

Origin origin_in(const json& document) {
    constexpr std::uint64_t kMostChecksum = std::numeric_limits<std::uint32_t>::max();
    Origin origin{.samples = static_cast<std::int64_t>(count_in(document.at("samples"))),
                  .recipe = document.at("recipe")};
    for (const json& part : document.at("parts")) {
        origin.parts.push_back({part.at(0), count_in(part.at(1)), static_cast<std::int64_t>(count_in(part.at(2))),
                                static_cast<std::uint32_t>(count_in(part.at(3), kMostChecksum))});
    }
    return origin;
}

/// "400 samples in 1229200 bytes"
std::string size_of(const OriginPart& part) {
    const std::string samples = part.samples > 0 ? counted(part.samples, "sample") + " in " : "";
    return samples + counted(static_cast<std::int64_t>(part.bytes), "byte");
}

std::string size_and_checksum(const OriginPart& part) {
    return size_of(part) + ", checksum " + hex_text(part.checksum);
}

const OriginPart* part_named(const Origin& origin, const std::string& name) {
    const auto found = std::ranges::find(origin.parts, name, &OriginPart::name);
    return found == origin.parts.end() ? nullptr : &*found;
}

std::vector<std::string> other_parts(const Origin& expected, const Origin& found) {
    std::vector<std::string> texts;
    for (const OriginPart& part : expected.parts) {
        const OriginPart* const now = part_named(found, part.name);
        if (now == nullptr) {
            texts.push_back(part.name + " is missing (" + size_of(part) + ")");
        } else if (!(part == *now)) {
            texts.push_back(other_part(part, *now));
        }
    }
    for (const OriginPart& part : found.parts) {
        if (part_named(expected, part.name) == nullptr) texts.push_back(part.name + " is new (" + size_of(part) + ")");
    }
    if (texts.empty() && !(expected.parts == found.parts))
        texts.push_back("the same files in another order, from " + found.parts.front().name + " on");
    return texts;
}

std::string source_of(const Origin& origin) {
    return origin.recipe.empty() ? counted(std::ssize(origin.parts), "file") : origin.recipe;
}

/// "" when both are the same.
std::string other_split(const Origin& expected, const Origin& found) {
    if (expected == found) return {};
    constexpr std::size_t kMost = 5;
    std::vector<std::string> texts;
    if (expected.recipe != found.recipe) {
        texts.push_back("expected " + source_of(expected) + ", found " + source_of(found));
    } else {
        texts = other_parts(expected, found);
    }
    if (texts.size() > kMost) {
        const std::size_t more = texts.size() - kMost;
        texts.resize(kMost);
        texts.push_back("and " + std::to_string(more) + " more");
    }
    if (expected.samples != found.samples) {
        texts.insert(texts.begin(),
                     "expected " + counted(expected.samples, "sample") + ", found " + std::to_string(found.samples));
    }
    return joined(texts, "; ");
}

void add_settings(const std::optional<Origin>& origin, const std::string& split,
                  std::vector<comm::SharedSetting>& settings) {
    if (!origin) return;
    settings.push_back({split + " data", counted(origin->samples, "sample") + " of " + source_of(*origin)});
    for (const OriginPart& part : origin->parts)
        settings.push_back({part.name, size_and_checksum(part)});
}

}  // namespace

std::string other_part(const OriginPart& expected, const OriginPart& found) {
    const bool same_size = expected.bytes == found.bytes && expected.samples == found.samples;
    if (same_size) {
        return expected.name + ": expected checksum " + hex_text(expected.checksum) + " of " + size_of(expected) +
               ", found " + hex_text(found.checksum);
    }
    return expected.name + ": expected " + size_of(expected) + ", found " + size_of(found);
}

std::string to_text(const DataOrigin& origin) {
    json document = json::object();
    if (origin.training) document[kTraining] = to_json(*origin.training);
    if (origin.validation) document[kValidation] = to_json(*origin.validation);
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

DataOrigin origin_of(const std::string& text) {
    DataOrigin origin;
    try {
        check_json(text);
        const json document = json::parse(text);
        if (document.contains(kTraining)) origin.training = origin_in(document.at(kTraining));
        if (document.contains(kValidation)) origin.validation = origin_in(document.at(kValidation));
    } catch (const json::exception& error) {
        throw Error(ErrorKind::data, std::string(kDamaged) + error.what());
    } catch (const Error& error) {
        throw Error(ErrorKind::data, std::string(kDamaged) + error.what());
    }
    return origin;
}

std::string other_data(const DataOrigin& expected, const DataOrigin& found) {
    std::string text;
    const auto add = [&](const char* split, const auto& before, const auto& now) {
        const std::string other = before && now ? other_split(*before, *now) : "";
        if (!other.empty()) text += (text.empty() ? "" : ". ") + std::string("Data for ") + split + ": " + other;
    };
    add(kTraining, expected.training, found.training);
    add(kValidation, expected.validation, found.validation);
    return text;
}

std::vector<comm::SharedSetting> shared_settings(const DataOrigin& origin) {
    std::vector<comm::SharedSetting> settings;
    add_settings(origin.training, kTraining, settings);
    add_settings(origin.validation, kValidation, settings);
    return settings;
}

}  // namespace cnntrain::train
