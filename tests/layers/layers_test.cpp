// Layers point one way: `layers_test <repository>` checks every file of include/ and src/, `layers_test --self-test`
// checks that wrong lines are noticed.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "layers/layer_rules.h"

namespace {

using cnntrain::layers::findings;

struct Case {
    std::string path;
    std::string line;
    std::string expected;  // part of the finding; "" for none
};

const std::vector<Case>& cases() {
    static const std::vector<Case> table = {
        {"src/graph/graph.cpp", "#include \"cnntrain/base/error.h\"", ""},
        {"src/graph/graph.cpp", "#include \"cnntrain/graph/op.h\"", ""},
        {"src/graph/graph.cpp", "#include \"graph/rewriter.h\"", ""},
        {"src/graph/graph.cpp", "#include <vector>", ""},
        {"src/graph/graph.cpp", "// #include \"cnntrain/train/trainer.h\"", ""},
        {"src/graph/graph.cpp", "#include \"cnntrain/ops/op_table.h\"", "graph must not include ops"},
        {"src/graph/graph.cpp", "  #  include \"cnntrain/train/trainer.h\"", "graph must not include train"},
        {"include/cnntrain/base/log.h", "#include \"cnntrain/config/settings.h\"", "base must not include config"},
        {"include/cnntrain/config/settings.h", "#include \"cnntrain/nn/settings.h\"", ""},
        {"src/config/resolve/checks.cpp", "#include \"cnntrain/schedule/settings.h\"", ""},
        {"src/config/resolve/checks.cpp", "#include \"cnntrain/nn/model.h\"", "config must not include nn"},
        {"src/config/resolve/checks.cpp", "#include \"nn/settings.h\"", "private to the module nn"},
        {"include/cnntrain/nn/settings.h", "#include \"cnntrain/base/tensor.h\"", ""},
        {"include/cnntrain/train/settings.h", "#include \"cnntrain/nn/settings.h\"", ""},
        {"include/cnntrain/nn/settings.h", "#include \"cnntrain/nn/model.h\"", "settings may include base"},
        {"include/cnntrain/nn/settings.h", "#include \"cnntrain/graph/op.h\"", "settings may include base"},
        {"include/cnntrain/train/settings.h", "#include \"cnntrain/config/settings.h\"", "settings may include base"},
        {"src/nn/model.cpp", "#include \"cnntrain/config/settings.h\"", "nn must not include config"},
        {"src/schedule/run_plan.cpp", "#include \"cnntrain/data/settings.h\"", "schedule must not include data"},
        {"src/checkpoint/save.cpp", "#include \"cnntrain/config/settings.h\"", "checkpoint must not include config"},
        {"src/metrics/meters.cpp", "#include \"cnntrain/schedule/run_plan.h\"", "metrics must not include schedule"},
        {"src/nn/resnet.cpp", "#include \"cnntrain/ops/op_table.h\"", "nn must not include ops"},
        {"src/train/runs/trainer.cpp", "#include \"cnntrain/cli/main.h\"", "train must not include cli"},
        {"src/cli/main.cpp", "#include \"cnntrain/train/trainer.h\"", ""},
        {"src/backend/ref/ref_backend.cpp", "#include \"cnntrain/ops/op_table.h\"", ""},
        {"src/backend/cpu/lower/lowering.cpp", "#include \"cnntrain/ops/op_table.h\"",
         "backend/cpu must not include ops"},
        {"src/backend/cpu/lower/lowering.cpp", "#include \"backend/cpu/kernels/kernels.h\"", ""},
        {"src/backend/ref/ref_backend.cpp", "#include \"backend/cpu/lowering.h\"", "private to the module backend/cpu"},
        {"src/data/loading/loader.cpp", "#include \"base/io_messages.h\"", "private to the module base"},
        {"include/cnntrain/data/loader.h", "#include \"data/images/jpeg.h\"", "public header includes the private"},
        {"src/data/loading/loader.cpp", "#include \"loader.h\"", "in no module"},
        {"src/dataset_tools/inspection/verify.cpp", "#include \"data/records/example.h\"", ""},
        {"src/dataset_tools/inspection/verify.cpp", "#include \"data/sets/imagenet.h\"", "private to the module data"},
        {"src/data/records/example.cpp", "#include \"example.pb.h\"", ""},
        {"src/train/runs/trainer.cpp", "#include \"example.pb.h\"", "module data only"},
        {"src/exports/onnx/codec.cpp", "#include \"onnx.pb.h\"", ""},
        {"src/data/records/example.cpp", "#include \"onnx.pb.h\"", "module exports only"},
        {"src/config/yaml.cpp", "#include <yaml-cpp/yaml.h>", ""},
        {"src/train/runs/trainer.cpp", "#include <yaml-cpp/yaml.h>", "not for this module"},
        {"src/backend/cpu/onednn.cpp", "#include <dnnl.hpp>", ""},
        {"src/backend/cpu/onednn.cpp", "#include <omp.h>", ""},
        {"src/backend/ref/ref_backend.cpp", "#include <omp.h>", "not for this module"},
        {"src/graph/graph.cpp", "#include <oneapi/dnnl/dnnl.hpp>", "not for this module"},
        {"include/cnntrain/backend/backend.h", "#include <hwy/highway.h>", "not for this module"},
        {"src/data/loading/loader.cpp", "#include <tbb/parallel_for.h>", ""},
        {"src/data/images/jpeg.cpp", "#include <jpeglib.h>", ""},
        {"src/data/loading/loader.cpp", "#include <jpeglib.h>", "not for this module"},
        {"src/metrics/meters.cpp", "#include <spdlog/spdlog.h>", "not for this module"},
        {"src/base/log.cpp", "#include <spdlog/spdlog.h>", ""},
        {"src/base/error.cpp", "#include <spdlog/spdlog.h>", "not for this module"},
        {"src/checkpoint/load.cpp", "#include <nlohmann/json.hpp>", ""},
        {"src/config/read/json.h", "#include <nlohmann/json.hpp>", ".cpp files only"},
        {"include/cnntrain/config/json.h", "#include <nlohmann/json.hpp>", "not for this module"},
        {"src/base/io_posix.cpp", "#include <sys/stat.h>", ""},
        {"src/comm/mpi.cpp", "#include <mpi.h>", ""},
        {"src/comm/threads.cpp", "#include <mpi.h>", "not for this module"},
        {"src/comm/watch.cpp", "#include \"cnntrain/config/settings.h\"", "comm must not include config"},
        {"src/benchmark/command.cpp", "#include \"cnntrain/launch/mpi.h\"", ""},
        {"src/launch/plan.cpp", "#include \"cnntrain/comm/launcher.h\"", "launch must not include comm"},
        {"src/nn/resnet.cpp", "#include <boost/any.hpp>", "unknown"},
        {"src/ipu_emulator/model/view.cpp", "#include \"ipu_emulator/model/view.h\"", ""},
        {"src/ipu_emulator/core/poplar/Graph.hpp", "#include <poplar/Tensor.hpp>", ""},
        {"src/ipu_emulator/model/view.cpp", "#include \"cnntrain/base/error.h\"", "ipu_emulator must not include base"},
        {"src/backend/ipu/lower.cpp", "#include <poplar/Graph.hpp>", ""},
        {"src/backend/ipu/lower.cpp", "#include \"ipu_emulator/model/view.h\"", "private to the module ipu_emulator"},
        {"src/train/runs/trainer.cpp", "#include <poplar/Graph.hpp>", "not for this module"},
        {"src/nowhere/file.cpp", "", "is in no module"},
    };
    return table;
}

int self_test() {
    int wrong = 0;
    const auto expect = [&](const std::string& what, const std::vector<std::string>& found, const std::string& part) {
        const bool good = part.empty() ? found.empty() : found.size() == 1 && found[0].find(part) != std::string::npos;
        if (good) return;
        ++wrong;
        std::printf("%s\n  expected: %s\n", what.c_str(), part.empty() ? "nothing" : part.c_str());
        for (const std::string& one : found)
            std::printf("  found:    %s\n", one.c_str());
    };
    for (const Case& one : cases())
        expect(one.path + ": " + one.line, findings(one.path, one.line + "\n"), one.expected);

    std::string lines;
    for (int i = 0; i < 600; ++i)
        lines += "\n";
    expect("600 lines", findings("src/base/long.cpp", lines), "");
    expect("601 lines", findings("src/base/long.cpp", lines + "\n"), "601 lines");
    expect("line number", findings("src/base/a.cpp", "\n#include <mpi.h>\n"), "src/base/a.cpp:2: ");
    return wrong;
}

int check_repository(const std::filesystem::path& root) {
    int files = 0;
    int wrong = 0;
    for (const char* folder : {"include", "src"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".hpp" && extension != ".cpp") continue;
            ++files;
            std::ostringstream text;
            text << std::ifstream(entry.path()).rdbuf();
            const std::string path = std::filesystem::relative(entry.path(), root).generic_string();
            for (const std::string& finding : findings(path, text.str())) {
                ++wrong;
                std::printf("%s\n", finding.c_str());
            }
        }
    }
    std::printf("%d files, %d findings\n", files, wrong);
    return files == 0 ? 1 : wrong;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::printf("usage: layers_test <repository> | --self-test\n");
        return 2;
    }
    const std::string argument = argv[1];
    return (argument == "--self-test" ? self_test() : check_repository(argument)) == 0 ? 0 : 1;
}
