#include "data/example.h"

#include <limits>

#include "cnntrain/base/error.h"
#include "example.pb.h"

namespace cnntrain::data {
namespace {

using Features = google::protobuf::Map<std::string, proto::Feature>;

[[noreturn]] void fail_type(const char* key, const char* expected) {
    throw Error(ErrorKind::data,
                std::string("feature ") + key + " of the tf.Example is not a list of " + expected + " values");
}

/// The feature if it is there and set.
proto::Feature* find(Features& features, const char* key) {
    const auto found = features.find(key);
    if (found == features.end() || found->second.kind_case() == proto::Feature::KIND_NOT_SET) return nullptr;
    return &found->second;
}

std::string take_bytes(Features& features, const char* key) {
    proto::Feature* feature = find(features, key);
    if (feature == nullptr) return {};
    if (!feature->has_bytes_list()) fail_type(key, "bytes");
    auto& list = *feature->mutable_bytes_list();
    return list.value_size() == 0 ? std::string() : std::move(*list.mutable_value(0));
}

std::int64_t integer_or(Features& features, const char* key, std::int64_t otherwise) {
    const proto::Feature* feature = find(features, key);
    if (feature == nullptr) return otherwise;
    if (!feature->has_int64_list()) fail_type(key, "int64");
    return feature->int64_list().value_size() == 0 ? otherwise : feature->int64_list().value(0);
}

std::vector<float> floats(Features& features, const char* key) {
    const proto::Feature* feature = find(features, key);
    if (feature == nullptr) return {};
    if (!feature->has_float_list()) fail_type(key, "float");
    const auto& values = feature->float_list().value();
    return {values.begin(), values.end()};
}

}  // namespace

ImageExample parse_image_example(std::span<const std::byte> record) {
    proto::Example message;
    if (record.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
        !message.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
        throw Error(ErrorKind::data, "the record is not a tf.Example");
    }
    Features& features = *message.mutable_features()->mutable_feature();
    ImageExample example;
    example.jpeg = take_bytes(features, "image/encoded");
    example.label = integer_or(features, "image/class/label", -1);
    const std::vector<float> y_min = floats(features, "image/object/bbox/ymin");
    const std::vector<float> x_min = floats(features, "image/object/bbox/xmin");
    const std::vector<float> y_max = floats(features, "image/object/bbox/ymax");
    const std::vector<float> x_max = floats(features, "image/object/bbox/xmax");
    if (x_min.size() != y_min.size() || y_max.size() != y_min.size() || x_max.size() != y_min.size()) {
        throw Error(ErrorKind::data, "the lists image/object/bbox/{ymin,xmin,ymax,xmax} differ in length");
    }
    for (std::size_t i = 0; i < y_min.size(); ++i) {
        example.boxes.push_back({y_min[i], x_min[i], y_max[i], x_max[i]});
    }
    return example;
}

}  // namespace cnntrain::data
