// `cnntrain profile`: measures steps of a line without a run around them.
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/profile/session.h"
#include "cnntrain/train/runs.h"
#include "train/runs/line_steps.h"
#include "train/runs/profiling.h"
#include "train/runs/ranks.h"

namespace cnntrain::train {
namespace {

constexpr int kLongest = 10;

/// Makes the folder. Throws Error(usage) or Error(storage) unless the files of the profile can be written there.
void prepare_folder(const std::string& folder, std::size_t ranks, FileSystem& files) {
    if (folder.empty()) return;
    const FileKind kind = files.kind(folder);
    if (kind != FileKind::absent && kind != FileKind::directory)
        throw Error(ErrorKind::usage, "--profile-dir " + folder + ": it is not a folder; name another one");
    std::vector<Output> outputs;
    for (const std::string& path : profile::profile_files(folder, ranks))
        outputs.push_back({{"--profile-dir", path}, false, "", profile::is_profile_file});
    check_outputs(files, outputs);
    files.make_directories(folder);
    files.create(outputs.front().path);  // not committed
}

}  // namespace

int run_profile(const TaskRow& task, const config::ParseResult& arguments, const ProfileRequest& request,
                const Host& host) {
    if (arguments.settings.run.backend != backend::BackendKind::cpu)
        throw Error(ErrorKind::unsupported, "profiles are of the CPU backend only; leave out --backend");
    agree_on_options(arguments, host);
    const Host here = recorded(host);
    const auto ranks = static_cast<std::size_t>(here.communicator->size());
    if (is_first(here)) prepare_folder(request.folder, ranks, *here.files);
    LineSteps steps(task, arguments, here, !arguments.settings.main.trains);
    const std::int64_t first = updates_before_profile(steps.stream(), steps.placement());
    for (std::int64_t i = 0; i < first; ++i)
        steps.step();
    profile::Session session = steps.session(*here.timeline, arguments);
    session.begin();
    for (std::int64_t i = 0; i < request.steps; ++i)
        steps.step();
    const profile::Report report = session.end(request.steps, steps.samples_per_step(), kLongest);
    if (!is_first(here)) return 0;
    *here.console << report.table;
    if (request.folder.empty()) return 0;
    profile::write_report(*here.files, request.folder, report);
    *here.console << "Saved " << joined(profile::profile_files(request.folder, ranks)) << "\n";
    return 0;
}

}  // namespace cnntrain::train
