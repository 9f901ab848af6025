#include "report/made_up_run.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace cnntrain::report::test {

std::string training_csv(const std::vector<TrainingLine>& lines) {
    std::string text =
        "step,iteration,epoch,lr,loss_batch,loss_avg,train_acc_batch,train_acc_avg,it_time,img_per_sec,total_time\r\n";
    for (const TrainingLine& line : lines) {
        const std::string iteration = std::to_string(std::lround(10 * line.epoch));
        text += iteration + "," + iteration + "," + std::to_string(line.epoch) + ",0.1," + line.loss + "," + line.loss +
                ",30,30,0.125,512,1\r\n";
    }
    return text;
}

std::string validation_csv(const std::vector<ValidationLine>& lines) {
    std::string text = "name,iteration,epoch,val_acc,raw_acc,val_time,val_size,img_per_sec,latency,val_loss\r\n";
    for (const ValidationLine& line : lines) {
        const std::string iteration = std::to_string(std::lround(10 * line.epoch));
        text += "ckpt-" + iteration + "," + iteration + "," + std::to_string(line.epoch) + "," +
                std::to_string(line.accuracy) + "," + std::to_string(line.accuracy) + ",2,10000,5000,-1," +
                std::to_string(line.loss) + "\r\n";
    }
    return text;
}

void MadeUpRun::write(FileSystem& files, const std::string& folder) const {
    const nlohmann::json arguments = {{"name", name},
                                      {"dataset", dataset},
                                      {"model", "resnet"},
                                      {"checkpoint_path", folder + "/ckpt"},
                                      {"planned_iterations", 40},
                                      {"program_version", "cnntrain 9.8.7"}};
    files.make_directories(folder);
    write_text(files, folder + "/arguments.json", arguments.dump());
    if (!training.empty()) write_text(files, folder + "/training.csv", training_csv(training));
    if (!validation.empty()) write_text(files, folder + "/validation.csv", validation_csv(validation));
    write_text(files, folder + "/time_split.csv",
               "updates,iteration,update_seconds,input_wait_seconds,exchange_seconds,exposed_exchange_seconds,"
               "processor_seconds,queued_seconds,other_programs_seconds,page_loads\r\n"
               "40,40,5,0.1,0,0,9,0.1,0.1,0\r\n");
    write_text(
        files, folder + "/log.txt",
        "Command line: cnntrain train --model-size 20\nProcessor: a fast one\nCompilation time: 0.500s.\n" + log_end);
}

RunRecord MadeUpRun::read(bool is_going) const {
    MemoryFiles files;
    write(files);
    return read_run(files, kFolder, is_going);
}

profile::Profile made_up_profile(double gflop) {
    profile::Profile profile;
    profile.type = "bf16";
    profile.steps = 10;
    profile.step_seconds = 0.1;
    profile.peaks = {1e12, {{"memory", INFINITY, {2e10, 0}}}};
    profile::Row row;
    row.name = "all/fc";
    row.op = "dense";
    row.phase = "forward";
    row.runs = 1;
    row.seconds = row.run_seconds = profile.step_seconds;
    row.gflop = gflop;
    row.megabytes = 1000;
    profile.rows = {row};
    return profile;
}

std::string predictions_json(const std::vector<std::string>& classes, const std::string& sample) {
    using nlohmann::json;
    const json rows = json::array({json::array({sample, 0, 0.01, json::array({1, 0}), json::array({0.99, 0.01})}),
                                   json::array({"b.jpg", 1, 0.7, json::array({1, 0}), json::array({0.7, 0.3})}),
                                   json::array({"c.jpg", 0, 0.4, json::array({1, 0}), json::array({0.6, 0.4})}),
                                   json::array({"d.jpg", 0, 0.9, json::array({0, 1}), json::array({0.9, 0.1})})});
    const json calibration = json::parse(R"([{"loss": 1.5, "error": 0.2, "bins": [[0, 0, 0.0], [4, 1, 2.0]]},
                                             {"loss": 1.2, "error": 0.1, "bins": [[4, 1, 1.2], [0, 0, 0.0]]}])");
    const json document = {{"key", {{"checkpoint", "ckpt-40"}}},
                           {"split", "validation"},
                           {"unit", {"image", "images"}},
                           {"real", true},
                           {"samples", 100},
                           {"seen", 4},
                           {"left_out", 0},
                           {"classes", classes},
                           {"rows", rows},
                           {"pictures", {{"0", "/9j/4AAQSkZJRg=="}}},
                           {"maps", {{"0", "/9j/4AAQSkZJRg=="}}},
                           {"temperature", 2.0},
                           {"calibration", calibration},
                           {"texts", json::object()}};
    return document.dump();
}

}  // namespace cnntrain::report::test
