// tf.Examples: never a crash, and where protobuf accepts the bytes too, the same values. What inspection accepts,
// training accepts too, but for keys of another type or length.
#include <google/protobuf/stubs/logging.h>

#include <cmath>
#include <span>

#include "cnntrain/base/error.h"
#include "data/records/example.h"
#include "data/write/inspect.h"
#include "data/write/shard_writer.h"
#include "example.pb.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

bool equal(float a, float b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

/// Compares an example that parse_image_example() accepted with the message class.
void compare(const data::ImageExample& example, const data::proto::Example& message) {
    const auto& features = message.features().feature();
    const auto label = features.find("image/class/label");
    const bool has_label = label != features.end() && label->second.int64_list().value_size() > 0;
    require(example.label == (has_label ? label->second.int64_list().value(0) : -1));
    const auto encoded = features.find("image/encoded");
    const bool has_bytes = encoded != features.end() && encoded->second.bytes_list().value_size() > 0;
    const std::string& bytes = has_bytes ? encoded->second.bytes_list().value(0) : std::string();
    require(std::string_view(reinterpret_cast<const char*>(example.jpeg.data()), example.jpeg.size()) == bytes);
    const auto x_min = features.find("image/object/bbox/xmin");
    const int boxes = x_min == features.end() ? 0 : x_min->second.float_list().value_size();
    require(example.boxes.size() == static_cast<std::size_t>(boxes));
    for (int i = 0; i < boxes; ++i)
        require(equal(example.boxes[static_cast<std::size_t>(i)].x_min, x_min->second.float_list().value(i)));
}

}  // namespace

std::vector<std::string> seeds() {
    data::ImageDescription image{"jpeg bytes", 7, "n01440764", "n01440764_1.JPEG", 30, 40};
    std::vector<std::string> result = {data::serialise_image_example(image)};
    image.text = "tench, Tinca tinca";
    image.boxes = {{0.1F, 0.2F, 0.9F, 0.8F}, {0, 0, 1, 1}};
    image.box_labels = {7, 7};
    result.push_back(data::serialise_image_example(image));
    data::proto::Example unusual;
    (*unusual.mutable_features()->mutable_feature())["image/class/label"];
    (*unusual.mutable_features()->mutable_feature())["image/encoded"].mutable_bytes_list();
    result.push_back(unusual.SerializeAsString());
    // Lists that are not packed: label 9 and xmin 1.
    result.emplace_back(
        "\x0a\x3a\x0a\x19\x0a\x11image/class/label\x12\x04\x1a\x02\x08\x09"
        "\x0a\x1d\x0a\x16image/object/bbox/xmin\x12\x03\x12\x01\x0d");
    return result;
}

std::vector<std::string> words() {
    return {};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    static data::ImageExample example;
    [[maybe_unused]] static auto* const quiet = google::protobuf::SetLogHandler(nullptr);
    const auto record = std::as_bytes(std::span(data, size));
    const bool sound = data::visit_features(record, [](std::string_view, const data::FeatureSummary&) {});
    try {
        data::parse_image_example(record, example);
    } catch (const Error& error) {
        fuzz::require(error.kind() == ErrorKind::data);
        fuzz::require(!sound || std::string_view(error.what()) != "the record is not a tf.Example");
        return 0;
    }
    data::proto::Example message;
    if (message.ParseFromArray(data, static_cast<int>(size))) fuzz::compare(example, message);
    return 0;
}
