#pragma once

namespace popnn {

enum class PoolingType { MAX, AVG, SUM };

}  // namespace popnn
