#include "backend_ipu/bert_net.h"

#include <utility>

#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/rows.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/tasks/tasks.h"
#include "support/temporary_folder.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

constexpr std::uint64_t kSeed = 5;

/// Sizes of all networks here.
const std::string kNet =
    "--hidden-size 128 --num-attention-heads 2 --num-hidden-layers 2 --intermediate-size 64 --use-qkv-split --threads "
    "1 "
    "--epsilon 1e-6 --base-learning-rate 0.01 --warmup 0 --num-train-steps 5 --hidden-dropout-prob 0.1 "
    "--attention-probs-dropout-prob 0.1 ";
const std::string kPretraining =
    kNet +
    "--vocab-size 50 --max-position-embeddings 16 --no-use-cls-layer --seq-length 16 --max-predictions-per-seq 3 "
    "--static-mask --generated-data --optimizer lamb ";
const std::string kTests = CNNTRAIN_SOURCE_DIR "/tests/data/";
/// Features with padding, several windows of a text, and windows without the answer.
const std::string kAnswering =
    kNet + "--task question-answering --data-dir " + kTests + "squad/squad-v1.1.json --vocab-file " + kTests +
    "bert/vocab.txt --vocab-size 512 --max-position-embeddings 32 --seq-length 32 --doc-stride 8 --max-query-length 6 ";

const std::string kClassifying =
    kNet + "--task text-classification --vocab-file " + kTests +
    "bert/vocab.txt --vocab-size 512 --max-position-embeddings 32 --seq-length 16 --no-validation ";

/// Texts of one to five words of that vocabulary.
std::string texts_of(nn::LabelKind labels) {
    constexpr const char* kWords[] = {"cat", "dog", "bird", "sat", "ran", "flew"};
    constexpr const char* kClasses[] = {"a", "b", "c", "b"};
    constexpr const char* kScores[] = {"0.5", "-1", "2", "1.25"};
    constexpr const char* kSeveral[] = {"a", "b|c", "", "a|c"};
    std::string table = "text\tlabel\n";
    for (int i = 0; i < 12; ++i) {
        for (int j = 0; j <= i % 5; ++j)
            table += (j == 0 ? "" : " ") + std::string(kWords[(5 * i + j) % 6]);
        const auto& column = labels == nn::LabelKind::score     ? kScores
                             : labels == nn::LabelKind::several ? kSeveral
                                                                : kClasses;
        table += "\t" + std::string(column[i % 4]) + "\n";
    }
    return table;
}

}  // namespace

BertNet::BertNet(const std::string& options) : BertNet(parse(kPretraining + options, options::Command::pretrain)) {}

BertNet BertNet::answering(const std::string& options) {
    return BertNet(parse(kAnswering + options));
}

BertNet BertNet::classifying(nn::LabelKind labels, const std::string& options) {
    const test::TemporaryFolder folder;
    const std::string file = folder.write("texts.tsv", texts_of(labels));
    return BertNet(
        parse(kClassifying + "--data-dir " + file + " --labels " + std::string(spelling(labels)) + " " + options));
}

BertNet::BertNet(options::ParseResult arguments) : arguments_(std::move(arguments)) {
    backend_ = make_backend(arguments_.settings.run.backend);
    task_ = tasks::row_of(arguments_).make(arguments_, *backend_, kSeed);
    samples_ = task_->open(data::Split::train);
    const std::int64_t size = placement(arguments_.settings, *backend_).samples;
    const std::vector<data::Field> fields = samples_->fields(size);
    graph_ = task_->graph(run::GraphUse::training, fields);
    executable_ = backend_->compile(training_request(graph_, arguments_.settings, fields, kSeed));
    initialise(*executable_, graph_, kSeed);
    data::LoaderSettings loader;
    loader.micro_batch = size;
    stream_ = samples_->stream(loader);
}

double BertNet::train() {
    return metrics::sum_of(executable_->train_step(*stream_, {0.01, steps_++}).sums, task_->traits().loss);
}

}  // namespace cnntrain::run::testing
