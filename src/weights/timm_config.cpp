#include "cnntrain/weights/hugging_face.h"

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::weights {
namespace {

using nlohmann::json;

constexpr std::size_t kColours = 3;
constexpr double kLeastDeviation = 1e-6;
constexpr std::int64_t kLargestImage = 16384;
constexpr std::int64_t kMostTimmClasses = 1'000'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 26;

/// The values of timm's config.json, in which pretrained_cfg has what the document itself does not have.
class TimmReader {
public:
    TimmReader(std::string_view text, const std::string& path) : path_(path) {
        try {
            check_json(text);
        } catch (const Error& error) {
            throw Error(ErrorKind::data, path + ": " + error.what());
        }
        document_ = json::parse(text);
    }

    bool is_of_timm() const {
        return document_.is_object() && document_.contains("architecture") && document_.contains("pretrained_cfg");
    }

    std::string text(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_string()) fail(key, *value);
        return value->get<std::string>();
    }

    std::int64_t whole(const char* key, std::int64_t most) const {
        const json* const value = find(key);
        return value == nullptr ? 0 : whole(key, *value, most);
    }

    std::optional<double> share(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_number() || !(value->get<double>() > 0) || value->get<double>() > 1) fail(key, *value);
        return value->get<double>();
    }

    /// The last two of three numbers: a square image.
    std::optional<std::int64_t> image_size() const {
        const json* const value = find("input_size");
        if (value == nullptr) return std::nullopt;
        const bool square = value->is_array() && value->size() == kColours && (*value)[1] == (*value)[2];
        if (!square || (*value)[0] != kColours) fail("input_size", *value);
        return whole("input_size", (*value)[1], kLargestImage);
    }

    /// Three numbers of `low` to 1.
    std::vector<double> colours(const char* key, double low) const {
        const json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_array() || value->size() != kColours) fail(key, *value);
        std::vector<double> numbers;
        for (const json& number : *value) {
            if (!number.is_number() || number.get<double>() < low || number.get<double>() > 1) fail(key, *value);
            numbers.push_back(number.get<double>());
        }
        return numbers;
    }

    std::vector<std::string> texts(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_array()) fail(key, *value);
        std::vector<std::string> result;
        for (const json& text : *value) {
            if (!text.is_string()) fail(key, text);
            result.push_back(text.get<std::string>());
        }
        return result;
    }

    [[noreturn]] void fail(const char* key, const json& value) const {
        throw Error(ErrorKind::data, path_ + ": " + key + " cannot be " +
                                         value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 100));
    }

private:
    static const json* in(const json& object, const char* key) {
        if (!object.is_object()) return nullptr;
        const auto found = object.find(key);
        return found == object.end() || found->is_null() ? nullptr : &*found;
    }
    const json* find(const char* key) const {
        const json* const own = in(document_, key);
        return own != nullptr ? own : in(document_.at("pretrained_cfg"), key);
    }
    std::int64_t whole(const char* key, const json& value, std::int64_t most) const {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
            fail(key, value);
        return value.get<std::int64_t>();
    }

    std::string path_;
    json document_;
};

}  // namespace

std::optional<TimmConfig> parse_timm_config(std::string_view text, const std::string& path) {
    const TimmReader reader(text, path);
    if (!reader.is_of_timm()) return std::nullopt;
    TimmConfig config;
    config.architecture = reader.text("architecture");
    config.classes = reader.whole("num_classes", kMostTimmClasses);
    config.class_names = reader.texts("label_names");
    config.image_size = reader.image_size();
    config.mean = reader.colours("mean", 0);
    config.deviation = reader.colours("std", kLeastDeviation);
    config.crop_fraction = reader.share("crop_pct");
    config.interpolation = reader.text("interpolation");
    config.crop_mode = reader.text("crop_mode");
    const bool names_fit =
        config.class_names.empty() || config.classes == 0 || std::ssize(config.class_names) == config.classes;
    if (!names_fit) {
        throw Error(ErrorKind::data, path + ": label_names has " + std::to_string(config.class_names.size()) +
                                         " names, num_classes is " + std::to_string(config.classes));
    }
    return config;
}

std::optional<TimmConfig> timm_config_beside(const FileSystem& files, const std::string& weights) {
    const std::string path = weights.substr(0, weights.size() - last_part(weights).size()) + "config.json";
    if (!exists(files, path)) return std::nullopt;
    return parse_timm_config(read_text(files, path, kMostBytes), path);
}

}  // namespace cnntrain::weights
