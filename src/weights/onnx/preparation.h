// Nodes that prepare photos as evaluation does (cnntrain/data/photo_input.h), in front of an image network.
#pragma once

#include <string>

#include "cnntrain/data/settings.h"
#include "weights/onnx/lowering.h"

namespace cnntrain::weights {

/// The input: pixels u8 [N,H,W,3] of any size. Images that are standardised one by one have the size of the network's.
OnnxPort photo_port(const std::string& name, const data::DataSettings& images);

/// Returns the name of the network's images, f32 [N,3,S,S].
std::string add_preparation(OnnxBuilder& builder, const std::string& photos, const data::DataSettings& images);

}  // namespace cnntrain::weights
