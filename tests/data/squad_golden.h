// Results of the reference program for tests/data/squad/squad-v*.json with the vocabulary of tests/data/bert.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bert_golden.h"
#include "cnntrain/data/questions.h"
#include "fixtures.h"

namespace cnntrain::data {

inline std::string squad_file(const std::string& name) {
    return CNNTRAIN_SOURCE_DIR "/tests/data/squad/" + name;
}
inline const nlohmann::json& squad_golden() {
    static const nlohmann::json golden = nlohmann::json::parse(read_file(squad_file("golden.json")));
    return golden;
}

inline QuestionSettings squad_settings(bool training, bool v2) {
    QuestionSettings settings;
    settings.file = squad_file(v2 ? "squad-v2.0.json" : "squad-v1.1.json");
    settings.vocabulary_file = bert_file("vocab.txt");
    settings.sequence_length = v2 ? 24 : 32;
    settings.doc_stride = v2 ? 5 : 8;
    settings.max_query_length = v2 ? 4 : 6;
    settings.training = training;
    settings.v2 = v2;
    return settings;
}

}  // namespace cnntrain::data
