#include "train/runs/averaging.h"

#include <cmath>
#include <cstdint>

#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/average.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/config/parse.h"
#include "train/runs/run_files.h"

namespace cnntrain::train {
namespace {

struct AveragedPoint {
    double epoch = 0;  // rounded to one decimal
    std::string path;
};

std::vector<AveragedPoint> planned_checkpoints(const FileSystem& files, const std::string& folder,
                                               const schedule::RunPlan& plan) {
    std::vector<AveragedPoint> points;
    for (const schedule::HostStep& step : plan.checkpoint_steps()) {
        const std::string path = checkpoint::checkpoint_path(folder, step.end());
        if (exists(files, path)) points.push_back({std::nearbyint(step.epoch_after * 10) / 10, path});
    }
    return points;
}

}  // namespace

std::vector<AveragedCheckpoint> average_checkpoints(FileSystem& files, const std::string& folder,
                                                    const schedule::RunPlan& plan, const CheckpointSettings& settings) {
    std::vector<AveragedCheckpoint> averages;
    if (settings.mean_epochs.empty() && settings.exponential_decays.empty()) return averages;
    const std::vector<AveragedPoint> points = planned_checkpoints(files, folder, plan);
    if (points.empty())
        throw Error(ErrorKind::not_found, "weight averaging: none of the run's checkpoints is left in " + folder);
    files.make_directories(folder + "/ckpt");
    const auto write = [&](const std::string& name, const std::vector<std::string>& paths,
                           checkpoint::AverageSettings how) {
        how.edited = checkpoint::edited_if(settings.trust_edited);
        averages.push_back({name, checkpoint::average_path(folder, name)});
        const std::string& target = averages.back().path;
        if (checkpoint::is_average_of(files, paths, how.mode, target)) return;
        drop_validation(files, folder, name);  // first, so that a killed process redoes both
        checkpoint::average(files, paths, how, target);
    };
    for (const std::int64_t epochs : settings.mean_epochs) {
        std::vector<std::string> paths;
        for (const AveragedPoint& point : points) {
            // Allows for rounding: tenths are not exact in binary.
            const double before_end = points.back().epoch - point.epoch;
            if (before_end <= static_cast<double>(epochs) + 1e-6) paths.push_back(point.path);
        }
        write("weight_avg_N_" + std::to_string(epochs), paths, {checkpoint::Averaging::mean});
    }
    for (const double decay : settings.exponential_decays) {
        std::vector<std::string> paths;
        paths.reserve(points.size());
        for (const AveragedPoint& point : points)
            paths.push_back(point.path);
        write("weight_avg_exp_" + config::to_string(config::Value{decay}), paths,
              {checkpoint::Averaging::exponential, decay});
    }
    return averages;
}

}  // namespace cnntrain::train
