// Results of the reference program for tests/data/bert/{corpus,vocab}.txt.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fixtures.h"

namespace cnntrain::data {

inline std::string bert_file(const std::string& name) {
    return CNNTRAIN_SOURCE_DIR "/tests/data/bert/" + name;
}
inline const nlohmann::json& bert_golden() {
    static const nlohmann::json golden = nlohmann::json::parse(read_file(bert_file("golden.json")));
    return golden;
}

}  // namespace cnntrain::data
