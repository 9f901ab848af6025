#include "data/write/example_writer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "example.pb.h"

namespace cnntrain::data {
namespace {

using Features = google::protobuf::Map<std::string, proto::Feature>;

void put_integer(Features& features, const char* key, std::int64_t value) {
    features[key].mutable_int64_list()->add_value(value);
}

void put_integers(Features& features, const char* key, const std::vector<std::int64_t>& values) {
    features[key].mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
}

void put_bytes(Features& features, const char* key, std::string value) {
    features[key].mutable_bytes_list()->add_value(std::move(value));
}

/// Writes one coordinate of each box; an empty list if there are no boxes, as in the published set.
void put_boxes(Features& features, const char* key, const std::vector<ObjectBox>& boxes, float ObjectBox::*coordinate) {
    auto& list = *features[key].mutable_float_list();
    for (const ObjectBox& box : boxes) {
        list.add_value(box.*coordinate);
    }
}

}  // namespace

std::string serialise_image_example(ImageDescription image) {
    proto::Example message;
    Features& features = *message.mutable_features()->mutable_feature();
    put_integer(features, "image/height", image.height);
    put_integer(features, "image/width", image.width);
    put_bytes(features, "image/colorspace", "RGB");
    put_integer(features, "image/channels", 3);
    put_integer(features, "image/class/label", image.label);
    put_bytes(features, "image/class/synset", std::move(image.synset));
    put_bytes(features, "image/class/text", std::move(image.text));
    put_boxes(features, "image/object/bbox/xmin", image.boxes, &ObjectBox::x_min);
    put_boxes(features, "image/object/bbox/ymin", image.boxes, &ObjectBox::y_min);
    put_boxes(features, "image/object/bbox/xmax", image.boxes, &ObjectBox::x_max);
    put_boxes(features, "image/object/bbox/ymax", image.boxes, &ObjectBox::y_max);
    put_integers(features, "image/object/bbox/label", image.box_labels);
    put_bytes(features, "image/format", "JPEG");
    put_bytes(features, "image/filename", std::move(image.file_name));
    put_bytes(features, "image/encoded", std::move(image.jpeg));

    std::string bytes;
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // otherwise the order of a map is undefined
    message.SerializeToCodedStream(&coded);
    coded.Trim();
    return bytes;
}

}  // namespace cnntrain::data
