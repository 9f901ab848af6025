#include "data/records/example.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/base/wire.h"
#include "cnntrain/data/inspect.h"
#include "data/records/tfrecord.h"

namespace cnntrain::data {
namespace {

void require(bool ok) {
    if (!ok) throw Error(ErrorKind::data, "the record is not a tf.Example");
}

/// Returns false if the feature is not set.
bool has_list(std::span<const std::byte> feature, std::string_view key, FeatureType expected) {
    const std::optional<FeatureType> type = list_type(feature);
    require(type.has_value());
    if (*type == FeatureType::none) return false;
    if (*type == expected) return true;
    throw Error(ErrorKind::data, "feature " + std::string(key) + " of the tf.Example is not a list of " +
                                     std::string(name(expected)) + " values");
}

std::span<const std::byte> first_bytes(std::span<const std::byte> feature, std::string_view key) {
    std::optional<std::span<const std::byte>> first;
    if (!has_list(feature, key, FeatureType::bytes)) return {};
    require(for_each_bytes(feature, [&](std::span<const std::byte> value) {
        if (!first) first = value;
    }));
    return first.value_or(std::span<const std::byte>());
}

std::int64_t first_integer(std::span<const std::byte> feature, std::string_view key, std::int64_t otherwise) {
    std::optional<std::int64_t> first;
    if (!has_list(feature, key, FeatureType::integers)) return otherwise;
    require(for_each_integer(feature, [&](std::int64_t value) {
        if (!first) first = value;
    }));
    return first.value_or(otherwise);
}

struct Coordinate {
    std::string_view key;
    float Box::*member;
};
constexpr std::array<Coordinate, 4> kCoordinates = {{{"image/object/bbox/ymin", &Box::y_min},
                                                     {"image/object/bbox/xmin", &Box::x_min},
                                                     {"image/object/bbox/ymax", &Box::y_max},
                                                     {"image/object/bbox/xmax", &Box::x_max}}};

/// Encoded features in the record; empty if absent.
struct FoundFields {
    std::span<const std::byte> encoded;
    std::span<const std::byte> label;
    std::array<std::span<const std::byte>, kCoordinates.size()> coordinates;
};

FoundFields find_features(std::span<const std::byte> record) {
    FoundFields found;
    require(for_each_feature(record, [&](const FeatureEntry& entry) {
        if (entry.key == "image/encoded") found.encoded = entry.feature;
        if (entry.key == "image/class/label") found.label = entry.feature;
        for (std::size_t i = 0; i < kCoordinates.size(); ++i) {
            if (entry.key == kCoordinates[i].key) found.coordinates[i] = entry.feature;
        }
        return true;
    }));
    return found;
}

void read_boxes(const FoundFields& found, std::vector<Box>& boxes) {
    boxes.clear();
    std::array<std::size_t, kCoordinates.size()> counts{};
    for (std::size_t i = 0; i < kCoordinates.size(); ++i) {
        if (!has_list(found.coordinates[i], kCoordinates[i].key, FeatureType::floats)) continue;
        require(for_each_float(found.coordinates[i], [&](float value) {
            if (counts[i] == boxes.size()) boxes.emplace_back();
            boxes[counts[i]++].*kCoordinates[i].member = value;
        }));
    }
    for (const std::size_t count : counts) {
        if (count != counts.front())
            throw Error(ErrorKind::data, "the lists image/object/bbox/{ymin,xmin,ymax,xmax} differ in length");
    }
}

}  // namespace

void parse_image_example(std::span<const std::byte> record, ImageExample& example) {
    const FoundFields found = find_features(record);
    example.jpeg = first_bytes(found.encoded, "image/encoded");
    example.label = first_integer(found.label, "image/class/label", -1);
    read_boxes(found, example.boxes);
}

namespace {

/// Encoded size of a field with `size` bytes of content.
std::uint64_t field_size(std::uint64_t size) {
    const auto length = static_cast<std::uint64_t>(std::bit_width(size | 1) + 6) / 7;
    return 1 + length + size;
}

void begin_field(std::uint32_t number, std::uint64_t size, std::string& bytes) {
    append_varint(number << 3 | static_cast<std::uint32_t>(WireType::bytes), bytes);
    append_varint(size, bytes);
}

}  // namespace

void ExampleEncoder::add(std::string_view key, std::span<const std::uint32_t> integers) {
    values_.clear();
    for (const std::uint32_t value : integers)
        append_varint(value, values_);
    add_list(key, FeatureType::integers, values_);
}

void ExampleEncoder::add(std::string_view key, std::span<const std::int64_t> integers) {
    values_.clear();
    for (const std::int64_t value : integers)
        append_varint(static_cast<std::uint64_t>(value), values_);
    add_list(key, FeatureType::integers, values_);
}

void ExampleEncoder::add(std::string_view key, std::span<const float> floats) {
    add_list(key, FeatureType::floats, {reinterpret_cast<const char*>(floats.data()), floats.size_bytes()});
}

void ExampleEncoder::add(std::string_view key, std::string_view bytes) {
    add_list(key, FeatureType::bytes, bytes);
}

void ExampleEncoder::add_list(std::string_view key, FeatureType type, std::string_view values) {
    // Without numbers a list is empty, as in the published sets; bytes are one value even if there are none.
    const bool has_values = type == FeatureType::bytes || !values.empty();
    const std::uint64_t list_size = has_values ? field_size(values.size()) : 0;
    const std::uint64_t feature_size = field_size(list_size);
    begin_field(kFeatureEntry, field_size(key.size()) + field_size(feature_size), features_);
    begin_field(kEntryKey, key.size(), features_);
    features_ += key;
    begin_field(kEntryFeature, feature_size, features_);
    begin_field(static_cast<std::uint32_t>(type), list_size, features_);
    if (!has_values) return;
    begin_field(kListValues, values.size(), features_);
    features_ += values;
}

void ExampleEncoder::finish(std::string& bytes) {
    begin_field(kFeatures, features_.size(), bytes);
    bytes += features_;
    features_.clear();
}

std::string_view name(FeatureType type) {
    constexpr std::array<std::string_view, 4> kNames = {"none", "bytes", "float", "int64"};
    return kNames[static_cast<std::size_t>(type)];
}

namespace {

using Kind = PretrainingFault::Kind;
constexpr std::size_t kMostFields = 10;

PretrainingFault not_an_example() {
    return {Kind::not_an_example, "the record is not a tf.Example"};
}

std::string range_text(const PretrainingKey& key) {
    return std::to_string(key.least) + ".." + std::to_string(key.most);
}

PretrainingFault wrong_value(const PretrainingKey& key, std::int64_t place, const std::string& value) {
    return {Kind::wrong_value,
            std::string(key.key) + "[" + std::to_string(place) + "] is " + value + ", not in " + range_text(key)};
}

/// Stores the values of one key and records the first fault.
class FieldWriter {
public:
    FieldWriter(const PretrainingKey& key, std::span<std::byte> out) : key_(key), out_(out) {
        CNNTRAIN_CHECK(out.size() == static_cast<std::size_t>(key.length) * 4, "a field of another size");
    }

    void put(std::int64_t value) {
        if (!fault_ && (value < key_.least || value > key_.most)) {
            fault_ = wrong_value(key_, count_, std::to_string(value));
            fault_->limit = value > key_.most ? key_.most_from : PretrainingLimit::none;
            fault_->found = value;
        }
        if (!fault_ && key_.counts_sequences && !may_follow(value)) {
            fault_ = {Kind::wrong_value, std::string(key_.key) + "[" + std::to_string(count_) + "] is " +
                                             std::to_string(value) + " behind " + std::to_string(before_) +
                                             ", but the sequences lie one behind the other, and 0 is padding"};
        }
        before_ = value;
        store(static_cast<std::int32_t>(value));
    }
    void put(float value) {
        const bool in_range = value >= static_cast<float>(key_.least) && value <= static_cast<float>(key_.most);
        if (!fault_ && !in_range) fault_ = wrong_value(key_, count_, decimal(static_cast<double>(value), 6));
        store(value);
    }

    std::optional<PretrainingFault> fault() const {
        if (count_ == key_.length) return fault_;
        return PretrainingFault{
            Kind::wrong_length,
            std::string(key_.key) + " has " + std::to_string(count_) + " values, not " + std::to_string(key_.length),
            key_.length_from, count_};
    }

private:
    bool may_follow(std::int64_t value) const {
        const bool in_padding = count_ > 0 && before_ == 0;
        return value == 0 || (!in_padding && (value == before_ || value == before_ + 1));
    }

    template <typename T> void store(T value) {
        if (count_ < key_.length)
            std::memcpy(out_.data() + static_cast<std::size_t>(count_) * sizeof value, &value, sizeof value);
        ++count_;
    }

    const PretrainingKey& key_;
    std::span<std::byte> out_;
    std::int64_t count_ = 0;
    std::int64_t before_ = 0;
    std::optional<PretrainingFault> fault_;
};

std::optional<PretrainingFault> read_field(const PretrainingKey& key, std::span<const std::byte> feature,
                                           std::span<std::byte> out) {
    const std::optional<FeatureType> type = list_type(feature);
    if (!type) return not_an_example();
    if (*type != FeatureType::none && *type != key.type) {
        return PretrainingFault{Kind::wrong_type,
                                std::string(key.key) + " is not a list of " + std::string(name(key.type)) + " values"};
    }
    FieldWriter writer(key, out);
    const bool sound = key.type == FeatureType::floats
                           ? for_each_float(feature, [&](float value) { writer.put(value); })
                           : for_each_integer(feature, [&](std::int64_t value) { writer.put(value); });
    return sound ? writer.fault() : not_an_example();
}

}  // namespace

std::vector<PretrainingKey> pretraining_keys(const PretrainingSettings& settings) {
    using Limit = PretrainingLimit;
    const std::int64_t length = settings.sequence_length;
    const std::int64_t predictions = settings.max_predictions;
    const auto of_tokens = [&](std::string_view key, std::int64_t most, Limit from) {
        return PretrainingKey{key, key, FeatureType::integers, length, Limit::sequence_length, 0, most, from};
    };
    const auto of_predictions = [&](std::string_view key, std::int64_t most, Limit from) {
        return PretrainingKey{key, key, FeatureType::integers, predictions, Limit::max_predictions, 0, most, from};
    };
    const auto number = [](std::string_view key, std::int64_t least, std::int64_t most) {
        return PretrainingKey{key, key, FeatureType::integers, 1, Limit::none, least, most, Limit::none};
    };
    const auto of_sequences = [&](std::string_view key, std::int64_t most) {
        return PretrainingKey{key,  key,        FeatureType::integers, most_sequences(settings), Limit::none, 0,
                              most, Limit::none};
    };
    std::vector<PretrainingKey> keys = {of_tokens(kInputIds, settings.vocabulary_size - 1, Limit::vocabulary_size),
                                        of_tokens(kSegmentIds, settings.type_vocabulary - 1, Limit::type_vocabulary)};
    if (settings.static_mask && !settings.packed) {
        keys.push_back(of_tokens(kInputPosition, settings.max_positions - 1, Limit::max_positions));
        keys.push_back(number(kMaskPaddingIndex, 0, predictions));
        keys.push_back(number(kSeqPaddingIndex, predictions, length));
        keys.push_back(of_predictions(kMaskedLabels, settings.vocabulary_size - 1, Limit::vocabulary_size));
        keys.back().field = kMaskedLmIds;
    } else {
        if (settings.packed) {
            keys.push_back(of_tokens(kInputPosition, settings.max_positions - 1, Limit::max_positions));
            keys.push_back(of_tokens(kSequenceNumbers, most_sequences(settings), Limit::none));
            keys.back().counts_sequences = true;
        } else {
            keys.push_back(of_tokens(kInputMask, 1, Limit::none));
        }
        keys.push_back(of_predictions(kMaskedLmPositions, length - 1, Limit::none));
        keys.push_back(of_predictions(kMaskedLmIds, settings.vocabulary_size - 1, Limit::vocabulary_size));
    }
    keys.push_back(of_predictions(kMaskedLmWeights, 1, Limit::none));
    keys.back().type = FeatureType::floats;
    if (!settings.packed) {
        keys.push_back(number(kNextSentenceLabels, 0, 1));
        return keys;
    }
    keys.push_back(of_sequences(kNextSentencePositions, length - 1));
    keys.push_back(of_sequences(kNextSentenceLabels, 1));
    keys.push_back(of_sequences(kNextSentenceWeights, 1));
    keys.back().type = FeatureType::floats;
    return keys;
}

std::optional<PretrainingFault> parse_pretraining_example(std::span<const std::byte> record,
                                                          std::span<const PretrainingKey> keys, SampleView out) {
    CNNTRAIN_CHECK(keys.size() == out.size() && keys.size() <= kMostFields, "fields of another layout");
    std::array<std::optional<std::span<const std::byte>>, kMostFields> found;
    const bool sound = for_each_feature(record, [&](const FeatureEntry& entry) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (entry.key == keys[i].key) found[i] = entry.feature;
        }
        return true;
    });
    if (!sound) return not_an_example();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!found[i]) return PretrainingFault{Kind::missing_key, "key " + std::string(keys[i].key) + " is missing"};
        if (auto fault = read_field(keys[i], *found[i], out[i])) return fault;
    }
    return std::nullopt;
}

std::optional<PretrainingSettings> settings_of_record(std::span<const std::byte> record) {
    constexpr std::int64_t kAny = std::numeric_limits<std::int32_t>::max();
    PretrainingSettings settings;
    settings.vocabulary_size = kAny;
    settings.max_positions = kAny;
    settings.type_vocabulary = kAny;
    std::span<const std::byte> tokens;
    std::span<const std::byte> weights;
    const bool sound = for_each_feature(record, [&](const FeatureEntry& entry) {
        if (entry.key == kInputIds) tokens = entry.feature;
        if (entry.key == kMaskedLmWeights) weights = entry.feature;
        settings.static_mask = settings.static_mask || entry.key == kMaskedLabels;
        settings.packed = settings.packed || entry.key == kSequenceNumbers;
        return true;
    });
    settings.sequence_length = 0;
    settings.max_predictions = 0;
    if (!sound || !for_each_integer(tokens, [&](std::int64_t) { ++settings.sequence_length; }) ||
        !for_each_float(weights, [&](float) { ++settings.max_predictions; })) {
        return std::nullopt;
    }
    return settings;
}

}  // namespace cnntrain::data
