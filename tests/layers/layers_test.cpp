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
        {"src/graph/nn/resnet.cpp", "#include \"graph/ops/families.h\"", ""},
        {"src/graph/graph.cpp", "#include <vector>", ""},
        {"src/graph/graph.cpp", "// #include \"cnntrain/run/task.h\"", ""},
        {"src/graph/graph.cpp", "#include \"cnntrain/data/batch.h\"", "graph must not include data"},
        {"src/graph/graph.cpp", "  #  include \"cnntrain/run/task.h\"", "graph must not include run"},
        {"include/cnntrain/base/log.h", "#include \"cnntrain/options/settings.h\"", "base must not include options"},
        {"include/cnntrain/graph/settings.h", "#include \"cnntrain/data/settings.h\"", "graph must not include data"},
        {"include/cnntrain/options/settings.h", "#include \"cnntrain/graph/settings.h\"", ""},
        {"src/options/resolve/checks.cpp", "#include \"cnntrain/parallel/settings.h\"", ""},
        {"src/options/resolve/checks.cpp", "#include \"cnntrain/run/task.h\"", "options must not include run"},
        {"src/options/resolve/checks.cpp", "#include \"graph/nn/layers.h\"", "private to the room graph"},
        {"src/weights/file.cpp", "#include \"cnntrain/tasks/tasks.h\"", "weights must not include tasks"},
        {"src/run/trainer.cpp", "#include \"cnntrain/insight/findings.h\"", "run must not include insight"},
        {"src/cli/main.cpp", "#include \"cnntrain/run/task.h\"", ""},
        {"src/backend/ref/ref_backend.cpp", "#include \"cnntrain/graph/op_table.h\"", ""},
        {"src/backend/ref/ref_backend.cpp", "#include \"cnntrain/backend/backend.h\"", ""},
        {"include/cnntrain/backend/backend.h", "#include \"cnntrain/options/parse.h\"", "must not include options"},
        {"src/backend/cpu/lower/lowering.cpp", "#include \"backend/cpu/kernels/kernels.h\"", ""},
        {"src/backend/ref/ref_backend.cpp", "#include \"backend/cpu/lower/lowering.h\"",
         "private to the room backend/cpu"},
        {"src/data/loading/loader.cpp", "#include \"base/io_messages.h\"", "private to the room base"},
        {"include/cnntrain/data/loader.h", "#include \"data/images/jpeg.h\"", "public header includes the private"},
        {"src/data/loading/loader.cpp", "#include \"loader.h\"", "in no room"},
        {"src/data/write/verify.cpp", "#include \"data/records/example.h\"", ""},
        {"src/data/records/example.cpp", "#include \"onnx.pb.h\"", "tests only"},
        {"src/options/yaml.cpp", "#include <yaml-cpp/yaml.h>", ""},
        {"src/run/trainer.cpp", "#include <yaml-cpp/yaml.h>", "not for this room"},
        {"src/backend/cpu/onednn.cpp", "#include <dnnl.hpp>", ""},
        {"src/backend/cpu/onednn.cpp", "#include <omp.h>", ""},
        {"src/backend/ref/ref_backend.cpp", "#include <omp.h>", "not for this room"},
        {"src/graph/graph.cpp", "#include <oneapi/dnnl/dnnl.hpp>", "not for this room"},
        {"include/cnntrain/backend/backend.h", "#include <hwy/highway.h>", "not for this room"},
        {"src/data/loading/loader.cpp", "#include <tbb/parallel_for.h>", ""},
        {"src/data/images/jpeg.cpp", "#include <jpeglib.h>", ""},
        {"src/data/loading/loader.cpp", "#include <jpeglib.h>", "not for this room"},
        {"src/run/metrics/meters.cpp", "#include <spdlog/spdlog.h>", "not for this room"},
        {"src/base/log.cpp", "#include <spdlog/spdlog.h>", ""},
        {"src/base/error.cpp", "#include <spdlog/spdlog.h>", "not for this room"},
        {"src/weights/file.cpp", "#include <nlohmann/json.hpp>", ""},
        {"src/options/read/json.h", "#include <nlohmann/json.hpp>", ".cpp files only"},
        {"include/cnntrain/options/json.h", "#include <nlohmann/json.hpp>", "not for this room"},
        {"src/base/io_posix.cpp", "#include <sys/stat.h>", ""},
        {"src/parallel/comm/mpi.cpp", "#include <mpi.h>", ""},
        {"src/parallel/comm/transport.cpp", "#include <mpi.h>", "not for this room"},
        {"src/parallel/comm/watch.cpp", "#include \"cnntrain/options/settings.h\"",
         "parallel must not include options"},
        {"src/graph/nn/resnet.cpp", "#include <boost/any.hpp>", "unknown"},
        {"src/ipu_emulator/model/view.cpp", "#include \"ipu_emulator/model/view.h\"", ""},
        {"src/ipu_emulator/core/poplar/Graph.hpp", "#include <poplar/Tensor.hpp>", ""},
        {"src/ipu_emulator/model/view.cpp", "#include \"cnntrain/base/error.h\"", "ipu_emulator must not include base"},
        {"src/backend/ipu/lower.cpp", "#include <poplar/Graph.hpp>", ""},
        {"src/backend/ipu/lower.cpp", "#include \"ipu_emulator/model/view.h\"", "private to the room ipu_emulator"},
        {"src/run/trainer.cpp", "#include <poplar/Graph.hpp>", "not for this room"},
        {"src/nowhere/file.cpp", "", "is in no room"},
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
    for (int i = 0; i < 700; ++i)
        lines += "\n";
    expect("700 lines", findings("src/base/long.cpp", lines), "");
    expect("701 lines", findings("src/base/long.cpp", lines + "\n"), "701 lines");
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
