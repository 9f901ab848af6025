// Requests that the tests of nn start from.
#pragma once

#include <string>

#include "cnntrain/graph/model.h"

namespace cnntrain::nn {

inline BuildRequest imagenet_request(const std::string& size, std::int64_t batch = 1) {
    BuildRequest request;
    request.model.size = size;
    request.input.images = {DType::f32, {batch, 224, 224, 3}};
    return request;
}

inline BuildRequest cifar_request(const std::string& size, std::int64_t batch = 2) {
    BuildRequest request;
    request.model.size = size;
    request.model.groups = 16;
    request.model.form = NetworkForm::small_images;
    request.model.classes = 10;
    request.model.image_size = 32;
    request.input.images = {DType::f32, {batch, 32, 32, 3}};
    return request;
}

}  // namespace cnntrain::nn
