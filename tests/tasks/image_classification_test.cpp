// The task of classifying images: columns, printed lines, names.
#include "train/by_task.h"

#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "support/metric_rows.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

const backend::Backend& cpu() {
    static const auto backend = backend::make_cpu_backend();
    return *backend;
}

ImageClassification task(const std::string& options = "") {
    return {parse("--dataset cifar-10 --generated-data --model-size 8 " + options), cpu(), 1};
}

template <typename Row> std::string printed(const Row& row) {
    return task().printed(&row);
}

TEST(ImageClassification, PrintsTrainingRows) {
    EXPECT_EQ(printed(metrics::testing::training_row()),
              "step:     97, iteration:    194, epoch:   0.12, lr:    0.5, loss:  1.725, top-1 accuracy: 36.432 %, "
              "throughput: 2592.00 samples/sec, time: 0.012346, total_time:     12.3");
}

TEST(ImageClassification, PrintsLearningRates) {
    metrics::TrainingRow row = metrics::testing::training_row();
    const auto lr_part = [&](double lr) {
        row.lr = lr;
        const std::string line = printed(row);
        return line.substr(line.find("lr:"), line.find(", loss") - line.find("lr:"));
    };
    EXPECT_EQ(lr_part(0.0005), "lr: 0.0005");
    EXPECT_EQ(lr_part(0.0756551), "lr: 0.07566");
    EXPECT_EQ(lr_part(1e-5), "lr:  1e-05");
}

TEST(ImageClassification, PrintsValidationRows) {
    EXPECT_EQ(printed(metrics::testing::validation_row({84.5678, 84.5678})),
              "Validation top-1 accuracy: 84.568 % [ckpt-15625] (iteration:  15625, epoch:  10.00, throughput: 8000.00 "
              "samples/sec, time: 1.250000, latency avg:  -1.0000 ms)");
}

TEST(ImageClassification, PrintsInferenceRows) {
    metrics::InferenceRow row;
    row.name = "ckpt-5";
    row.iteration = 5;
    row.epoch = 0.25;
    row.results = {12.5};
    row.inference_time = 1.5;
    row.samples_per_second = 800;
    row.latencies = {1.25, 2.5, 3.75, 5};
    EXPECT_EQ(printed(row),
              "Validation top-1 accuracy [ckpt-5] (iteration:      5, epoch:   0.25, throughput: 800.00 samples/sec, "
              "time: 1.500000, latency avg:   1.2500 ms: 12.500%");
}

TEST(ImageClassification, RowsHaveTheColumnsOfTheirFilesAndTheirLine) {
    const metrics::Record training = reported(task(), metrics::testing::training_row());
    EXPECT_EQ(
        metrics::csv_header(training),
        "step,iteration,epoch,lr,loss_batch,loss_avg,train_acc_batch,train_acc_avg,it_time,img_per_sec,total_time");
    EXPECT_EQ(training.text, printed(metrics::testing::training_row()));
    EXPECT_EQ(metrics::csv_header(reported(task(), metrics::testing::validation_row({84.5678, 84.5678}))),
              "name,iteration,epoch,val_acc,raw_acc,val_time,val_size,img_per_sec,latency");
}

TEST(ImageClassification, ImageNetsTop5StandsBehindTheDocumentedColumns) {
    const ImageClassification imagenet(parse("--dataset imagenet --generated-data --model-size 18"), cpu(), 1);
    const metrics::Record row = reported(imagenet, metrics::testing::validation_row({75.25, 75.25, 92.5, 1.5}));
    EXPECT_EQ(metrics::csv_header(row),
              "name,iteration,epoch,val_acc,raw_acc,val_time,val_size,img_per_sec,latency,val_top5_acc,val_loss");
    EXPECT_EQ(row.later_fields, 2);
    EXPECT_EQ(row.text,
              "Validation top-1 accuracy: 75.250 % [ckpt-15625] (iteration:  15625, epoch:  10.00, throughput: 8000.00 "
              "samples/sec, time: 1.250000, latency avg:  -1.0000 ms)\n"
              "Validation top-5: 92.500 % [ckpt-15625]");
}

/// A training graph with the count would be another graph, with other numbers in every compiled step.
TEST(ImageClassification, OnlyTheEvaluationCountsTop5) {
    const auto outputs = [](const graph::Graph& graph) {
        std::string names;
        for (const graph::Output& output : graph.outputs())
            names += output.name + " ";
        return names;
    };
    const ImageClassification imagenet(
        parse("--dataset imagenet --generated-data --model-size 18 --image-size 64 --micro-batch-size 2"), cpu(), 1);
    const auto fields = imagenet.open(data::Split::validation)->fields(2);
    EXPECT_EQ(outputs(imagenet.graph(run::GraphUse::training, fields)), "loss correct ");
    EXPECT_EQ(outputs(imagenet.graph(run::GraphUse::evaluation, fields)), "loss correct correct_top5 ");
    const auto cifar = task().open(data::Split::validation)->fields(2);
    EXPECT_EQ(outputs(task().graph(run::GraphUse::evaluation, cifar)), "loss correct ");
}

TEST(ImageClassification, AShareOfImageNetsTrainingFilesIsUsed) {
    const ImageClassification imagenet(
        parse("--dataset imagenet --generated-data --model-size 18 --dataset-percentage-to-use 10"), cpu(), 1);
    EXPECT_EQ(imagenet.samples(data::Split::train, run::Counted::published), 1281167);
    EXPECT_EQ(imagenet.samples(data::Split::train, run::Counted::used),
              1281167);  // one image, repeated: there is nothing to leave out
    const ImageClassification absent(parse("--dataset imagenet --data-dir /nowhere --dataset-percentage-to-use 10"),
                                     cpu(), 1);
    EXPECT_EQ(absent.samples(data::Split::train, run::Counted::used), 128116);
    EXPECT_EQ(absent.samples(data::Split::validation, run::Counted::used), 50000);
    EXPECT_EQ(imagenet.samples(data::Split::validation, run::Counted::used), 50000);
    EXPECT_EQ(task().samples(data::Split::train, run::Counted::used), 50000);
    EXPECT_FALSE(imagenet.has_real_data());
}

TEST(ImageClassification, TellsTheShortcutThatIsBuilt) {
    const auto type = [](const std::string& line) {
        const ImageClassification task(parse("--generated-data " + line), cpu(), 1);
        return std::get<std::string>(task.description().arguments.at("shortcut_type"));
    };
    EXPECT_EQ(type("--dataset cifar-10 --model-size 20"), "A");
    EXPECT_EQ(type("--dataset cifar-10 --model-size 29"), "B");  // bottlenecks are projected
    EXPECT_EQ(type("--dataset cifar-10 --model resnext --model-size 29"), "B");
    EXPECT_EQ(type("--dataset imagenet --model-size 18"), "B");
}

TEST(ImageClassification, TellsTheBitsOfItsInput) {
    const auto bits = [](const std::string& line) {
        return ImageClassification(parse(line), cpu(), 1).description().io_bits;
    };
    EXPECT_EQ(bits("--dataset imagenet --generated-data --eight-bit-io"), 8);
    EXPECT_EQ(bits("--dataset imagenet --generated-data --compute-type bf16"), 16);
    EXPECT_EQ(bits("--dataset imagenet --generated-data --compute-type f32"), 32);
    EXPECT_EQ(bits("--dataset imagenet --generated-data --precision 32.32"), 32);
    EXPECT_EQ(bits("--dataset cifar-10 --data-dir /nowhere --eight-bit-io --compute-type bf16"), 16);
}

TEST(ImageClassification, NamesItsModel) {
    const TaskDescription description = task("--micro-batch-size 4 --group-norm").description();
    EXPECT_EQ(description.model, "resnet8");
    EXPECT_EQ(description.identity.at("data set"), "cifar-10");
    EXPECT_EQ(std::get<std::string>(description.arguments.at("norm_type")), "GROUP");
    EXPECT_EQ(description.mlperf->quality, "val_acc");
}

}  // namespace
}  // namespace cnntrain::run::testing
