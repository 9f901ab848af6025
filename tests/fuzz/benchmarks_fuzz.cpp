// benchmarks.yml, as `benchmark --list` and `--dry-run` read it.
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/launch/benchmark.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/text_file.h"

namespace cnntrain::fuzz {

std::vector<std::string> seeds() {
    return {
        "a: &a\n  cmd: cnntrain train --micro-batch-size {batch} --dataset imagenet\n  parameters:\n    batch: 1,2\n"
        "  data:\n    throughput: {regexp: 'images/s: *(.*?) ', skip: 1, reduction_type: mean}\n"
        "  derived:\n    total: {expr: '{throughput} * {batch}'}\n  output: [[img/s, throughput]]\n",
        "b: {cmd: 'x ${HOME} \"y z\"', env: {A: '1'}, timeout: 5, location: here, allow_wandb: true}\n"
        "b_conv: {cmd: z, generated: true}\n",
        "c_options: &c {cmd: 'x {p} {q}'}\nc: {<<: *c, parameters: [[p, q], [1, 2], [3, 4]]}\n",
        "d: {cmd: 'python3 train.py {{x}} {r}', parameters: {r: [1, 2, 3], s: '4,5'}}\n"};
}

// clang-format off
std::vector<std::string> words() {
    return {
        "&a ", "*a", "<<: ", "<<: *a\n", "{", "}", "[", "]", ": ", "\n  ", "- ", ", ", "'", "\"", "${",
        "1,2,3,4,5,6,7,8,9,", "parameters: ", "cmd: ", "(", ")", "(?:", "*", "+", "{2,9}", "data: ", "regexp: ",
        "\\", "|", "[^", "~", "-1", "1e999", "mpirun --np 4 ", "\t"};
}
// clang-format on

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    static const fuzz::TextFile file("benchmarks.yml");
    std::ostringstream output;
    benchmark::Request request;
    request.spec_files = {file.with(data, size)};
    benchmark::Host host;
    host.machine.environment = {{"HOME", "/home/somebody"}};
    host.machine.program = "/usr/bin/cnntrain";
    host.output = &output;
    host.notes = &output;
    // usage: nothing to run; unsupported: a notebook.
    for (const auto make : {benchmark::list_text, benchmark::planned_commands})
        fuzz::accepted([&] { make(request, host); }, {ErrorKind::data, ErrorKind::usage, ErrorKind::unsupported});
    return 0;
}
