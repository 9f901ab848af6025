#include <cstring>

#include "cnntrain/base/error.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/image_fields.h"
#include "data/sets/image_sample.h"

namespace cnntrain::data {

std::size_t total_bytes(const std::vector<Field>& fields) {
    std::size_t bytes = 0;
    for (const Field& field : fields)
        bytes += field.desc.bytes();
    return bytes;
}

std::size_t field_number(const std::vector<Field>& fields, std::string_view name) {
    std::string names;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name == name) return i;
        names += (names.empty() ? "" : ", ") + fields[i].name;
    }
    throw Error(ErrorKind::internal, "no field is called " + std::string(name) + "; there are: " + names);
}

const TensorDesc& field_desc(const std::vector<Field>& fields, std::string_view name) {
    return fields[field_number(fields, name)].desc;
}

std::int32_t Dataset::label(std::int64_t /*index*/, Workspace& /*workspace*/) const {
    return kNoLabel;
}

std::vector<Field> image_fields(const TensorDesc& image) {
    return {{std::string(kImages), image}, {std::string(kLabels), {DType::i32, {}}}};
}

void store_label(std::int32_t label, SampleView out) {
    std::memcpy(out[1].data(), &label, sizeof label);
}

void store_nothing(std::int32_t label, SampleView out) {
    std::memset(image_of(out).data(), 0, image_of(out).size());
    store_label(label, out);
}

}  // namespace cnntrain::data
