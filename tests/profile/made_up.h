// Made-up profiles.
#pragma once

#include <limits>
#include <string>

#include "cnntrain/run/profile.h"

namespace cnntrain::profile::testing {

inline Row made_up_row(const std::string& op, const std::string& phase, double seconds, double runs = 1) {
    Row row;
    row.name = "all/stage1/" + op;
    row.op = op;
    row.phase = phase;
    row.implementation = "made up";
    row.runs = runs;
    row.seconds = seconds;
    row.run_seconds = seconds / runs;
    return row;
}

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Peaks of a machine without caches.
inline Peaks made_up_peaks(double flops_per_second, double bytes_per_second) {
    return {flops_per_second, {{"memory", kUnlimited, {bytes_per_second, 0}}}};
}

/// A training that nothing limits but arithmetic: 100 ms a step, of which operations take 98.
inline Profile made_up() {
    Profile profile;
    profile.title = "training, resnet 50";
    profile.unit = "images";
    profile.type = "bf16";
    profile.steps = 10;
    profile.samples = profile.micro_batch = 32;
    profile.image_megapixels = 0.05;
    profile.threads = profile.cores = 2;
    profile.processors = 4;
    profile.step_seconds = 0.1;
    profile.peaks = made_up_peaks(1e12, 2e10);
    profile.rows = {made_up_row("conv2d", "forward", 0.03, 50), made_up_row("conv2d_input_grad", "backward", 0.06, 50),
                    made_up_row("update", "update", 0.008, 4)};
    profile.rows[0].gflop = 20;
    profile.rows[0].megabytes = 40;
    profile.rows[1].gflop = 40;
    profile.rows[1].megabytes = 80;
    profile.rows[2].megabytes = 150;
    profile.input = {.threads = 4, .seconds = 0.02, .stages = {.decode = 0.02}, .samples = 32, .megapixels = 0.2};
    profile.memory = {{"weights", 100'000'000}, {"activations and gradients", 900'000'000}};
    profile.resident_bytes = 1'200'000'000;
    return profile;
}

/// Operations take the factor of their time.
inline void scale_work(Profile& profile, double factor) {
    for (Row& row : profile.rows) {
        row.seconds *= factor;
        row.run_seconds *= factor;
    }
}

/// The step waits 60 % of its time for input.
inline Profile waiting_for_input() {
    Profile profile = made_up();
    scale_work(profile, 0.4);
    profile.waits.input = 0.06;
    profile.input.seconds = 0.39;
    profile.input.stages = {.read = 0.02, .decode = 0.17, .resize = 0.1, .augment = 0.1};
    return profile;
}

}  // namespace cnntrain::profile::testing
