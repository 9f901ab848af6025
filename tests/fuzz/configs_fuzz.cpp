// Configuration files: every configuration is read, the first one that can be read is resolved.

#include "cnntrain/base/error.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/tasks/tasks.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/text_file.h"
#include "tasks/task_table.h"

namespace cnntrain::fuzz {

/// usage: a mistake of the user; data: no text that this program reads.
constexpr std::initializer_list<ErrorKind> kRefused = {ErrorKind::usage, ErrorKind::data};

std::vector<std::string> seeds() {
    return {
        "a: &a {epochs: 1, momentum: 0.1}\nb: &b {epochs: 2}\nc:\n  momentum: 0.3\n  <<: *a\n  <<: *b\nd: {<<: [*a, "
        "*b]}\n",
        "x:\n  weight_decay: 1e-5\n  precision: 16.32\n  validation: no\n  learning_rate_schedule: 0.5,0.75\n"
        "  available_memory_proportion: ['0.15']\n  no_stochastic_rounding: false\n",
        "base: &base\n  model: efficientnet\n  model_size: B4\n  dataset: imagenet\n  pipeline_splits: [a, b]\n"
        "mk2_y:\n  <<: *base\n  lr_schedule: cosine\n  epochs: 350\n",
        "x: {model: resnet, micro_batch_size: 4, gradient_accumulation_count: 8, replicas: 2}\n"};
}

// clang-format off
std::vector<std::string> words() {
    return {
        "&a ", "*a", "<<: ", "<<: *a\n", "{", "}", "[", "]", ": ", "\n  ", "- ", ", ", "? ", "|\n", "!!binary ", "'",
        "\"", "&b {", "*b, ", "#", "~", "%", "---\n", "@", "\t", "1e999", "no", "epochs: ", "-1", "nan",
        "9223372036854775807", "mk2_"};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    static const fuzz::TextFile file("config.yml");
    const std::string& path = file.with(data, size);
    std::vector<std::string> names;
    if (!fuzz::accepted([&] { names = options::config_names({path}); }, fuzz::kRefused)) return 0;
    bool resolved = false;
    for (const std::string& name : names) {
        const bool read = fuzz::accepted(
            [&] { options::read_config(tasks::task_table().front().options, name, {path}); }, fuzz::kRefused);
        if (!read || resolved || name.empty()) continue;
        resolved = true;
        fuzz::accepted(
            [&] {
                tasks::parse_command_line(options::Command::train,
                                          {"--config=" + name, "--config-path", path, "--data-dir", "cifar-10"}, {});
            },
            fuzz::kRefused);
    }
    return 0;
}
