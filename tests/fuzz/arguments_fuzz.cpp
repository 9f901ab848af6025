// arguments.json of a run folder, as `restore` reads it.

#include "cnntrain/base/error.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/tasks/tasks.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

const options::ParseResult& restore_line() {
    static const options::ParseResult line =
        tasks::parse_command_line(options::Command::restore, {"--restore-path", "run"}, {});
    return line;
}

}  // namespace

std::vector<std::string> seeds() {
    const auto parsed = tasks::parse_command_line(
        options::Command::train, {"--dataset", "cifar-10", "--generated-data", "--model-size", "8"}, {});
    return {options::arguments_json(parsed, {{"name", options::Value("RN8")}}),
            R"({"model": "resnet", "model_size": 8, "dataset": "cifar-10", "generated_data": true, "epochs": 10.0})",
            R"({"model": "efficientnet", "dataset": "imagenet", "data_dir": "x", "lr_schedule": "cosine", "seed": 3})",
            R"({"learning_rate_schedule": [0.5, 0.75], "pipeline_splits": ["a", "b"], "seed_specified": false})"};
}

// clang-format off
std::vector<std::string> words() {
    return {
        "{", "}", "[", "]", ",", ":", "\"", "{\"a\":", "null", "true", "false", "-1", "0", "1e308", "1e999", "\"\"",
        "nan", "[[]]", "\\ud800", "\"off\"", "9223372036854775807", "18446744073709551616", "\"model\":\"resnext\"",
        "\"epochs\":", "\"micro_batch_size\":"};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    const auto resume = [&] {
        const auto resumed = options::resume_from_arguments_json(
            *fuzz::restore_line().task, {reinterpret_cast<const char*>(data), size}, fuzz::restore_line());
        options::print_config_text(resumed);
    };
    fuzz::accepted(resume, {ErrorKind::data, ErrorKind::usage});  // usage: values that contradict each other
    return 0;
}
