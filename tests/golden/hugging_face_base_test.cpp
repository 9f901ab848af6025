#include <gtest/gtest.h>

#include "golden/hugging_face.h"

namespace cnntrain::golden {
namespace {

TEST(GoldenHuggingFace, BertBase) {
    compare_with_transformers("base", {});
}

}  // namespace
}  // namespace cnntrain::golden
