#pragma once

namespace popnn {

enum class PoolingType { MAX };

}  // namespace popnn
