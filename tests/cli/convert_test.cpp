// `cnntrain convert` as a user runs it: networks of the shipped configurations to transformers and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

using nlohmann::json;
using weights::Checkpoint;

const std::string kText = CNNTRAIN_SOURCE_DIR "/tests/data/bert/";
constexpr double kTolerance = 2e-4;  // of numbers with four places, from processors that sum in other orders

/// Lines and results of tools/golden/make_hugging_face_shipped_golden.py.
const json& golden() {
    static const json document = [] {
        std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/hugging_face_shipped.json");
        return json::parse(file);
    }();
    return document;
}

std::string words_of(const std::string& part) {
    std::string line;
    for (const json& word : golden().at(part))
        line += " '" + word.get<std::string>() + "'";
    return line + " ";
}

void run_well(const std::string& line) {
    const Outcome outcome = run(line);
    ASSERT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.text;
}

/// Returns the result `name` of the line that --evaluate prints.
double result_in(const std::string& text, const std::string& name) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(text, found, std::regex("Validation .*" + name + ": +([0-9.]+)"))) << text;
    return found.empty() ? -1 : std::stod(found[1]);
}

Checkpoint load(const std::string& path) {
    return weights::load(posix_files(), path);
}

json read_json(const std::string& path) {
    return json::parse(read_text(posix_files(), path));
}

/// Records, and a run of one configuration in small sizes, made once.
class Convert : public test::SuiteFolder<Convert, ::testing::TestWithParam<std::string>> {
public:
    static void prepare() {
        run_well("dataset bert --input-file " + kText + "corpus.txt --vocab-file " + kText +
                 "vocab.txt --output-file " + records() + words_of("records"));
    }

protected:
    static std::string in(const std::string& name) { return *folder_ / name; }
    static std::string records() { return in("records.tfrecord"); }
    /// Trains it if no test has done so.
    static std::string run_of(const std::string& config, const std::string& more = "", const std::string& name = "") {
        std::string path = in(name.empty() ? config : name);
        if (!exists(posix_files(), path + "/ckpt-1.safetensors")) {
            run_well("pretrain --config " + config + " --train-file " + records() + " --logs-path " + path +
                     words_of("model") + words_of("training") + more);
        }
        return path;
    }
    static std::string tiny() { return run_of("pretrain_tiny_128_lamb"); }
    static std::string evaluation(const std::string& config) {
        return "pretrain --evaluate --no-logs --config " + config + " --valid-file " + records() + words_of("model");
    }
};

class ShippedConfiguration : public Convert {};

TEST_P(ShippedConfiguration, ComesBackBitByBitAndIsJudgedAsTransformersJudgesIt) {
    const std::string point = run_of(GetParam()) + "/ckpt-1";
    const std::string there = in(GetParam() + "_hf/");
    run_well("convert --from " + point + " --to " + there);
    run_well("convert --from " + there + " --to " + in(GetParam() + "_back.safetensors"));
    const Checkpoint ours = load(point + ".safetensors");
    const Checkpoint back = load(in(GetParam() + "_back.safetensors"));
    EXPECT_TRUE(back.tensors.contains("cls/seq_relationship/output_weights"));
    EXPECT_EQ(back.tensors.contains("cls/predictions/output_bias"), GetParam() != "pretrain_tiny_128_lamb");
    for (const auto& [name, tensor] : ours.tensors) {
        if (ours.tensors.contains(name.substr(0, name.rfind('/')))) continue;  // a slot
        ASSERT_TRUE(back.tensors.contains(name)) << name;
        EXPECT_EQ(tensor.desc(), back.tensors.at(name).desc()) << name;
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), back.tensors.at(name).bytes())) << name;
    }
    for (const auto& [name, tensor] : back.tensors)
        EXPECT_TRUE(ours.tensors.contains(name)) << name;
    const Outcome judged = run(evaluation(GetParam()) + "--init-checkpoint " + there + "model.safetensors");
    ASSERT_EQ(judged.exit_code, 0) << judged.text;
    for (const auto& [name, value] : golden().at("results").at(GetParam()).items())
        EXPECT_NEAR(result_in(judged.text, name), value.get<double>(), kTolerance) << name;
}

std::vector<std::string> shipped() {
    std::vector<std::string> names;
    for (const auto& [name, results] : golden().at("results").items())
        names.push_back(name);
    return names;
}
INSTANTIATE_TEST_SUITE_P(All, ShippedConfiguration, ::testing::ValuesIn(shipped()),
                         [](const auto& test) { return test.param; });

TEST_F(Convert, GoldenNumbersAreThereForEveryConfigurationOfPretraining) {
    std::vector<std::string> files;
    for (const std::string& name : posix_files().list(CNNTRAIN_SOURCE_DIR "/configs/bert")) {
        if (name.starts_with("pretrain_") && name.find("groupbert") == std::string::npos)  // transformers lacks it
            files.push_back(name.substr(0, name.rfind('.')));
    }
    EXPECT_EQ(files, shipped());
}

TEST_F(Convert, AFolderForTransformersHasItsFiles) {
    const std::string there = in("files");
    posix_files().make_directories(there);
    const Outcome outcome =
        run("convert --from " + tiny() + "/ckpt-1 --to " + there + " --vocab-file " + kText + "vocab.txt");
    EXPECT_THAT(outcome.text, AllOf(ContainsRegex("Left out: [0-9]+ optimiser slots"), Not(HasSubstr("Weights left"))));
    const json config = read_json(there + "/config.json");
    EXPECT_EQ(config.at("hidden_act"), "gelu_new");
    EXPECT_EQ(config.at("layer_norm_eps"), 0.001);
    EXPECT_EQ(config.at("num_attention_heads"), 2);
    EXPECT_EQ(config.at("vocab_size"), 40);
    EXPECT_EQ(config.at("hidden_dropout_prob"), 0.1);
    EXPECT_EQ(config.at("architectures").at(0), "BertForPreTrainingWithoutTransform");
    EXPECT_THAT(read_text(posix_files(), there + "/modeling_without_transform.py"), HasSubstr("torch.nn.Identity()"));
    EXPECT_EQ(read_text(posix_files(), there + "/vocab.txt"), read_text(posix_files(), kText + "vocab.txt"));
    EXPECT_EQ(load(there + "/model.safetensors").metadata.at("format"), "pt");
}

TEST_F(Convert, AVocabularyHasAsManyWordsAsTheTable) {
    std::string words = read_text(posix_files(), kText + "vocab.txt");
    write_text(posix_files(), in("more.txt"), words + "one\ntwo");
    const Outcome outcome =
        run("convert --from " + tiny() + "/ckpt-1 --to " + in("more/") + " --vocab-file " + in("more.txt"));
    EXPECT_THAT(outcome.text, HasSubstr("vocab.txt"));
    EXPECT_EQ(read_text(posix_files(), in("more/vocab.txt")), words);
    expect_error("convert --from " + tiny() + "/ckpt-1 --to " + in("none/") + " --vocab-file " + in("none.txt"),
                 ErrorKind::data, {"none.txt"});
}

TEST_F(Convert, FilesOfAnotherModelAreNotReplaced) {
    posix_files().make_directories(in("theirs"));
    write_text(posix_files(), in("theirs/config.json"), "{}");
    const std::string line = "convert --from " + tiny() + "/ckpt-1 --to " + in("theirs/");
    expect_error(line, ErrorKind::usage, {"theirs/config.json", "--overwrite"});
    EXPECT_FALSE(exists(posix_files(), in("theirs/model.safetensors")));
    EXPECT_EQ(read_text(posix_files(), in("theirs/config.json")), "{}");
}

TEST_F(Convert, WithoutItsRunTheActivationMustBeGiven) {
    run_well("convert --from " + tiny() + "/ckpt-1 --to " + in("source/"));
    ASSERT_EQ(shell("cp " + tiny() + "/ckpt-1.safetensors " + in("alone.safetensors")).exit_code, 0);
    const std::string line = "convert --from " + in("alone") + " --to " + in("alone_hf/");
    expect_error(line, ErrorKind::usage, {"--layer-norm-epsilon"});
    expect_error(line + " --hidden-act relu --layer-norm-epsilon 1e-3", ErrorKind::usage, {"gelu_erf"});
    run_well(line + " --hidden-act gelu_erf --layer-norm-epsilon 1e-5");
    EXPECT_EQ(read_json(in("alone_hf/config.json")).at("hidden_act"), "gelu");
    EXPECT_EQ(read_json(in("alone_hf/config.json")).at("layer_norm_eps"), 1e-5);
    // An imported checkpoint has both: its export needs no options.
    run_well("convert --from " + in("alone_hf") + " --to " + in("again.safetensors"));
    run_well("convert --from " + in("again") + " --to " + in("again_hf/"));
    EXPECT_EQ(read_json(in("alone_hf/config.json")), read_json(in("again_hf/config.json")));
}

TEST_F(Convert, AnotherActivationEpsilonOrSizeIsRefused) {
    const std::string config = "pretrain_tiny_128_lamb";
    run_well("convert --from " + tiny() + "/ckpt-1 --to " + in("facts/"));
    run_well("convert --from " + in("facts") + " --to " + in("facts_back.safetensors"));
    for (const std::string& file : {in("facts/model.safetensors"), in("facts_back.safetensors")}) {
        const std::string line = evaluation(config) + "--init-checkpoint " + file;
        EXPECT_EQ(run(line).exit_code, 0);
        expect_error(line + " --hidden-act gelu_erf", ErrorKind::usage, {"--hidden-act"});
        expect_error(line + " --layer-norm-epsilon 1e-12", ErrorKind::usage, {"give --layer-norm-epsilon 0.001"});
    }
    json document = read_json(in("facts/config.json"));
    document["intermediate_size"] = 193;
    write_text(posix_files(), in("facts/config.json"), document.dump());
    for (const std::string& line : {evaluation(config) + "--init-checkpoint " + in("facts/model.safetensors"),
                                    "convert --from " + in("facts") + " --to " + in("x.safetensors")}) {
        expect_error(line, ErrorKind::data, {"intermediate_size"});
    }
    write_text(posix_files(), in("facts/config.json"), R"({"num_attention_heads": 5})");
    expect_error("convert --from " + in("facts") + " --to " + in("x.safetensors"), ErrorKind::data, {"5 attention"});
    write_text(posix_files(), in("facts/config.json"), "{");
    expect_error("convert --from " + in("facts") + " --to " + in("x.safetensors"), ErrorKind::data, {"config.json"});
}

TEST_F(Convert, BFloat16IsWrittenAsFloat32OnRequest) {
    const std::string run_folder =
        run_of("pretrain_tiny_128_lamb", " --precision 16.16 --use-cls-layer true --use-prediction-bias true", "bf16");
    const auto types_in = [](const std::string& path) {
        std::vector<DType> types;
        for (const auto& [name, tensor] : load(path).tensors) {
            if (std::ranges::find(types, tensor.dtype()) == types.end()) types.push_back(tensor.dtype());
        }
        return types;
    };
    run_well("convert --from " + run_folder + "/ckpt-1 --to " + in("own/"));
    run_well("convert --from " + run_folder + "/ckpt-1 --to " + in("wide/") + " --checkpoint-dtype f32");
    EXPECT_EQ(types_in(in("own/model.safetensors")), std::vector{DType::bf16});
    EXPECT_EQ(types_in(in("wide/model.safetensors")), std::vector{DType::f32});
    EXPECT_EQ(read_json(in("own/config.json")).at("architectures").at(0), "BertForPreTraining");
    EXPECT_FALSE(exists(posix_files(), in("own/modeling_without_transform.py")));
    const Checkpoint own = load(in("own/model.safetensors"));
    for (const auto& [name, tensor] : load(in("wide/model.safetensors")).tensors)
        EXPECT_TRUE(std::ranges::equal(own.tensors.at(name).cast(DType::f32).bytes(), tensor.bytes())) << name;
    expect_error("convert --from " + run_folder + "/ckpt-1 --to " + in("x/") + " --checkpoint-dtype f16",
                 ErrorKind::usage, {"--checkpoint-dtype"});
}

TEST_F(Convert, AnActivationThatTransformersLacksIsNamed) {
    const std::string run_folder = run_of("pretrain_tiny_128_lamb", " --hidden-act relu --use-cls-layer true", "relu");
    const Outcome outcome = run("convert --from " + run_folder + "/ckpt-1 --to " + in("relu_hf/"));
    EXPECT_THAT(outcome.text, ContainsRegex("Weights left out: cls/predictions/transform/.*\n.*Left out: [0-9]+ opt"));
    EXPECT_EQ(read_json(in("relu_hf/config.json")).at("architectures").at(0), "BertForNextSentencePrediction");
}

TEST_F(Convert, ClassesKeepTheirNames) {
    Checkpoint net = load(tiny() + "/ckpt-1.safetensors");
    std::erase_if(net.tensors, [](const auto& entry) { return entry.first.starts_with("cls/"); });
    net.tensors.emplace("cls/classifier/output_weights", HostTensor({DType::f32, {3, 128}}));
    net.tensors.emplace("cls/classifier/output_bias", HostTensor({DType::f32, {3}}));
    const std::vector<std::string> names = {"no", "yes", "\u00e9t\u00e9"};
    weights::set_class_names(net.metadata, names);
    const std::string words = read_text(posix_files(), kText + "vocab.txt");
    const json vocabulary = {"vocab.txt", words.size(), 0, crc32c(std::as_bytes(std::span(words)))};
    const json training = {{"samples", 3}, {"recipe", ""}, {"parts", json::array({vocabulary})}};
    net.metadata["data"] = json({{"training", training}}).dump();
    posix_files().make_directories(in("classes"));
    weights::save(posix_files(), in("classes/ckpt-9.safetensors"), net);
    write_text(posix_files(), in("classes/arguments.json"),
               R"({"hidden_act": "gelu_erf", "num_attention_heads": 2, "layer_norm_epsilon": 1e-12, "vocab_file": ")" +
                   kText + R"(vocab.txt", "do_lower_case": false})");
    run_well("convert --from " + in("classes/ckpt-9") + " --to " + in("classes_hf/"));
    const json config = read_json(in("classes_hf/config.json"));
    EXPECT_EQ(config.at("architectures").at(0), "BertForSequenceClassification");
    EXPECT_EQ(config.at("id2label"), json({{"0", names[0]}, {"1", names[1]}, {"2", names[2]}}));
    EXPECT_EQ(config.at("label2id").at("yes"), 1);
    EXPECT_EQ(read_json(in("classes_hf/tokenizer_config.json")).at("do_lower_case"), false);
    EXPECT_EQ(read_text(posix_files(), in("classes_hf/vocab.txt")), words);
    // A folder of somebody else's may name any file of the user's.
    const std::string record = read_text(posix_files(), in("classes/arguments.json"));
    const std::string foreign = in("secret.txt");
    write_text(posix_files(), foreign, words + "secret\n");
    const auto naming = [&](std::string text, const std::string& file) {
        return text.replace(text.find(kText + "vocab.txt"), kText.size() + 9, file);
    };
    write_text(posix_files(), in("classes/arguments.json"), naming(record, foreign));
    expect_error("convert --from " + in("classes/ckpt-9") + " --to " + in("other_hf/"), ErrorKind::data, {foreign});
    net.metadata.erase("data");
    weights::save(posix_files(), in("classes/ckpt-10.safetensors"), net);
    run_well("convert --from " + in("classes/ckpt-10") + " --to " + in("unknown_hf/"));
    EXPECT_FALSE(exists(posix_files(), in("unknown_hf/vocab.txt")));
    run_well("convert --from " + in("classes_hf") + " --to " + in("classes_back.safetensors"));
    EXPECT_EQ(weights::class_names(load(in("classes_back.safetensors")).metadata), names);
}

/// The written folder is read again: its variables and its scores of words are those of the run.
TEST_F(Convert, ARunIsComparedWithItsFolderForTransformers) {
    const Outcome outcome = run("convert " + tiny() + " " + in("of_run") + " --to hf");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("64 generated"));
    EXPECT_TRUE(exists(posix_files(), in("of_run/config.json")));
}

TEST_F(Convert, PretrainingIsWrittenForTensorFlowAndOnnx) {
    run_well("convert " + tiny() + " " + in("tf") + " --to tf");
    EXPECT_TRUE(load(in("tf/ckpt-1.index")).tensors.contains("bert/embeddings/word_embeddings/lamb_m"));
    run_well("convert " + tiny() + " " + in("bert.onnx") + " --to onnx");
    expect_error("convert " + tiny() + " " + in("bert.onnx") + " --to onnx --overwrite --with-preprocessing",
                 ErrorKind::usage, {"--with-preprocessing"});
}

TEST_F(Convert, AGroupBertIsWrittenForTensorFlowAndOnnx) {
    const std::string group = run_of("pretrain_tiny_groupbert_128", "--generated-data");
    run_well("convert " + group + " " + in("group_tf") + " --to tf");
    EXPECT_TRUE(load(in("group_tf/ckpt-1.index")).tensors.contains("LayerNorm/gamma"));
    run_well("convert " + group + " " + in("group.onnx") + " --to onnx");
    expect_error("convert " + group + " " + in("group_hf") + " --to hf", ErrorKind::unsupported, {"GroupBERT"});
}

}  // namespace
}  // namespace cnntrain::cli
