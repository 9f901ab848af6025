// `cnntrain dataset verify`: checks that a data set is complete and undamaged.
#include <algorithm>
#include <array>
#include <iostream>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/dataset_tools/verify.h"

namespace cnntrain::cli {
namespace {

void print_finding(const dataset_tools::Finding& finding) {
    std::cout << finding.file;
    if (finding.record >= 0) std::cout << ", record " << finding.record << " (at byte " << finding.offset << ")";
    std::cout << ": " << name(finding.fault) << ": " << finding.what << '\n';
}

void print_verified(std::string_view title, const std::string& text) {
    std::string line = "  " + std::string(title);
    line.resize(std::max<std::size_t>(line.size() + 1, 20), ' ');
    std::cout << line << text << '\n';
}

void print_result(const dataset_tools::VerifyResult& result, double seconds) {
    print_verified("files", std::to_string(result.files));
    print_verified("records", std::to_string(result.records));
    if (result.images_decoded > 0) {
        print_verified("images decoded", std::to_string(result.images_decoded) + " (" +
                                             decimal(static_cast<double>(result.images_decoded) / seconds) +
                                             " per second)");
    }
    print_verified("checked", size_text(result.bytes) + " in " + decimal(seconds, 2) + " s, " +
                                  decimal(static_cast<double>(result.bytes) / 1e9 / seconds, 2) + " GB/s");
    if (result.unchecked_bytes > 0) print_verified("not checked", std::to_string(result.unchecked_bytes) + " bytes");
    std::array<std::int64_t, dataset_tools::kFaults> counts{};
    for (const dataset_tools::Finding& finding : result.findings)
        ++counts[static_cast<std::size_t>(finding.fault)];
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) print_verified(name(static_cast<dataset_tools::Fault>(i)), std::to_string(counts[i]));
    }
    for (const std::string& note : result.notes)
        std::cout << "note: " << note << '\n';
}

}  // namespace

const CommandFlags& dataset_verify_flags() {
    static const CommandFlags table = {
        {{"PATH", "", "a folder of TFRecord or CIFAR files, or one file", "--data-dir"},
         {"--decode", "", "decode every image, too; a warning counts as an error", {}, true},
         {"--threads", "0", "files read in parallel; 0: one per core"}}};
    return table;
}

int dataset_verify(const std::string& called, const std::vector<std::string>& arguments) {
    const Flags flags(dataset_verify_flags(), called, arguments);
    if (flags.print_help_if_wanted()) return 0;
    dataset_tools::VerifySettings settings;
    settings.path = flags.text("PATH");
    settings.decode = flags.given("--decode");
    settings.threads = std::min(flags.threads(), available_processors());
    dataset_tools::VerifyResult result;
    double seconds = 0;
    {
        ProgressReport progress("MB");
        settings.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update_bytes(done, total); };
        result = dataset_tools::verify(settings);
        seconds = std::max(progress.elapsed_seconds(), 1e-6);
    }
    for (const dataset_tools::Finding& finding : result.findings)
        print_finding(finding);
    if (!result.findings.empty()) std::cout << '\n';
    std::cout << settings.path << ": " << (result.findings.empty() ? "nothing is wrong" : "NOT SOUND") << '\n';
    print_result(result, seconds);
    if (result.findings.empty()) return 0;
    const std::size_t count = result.findings.size();
    throw Error(ErrorKind::data, settings.path + ": " + std::to_string(count) +
                                     (count == 1 ? " finding" : " findings") +
                                     ", listed above; copy or make these files again");
}

}  // namespace cnntrain::cli
