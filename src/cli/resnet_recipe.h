// The programs of the large-batch ResNet-50 recipe for CPUs, another project's resnet_main.py and resnet_eval.py: what
// their lines mean as lines of `cnntrain train` and `cnntrain validation`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/comm/launcher.h"

namespace cnntrain::cli {

/// Where a line is run.
struct RecipeHost {
    int workers = 1;  // that share each batch: the replicas of all processes
    int cores = 1;    // that this process may use
    int rank = 0;     // of this process
};
RecipeHost recipe_host(const comm::Launched& launched);

/// A word like "--train_batch_size" and its value may have been joined by a no-break space, as word processors do: such
/// words are cut there, and no-break spaces at the ends of words are dropped.
std::vector<std::string> without_no_break_spaces(const std::vector<std::string>& words);

struct RecipeLine {
    bool wants_help = false;           // nothing else is filled in then
    std::vector<std::string> options;  // of our command; those that the user has given as they are come last
    std::vector<std::string> notices;
};

/// `files`: where the model_dir is. `called`: the program as it was typed, for errors. Error(usage): unknown flags, a
/// batch that the workers cannot share (with the nearest numbers of workers that can), a missing folder.
/// Error(unsupported): --use_tpu.
RecipeLine resnet_main_line(const std::string& called, const std::vector<std::string>& words, const RecipeHost& host,
                            const FileSystem& files);
RecipeLine resnet_eval_line(const std::string& called, const std::vector<std::string>& words, const RecipeHost& host,
                            const FileSystem& files);
std::string resnet_main_help(const std::string& called);
std::string resnet_eval_help(const std::string& called);

/// Of the weights' squares, which the loss of both programs includes.
inline constexpr double kRecipeWeightDecay = 5e-5;

/// The images that a worker has in one pass and the passes of a weight update: passes * images = share, with as many
/// images as `most` allows.
struct Passes {
    std::int64_t images = 1;
    std::int64_t count = 1;
};
Passes passes_of(std::int64_t share, std::int64_t most);

}  // namespace cnntrain::cli
