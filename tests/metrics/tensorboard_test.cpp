#include "run/metrics/tensorboard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/hash.h"
#include "support/matchers.h"

namespace cnntrain::metrics {
namespace {

template <typename T> T take(std::string_view& bytes) {
    T value{};
    if (bytes.size() < sizeof value) throw std::runtime_error("cut short");
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return value;
}

std::uint64_t take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const auto byte = take<std::uint8_t>(bytes);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80) return value;
    }
}

std::uint32_t crc_of(std::string_view bytes) {
    return mask_crc(crc32c(std::as_bytes(std::span(bytes))));
}

/// A message's fields by number: the bytes of each, whatever its wire type.
std::multimap<int, std::string> fields(std::string_view message) {
    std::multimap<int, std::string> result;
    while (!message.empty()) {
        const std::uint64_t key = take_varint(message);
        const std::string_view before = message;
        std::size_t length = 0;
        switch (key & 7) {
            case 0:
                take_varint(message);
                length = before.size() - message.size();
                message = before;
                break;
            case 1:
                length = 8;
                break;
            case 2:
                length = take_varint(message);
                break;
            case 5:
                length = 4;
                break;
            default:
                throw std::runtime_error("unknown wire type");
        }
        result.emplace(static_cast<int>(key >> 3), message.substr(0, length));
        message.remove_prefix(length);
    }
    return result;
}

template <typename T> T number(const std::string& bytes) {
    std::string_view view = bytes;
    return take<T>(view);
}

struct Event {
    double time = 0;
    std::int64_t step = 0;
    std::string version;
    bool session_start = false;
    std::map<std::string, float> scalars;
    std::map<std::string, std::multimap<int, std::string>> histograms;  // fields of HistogramProto
};

std::vector<Event> read_events(const FileSystem& files, const std::string& path) {
    const std::string text = read_text(files, path);
    std::string_view bytes = text;
    std::vector<Event> events;
    while (!bytes.empty()) {
        const std::string_view length_bytes = bytes.substr(0, 8);
        const auto length = take<std::uint64_t>(bytes);
        EXPECT_EQ(take<std::uint32_t>(bytes), crc_of(length_bytes));
        const std::string_view record = bytes.substr(0, length);
        bytes.remove_prefix(length);
        EXPECT_EQ(take<std::uint32_t>(bytes), crc_of(record));
        Event& event = events.emplace_back();
        for (const auto& [key, value] : fields(record)) {
            std::string_view view = value;
            if (key == 1) event.time = number<double>(value);
            if (key == 2) event.step = static_cast<std::int64_t>(take_varint(view));
            if (key == 3) event.version = value;
            if (key == 7) event.session_start = fields(value).find(1)->second == "\x01";
            if (key != 5) continue;
            for (const auto& summary : fields(value)) {
                const auto named = fields(summary.second);
                const std::string tag = named.find(1)->second;
                if (const auto scalar = named.find(2); scalar != named.end())
                    event.scalars[tag] = number<float>(scalar->second);
                if (const auto histogram = named.find(5); histogram != named.end())
                    event.histograms[tag] = fields(histogram->second);
            }
        }
    }
    return events;
}

const Columns kColumns = {.unit = {"image", "images", "img"},
                          .training = {{.name = "loss", .output = "loss"}, {.name = "train_acc", .output = "correct"}},
                          .validation = {{.name = "val_acc", .output = "correct"}},
                          .inference = {}};

class TensorBoardTest : public testing::Test {
protected:
    TensorBoardTest() { files_.make_directories("/run"); }

    TensorBoardSettings settings() {
        TensorBoardSettings settings;
        settings.folder = "/run";
        settings.host = "host";
        settings.clock = [this] { return now_; };
        return settings;
    }

    MemoryFiles files_;
    double now_ = 1700000000.25;
};

TEST_F(TensorBoardTest, EveryNumberOfARowIsAScalarAtItsIteration) {
    TensorBoard board(files_, settings());
    EXPECT_TRUE(files_.list("/run").empty());
    TrainingRow training;
    training.iteration = 300;  // more than one byte as a varint
    training.epoch = 0.5;
    training.results = {{0, 1.25}, {0, 0}};
    board.on(Row{record(training, kColumns)});
    now_ += 10;
    board.on(
        Row{record(ValidationRow{.name = "ckpt-300", .iteration = 300, .results = {75.5}, .val_size = 37}, kColumns)});

    const auto events = read_events(files_, "/run/events.out.tfevents.1700000000.host");
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].version, "brain.Event:2");
    EXPECT_EQ(events[0].time, 1700000000.25);
    EXPECT_EQ(events[1].step, 300);
    EXPECT_EQ(events[1].scalars.size(), 10U);  // the CSV's columns but the iteration
    EXPECT_EQ(events[1].scalars.at("training/loss_avg"), 1.25F);
    EXPECT_EQ(events[1].scalars.at("training/epoch"), 0.5F);
    EXPECT_EQ(events[2].time, 1700000010.25);
    EXPECT_EQ(events[2].scalars.at("validation/val_acc"), 75.5F);
    EXPECT_EQ(events[2].scalars.at("validation/val_size"), 37);
    EXPECT_FALSE(events[2].scalars.contains("validation/name"));
    EXPECT_FALSE(events[2].scalars.contains("validation/latency"));  // was not measured
}

TEST_F(TensorBoardTest, ATaskMayNameItsScalars) {
    Columns columns = kColumns;
    columns.tags = {{"lr", "learning_rate"}, {"loss_batch", "loss/MLM"}};
    TensorBoard board(files_, settings());
    TrainingRow training;
    training.lr = 0.5;
    training.results = {{1.25, 0}, {0, 0}};
    board.on(Row{record(training, columns)});
    const auto scalars = read_events(files_, "/run/events.out.tfevents.1700000000.host").back().scalars;
    EXPECT_EQ(scalars.at("learning_rate"), 0.5F);
    EXPECT_EQ(scalars.at("loss/MLM"), 1.25F);
    EXPECT_FALSE(scalars.contains("training/lr"));
    EXPECT_TRUE(scalars.contains("training/loss_avg"));
}

TEST_F(TensorBoardTest, ATaskMayDrawEveryHostStepAndNotTheRowsOfItsLog) {
    Columns columns = kColumns;
    columns.curves = {.every_host_step = true,
                      .planned = {{"samples", [](std::int64_t updates) { return 8.0 * static_cast<double>(updates); }}},
                      .compile_time = "start/seconds"};
    TensorBoard board(files_, settings());
    TrainingRow training;
    training.results = {{1.25, 0}, {0, 0}};
    board.on(Row{compile_time_point(2.5, 0, columns), Row::Use::drawn});
    for (training.iteration = 1; training.iteration < 4; ++training.iteration)
        board.on(Row{curve_point(training, columns), Row::Use::drawn});
    board.on(Row{record(training, columns)});
    const auto events = read_events(files_, "/run/events.out.tfevents.1700000000.host");
    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(events[1].scalars, (std::map<std::string, float>{{"start/seconds", 2.5F}}));
    EXPECT_EQ(events[4].step, 3);
    EXPECT_EQ(events[4].scalars.at("samples"), 24);
    EXPECT_EQ(events[4].scalars.at("training/loss_batch"), 1.25F);
    EXPECT_EQ(csv_header(record(training, columns)).find("samples"), std::string::npos);
}

TEST_F(TensorBoardTest, CurvesStandAtTheStepsThatATaskShows) {
    Columns columns = kColumns;
    columns.position = [](const TrainingRow& row) { return Position{row.iteration - 1, 0.5}; };
    TensorBoardSettings resumed = settings();
    resumed.resumed_at = 8;
    TensorBoard board(files_, resumed);
    TrainingRow training{.iteration = 8, .results = {{1.25, 0}, {0, 0}}};
    board.on(Row{record(training, columns)});
    const auto events = read_events(files_, "/run/events.out.tfevents.1700000000.host");
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[1].step, 7);  // what the run had drawn there before
    EXPECT_EQ(events[2].step, 7);
    EXPECT_EQ(events[2].scalars.at("training/epoch"), 0.5F);
}

TEST_F(TensorBoardTest, WeightAveragesHaveCurvesOfTheirOwn) {
    TensorBoard board(files_, settings());
    for (const char* name : {"ckpt-300", "weight_avg_N_5"})
        board.on(Row{record(ValidationRow{.name = name, .iteration = 300, .results = {75.5}}, kColumns)});
    const auto events = read_events(files_, "/run/events.out.tfevents.1700000000.host");
    EXPECT_EQ(events[1].scalars.at("validation/val_acc"), 75.5F);
    EXPECT_EQ(events[2].scalars.at("validation/weight_avg_N_5/val_acc"), 75.5F);
    EXPECT_FALSE(events[2].scalars.contains("validation/val_acc"));
}

TEST_F(TensorBoardTest, ADistributionIsAHistogramAndANorm) {
    TensorBoard board(files_, settings());
    const Histogram histogram{
        .least = -3, .most = 4, .sum = 1, .sum_of_squares = 25, .limits = {0.5, 4}, .counts = {1, 2}};
    board.on(Distribution{.iteration = 7, .name = "layer/kernel", .histogram = histogram});
    const auto events = read_events(files_, "/run/events.out.tfevents.1700000000.host");
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1].step, 7);
    EXPECT_EQ(events[1].scalars, (std::map<std::string, float>{{"L2/layer/kernel", 5.0F}}));
    const auto& proto = events[1].histograms.at("layer/kernel");
    const double numbers[] = {-3, 4, 3, 1, 25};  // min, max, num, sum, sum_squares
    for (int field = 1; field <= 5; ++field)
        EXPECT_EQ(number<double>(proto.find(field)->second), numbers[field - 1]) << field;
    std::string_view limits = proto.find(6)->second;
    std::string_view counts = proto.find(7)->second;
    EXPECT_EQ(limits.size(), 2 * sizeof(double));
    EXPECT_EQ(counts.size(), 2 * sizeof(double));
    EXPECT_EQ(take<double>(limits), 0.5);
    EXPECT_EQ(take<double>(limits), 4);
    EXPECT_EQ(take<double>(counts), 1);
    EXPECT_EQ(take<double>(counts), 2);
}

TEST_F(TensorBoardTest, WhatWasMeasuredIsDrawn) {
    TensorBoard board(files_, settings());
    board.on(Row{record(ValidationRow{.name = "ckpt-1", .results = {75.5}, .latency = 2.5}, kColumns)});
    const auto events = read_events(files_, "/run/events.out.tfevents.1700000000.host");
    EXPECT_EQ(events.at(1).scalars.at("validation/latency"), 2.5F);
}

TEST_F(TensorBoardTest, EveryRowIsInTheFileAtOnce) {
    TensorBoard board(files_, settings());
    for (std::int64_t i = 1; i < 4; ++i) {
        board.on(Row{record(NanRow{.iteration = i, .nan_count = i})});
        EXPECT_EQ(read_events(files_, "/run/events.out.tfevents.1700000000.host").size(),
                  static_cast<std::size_t>(i) + 1);
    }
}

TEST_F(TensorBoardTest, AResumedRunBeginsANewFileThatOverridesWhatWasLoggedPastItsStart) {
    TensorBoard(files_, settings()).on(Row{record(NanRow{.iteration = 20})});
    TensorBoardSettings resumed = settings();
    resumed.resumed_at = 11;
    TensorBoard(files_, resumed).on(Row{record(NanRow{.iteration = 15})});
    EXPECT_THAT(files_.list("/run"),
                ElementsAre("events.out.tfevents.1700000000.host", "events.out.tfevents.1700000000.host.1"));
    const auto events = read_events(files_, "/run/events.out.tfevents.1700000000.host.1");
    ASSERT_EQ(events.size(), 3U);
    EXPECT_TRUE(events[1].session_start);
    EXPECT_EQ(events[1].step, 11);
    EXPECT_EQ(events[2].step, 15);
}

TEST_F(TensorBoardTest, ANegativeIterationSurvives) {
    TensorBoard board(files_, settings());
    board.on(Row{record(InferenceRow{.name = "weight_avg", .iteration = -1}, kColumns)});
    EXPECT_EQ(read_events(files_, "/run/events.out.tfevents.1700000000.host").at(1).step, -1);
}

}  // namespace
}  // namespace cnntrain::metrics
