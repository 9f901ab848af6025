// BERT checkpoints on their way from and to Hugging Face's layout: never a crash; what is imported can be exported and
// imported again, to the same bits. The first byte says what the rest is: 'n' changes to the tensors of a sound file,
// 'h' a header and tensors (as in checkpoint_fuzz.cpp), 'c' a config.json, 'a' an arguments.json.
//
// A change is one of these lines: `- NAME` takes a tensor out, `= NAME TYPE AXIS...` puts one in, `> NAME NAME` renames
// one. The line `! WORD...` has settings.
#include <algorithm>
#include <charconv>
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/hugging_face.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/safetensors_parts.h"

namespace cnntrain::fuzz {
namespace {

using weights::BertConfig;
using weights::Checkpoint;
using weights::Converted;

constexpr const char* kPath = "F/model.safetensors";
constexpr std::int64_t kMostElements = 1 << 12;  // of a tensor that a change puts in
constexpr std::initializer_list<ErrorKind> kRefused = {ErrorKind::data, ErrorKind::unsupported, ErrorKind::usage};

bool same(const Checkpoint& one, const Checkpoint& other) {
    return std::ranges::equal(one.tensors, other.tensors, [](const auto& a, const auto& b) {
        return a.first == b.first && a.second.desc() == b.second.desc() &&
               std::ranges::equal(a.second.bytes(), b.second.bytes());
    });
}

HostTensor numbered(DType type, const Shape& shape) {
    HostTensor tensor({type, shape});
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, static_cast<double>(i % 100));
    return tensor;
}

/// One layer, 2 wide, in our names.
Checkpoint small_net(bool split, bool head) {
    Checkpoint net;
    const auto add = [&](const std::string& name, const Shape& shape) {
        net.tensors.emplace(name, numbered(DType::bf16, shape));
    };
    const auto dense = [&](const std::string& scope, std::int64_t inputs, std::int64_t outputs) {
        add(scope + "/kernel", {inputs, outputs});
        add(scope + "/bias", {outputs});
    };
    const auto norm = [&](const std::string& scope) {
        add(scope + "/LayerNorm/gamma", {2});
        add(scope + "/LayerNorm/beta", {2});
    };
    add("bert/embeddings/word_embeddings", {5, 2});
    add("bert/embeddings/position_embeddings", {3, 2});
    add("bert/embeddings/token_type_embeddings", {2, 2});
    norm("bert/embeddings");
    const std::string layer = "bert/encoder/layer_0";
    if (split) {
        for (const char* part : {"query", "key", "value"})
            add(layer + "/attention/self/" + part + "/kernel", {2, 2});
    } else {
        add(layer + "/attention/self/kernel/qkv_weight", {2, 6});
    }
    dense(layer + "/attention/projection/dense", 2, 2);
    norm(layer + "/attention/projection");
    dense(layer + "/intermediate/dense", 2, 3);
    dense(layer + "/output/dense", 3, 2);
    norm(layer + "/output");
    dense("bert/pooler/dense", 2, 2);
    add("cls/seq_relationship/output_weights", {2, 2});
    add("cls/seq_relationship/output_bias", {2});
    if (head) {
        dense("cls/predictions/transform/dense", 2, 2);
        norm("cls/predictions/transform");
        add("cls/predictions/output_bias", {5});
    }
    return net;
}

struct Case {
    Checkpoint file;
    weights::ImportSettings import;
    weights::ExportSettings written;
};

std::int64_t number_of(const std::string& word) {
    std::int64_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    return number;
}

DType type_named(const std::string& word) {
    for (const DType type : {DType::f64, DType::bf16, DType::f16, DType::u8, DType::i32, DType::i64}) {
        if (word == name(type)) return type;
    }
    return DType::f32;
}

void put(Checkpoint& file, std::istringstream& words) {
    std::string name;
    std::string word;
    words >> name >> word;
    const DType type = type_named(word);
    Shape shape;
    std::int64_t elements = 1;
    while (words >> word && shape.size() < 5) {
        const std::int64_t axis = number_of(word);
        if (axis < 0 || axis > kMostElements || elements * axis > kMostElements) return;
        shape.push_back(axis);
        elements *= axis;
    }
    file.tensors.insert_or_assign(name, numbered(type, shape));
}

void set(Case& what, std::istringstream& words) {
    std::string word;
    while (words >> word) {
        if (word == "joined") what.import.variables.qkv_split = false;
        if (word == "no-biases") what.import.variables = {what.import.variables.qkv_split, false, false, false};
        if (word == "no-classifier") what.import.classifier = false;
        if (word == "no-transform") what.written.transform = false;
        if (word.starts_with("words")) what.import.vocabulary = std::max<std::int64_t>(0, number_of(word.substr(5)));
        if (word.starts_with("hidden")) what.import.sizes.hidden = number_of(word.substr(6));
    }
}

/// The first letter chooses the file that is changed.
Case changed_case(std::string_view text) {
    Case what;
    const char base = text.empty() ? 'A' : text.front();
    what.file = small_net(base % 2 == 0, base % 4 < 2);
    if (base >= 'a') what.file = weights::to_hugging_face(what.file, {}, "base").checkpoint;
    std::istringstream lines{std::string(text.substr(std::min<std::size_t>(1, text.size())))};
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string kind;
        std::string name;
        words >> kind;
        if (kind == "=") put(what.file, words);
        if (kind == "!") set(what, words);
        if (kind == "-" && words >> name) what.file.tensors.erase(name);
        std::string other;
        if (kind != ">" || !(words >> name >> other)) continue;
        auto node = what.file.tensors.extract(name);
        if (node.empty()) continue;
        node.key() = other;
        what.file.tensors.insert(std::move(node));
    }
    return what;
}

void check_export(const Case& what, const Checkpoint& ours) {
    Converted theirs;
    if (!accepted([&] { theirs = weights::to_hugging_face(ours, what.written, "ours"); }, kRefused)) return;
    // The way back gives the same bits, but for the weights that were left out.
    Converted back = weights::from_hugging_face(theirs.checkpoint, {.variables = theirs.variables}, "theirs");
    Checkpoint kept = ours;
    for (const auto& names : {theirs.left_out, theirs.slots}) {
        for (const std::string& name : names)
            require(kept.tensors.erase(name) == 1);
    }
    require(same(kept, back.checkpoint) && back.left_out.empty());
    // A second way out gives the same bits as the first one. Without the layer that was left out, the network is
    // another one.
    if (!what.written.transform) return;
    require(
        same(theirs.checkpoint, weights::to_hugging_face(std::move(back.checkpoint), what.written, "back").checkpoint));
}

void check_import(const Case& what) {
    Converted ours;
    if (!accepted([&] { ours = weights::from_hugging_face(what.file, what.import, kPath); }, kRefused)) return;
    const std::size_t gone = ours.left_out.size() + ours.without_effect.size();
    require(gone <= what.file.tensors.size());
    require(ours.sizes.hidden > 0 && ours.sizes.layers > 0 && ours.slots.empty());
    check_export(what, ours.checkpoint);
}

void check_case(const Case& what) {
    if (weights::is_hugging_face(what.file)) {
        check_import(what);
    } else {
        check_export(what, what.file);
    }
}

/// Header and tensors, read as a file with a config.json next to it.
void check_file(std::string_view parts) {
    MemoryFiles files;
    write_text(files, kPath, sound_file(parts));
    Case what;
    if (!accepted([&] { what.file = weights::load(files, kPath); }, kRefused)) return;
    check_case(what);
}

void check_config(std::string_view text) {
    BertConfig config;
    if (!accepted([&] { config = weights::parse_bert_config(text, "config.json"); }, kRefused)) return;
    require(weights::parse_bert_config(to_json(config), "again") == config);
}

std::string file_text(const Checkpoint& checkpoint) {
    MemoryFiles files;
    weights::save(files, kPath, checkpoint);
    return read_text(files, kPath);
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string layer = "bert.encoder.layer.0.attention.self.";
    std::vector<std::string> all = {
        "nA",
        "nB",
        "nC",
        "nD",
        "na",
        "nb",
        "nc",
        "nd",
        "nd! joined no-biases words3\n",
        "nd! no-transform hidden2\n= classifier.weight f32 3 2\n= classifier.bias f32 3\n",
        "nd= " + layer + "query.weight f32 4 2\n! joined\n",
        "nd= " + layer + "key.bias i64 2\n- bert.pooler.dense.bias\n",
        "nd> bert.pooler.dense.bias pooler.dense.bias\n> bert.embeddings.LayerNorm.weight embeddings.LayerNorm.gamma\n",
        "nd= bert.encoder.layer.4000000000.output.dense.bias f32 2\n",
        "nd= cls.predictions.decoder.weight bf16 5 2\n= cls.predictions.decoder.bias bf16 5\n! words2\n",
        "nA= bert/pooler/dense/bias/Momentum f32 2\n= bert/other f16 1 1\n! no-transform\n",
        "nB= bert/encoder/layer_0/attention/self/kernel/qkv_weight f32 2 4\n",
        "c{\"hidden_act\":\"gelu_new\",\"layer_norm_eps\":1e-12,\"hidden_size\":128,\"num_attention_heads\":2}",
        "c{\"architectures\":[\"BertForSequenceClassification\"],\"id2label\":{\"0\":\"a\"},\"cnntrain\":{\"use_qkv_"
        "bias\":false}}",
        "a{\"hidden_act\":\"gelu_erf\",\"layer_norm_epsilon\":0.001,\"num_attention_heads\":2,\"vocab_file\":\"v\"}",
    };
    for (const char base : {true, false}) {
        const Checkpoint net = small_net(base, base);
        all.push_back("h" + parts_of(file_text(net)));
        all.push_back("h" + parts_of(file_text(weights::to_hugging_face(net, {}, "net").checkpoint)));
    }
    return all;
}

// clang-format off
std::vector<std::string> words() {
    return {
        "- ", "= ", "> ", "! ", "\n", " f32", " bf16", " i32", " 0", " 1", " 2", " 3", " 5", " 4294967296",
        "bert.encoder.layer.0.attention.self.query.weight", "bert.encoder.layer.0.attention.self.key.weight",
        "bert.encoder.layer.1.attention.self.key.weight", "bert.encoder.layer.0.attention.self.value.bias",
        "bert.encoder.layer.0.intermediate.dense.weight", "bert.embeddings.word_embeddings.weight",
        "bert/encoder/layer_0/attention/self/kernel/qkv_weight", "bert/embeddings/word_embeddings",
        "bert/encoder/layer_1/output/dense/kernel", "cls.predictions.bias", "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias", "cls.seq_relationship.weight", "cls/predictions/output_bias",
        "classifier.weight", "classifier.bias", "bert.pooler.dense.weight", "embeddings.position_ids", ".gamma",
        "/Momentum", "joined", "no-biases", "words3", "layer.4000000000.", "layer_4000000000/", "\"BF16\"",
        "\"I64\"", "\"shape\"", "[2,2]", "[2]", "[]", "null", "\"hidden_size\":", "\"hidden_act\":",
        "\"num_labels\":", "1e999", "-1", "18446744073709551615"};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    log::set_level(log::Level::error);
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0]) {
        case 'h':
            fuzz::check_file(bytes);
            break;
        case 'c':
            fuzz::check_config(bytes);
            break;
        case 'a':
            fuzz::accepted([&] { weights::parse_bert_arguments(bytes, "arguments.json"); }, fuzz::kRefused);
            break;
        default:
            fuzz::check_case(fuzz::changed_case(bytes));
    }
    return 0;
}
