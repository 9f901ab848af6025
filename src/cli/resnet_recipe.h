// Translates command lines of resnet_main.py and resnet_eval.py, another project's programs for the large-batch
// ResNet-50 recipe on CPUs, into command lines of `cnntrain train` and `cnntrain validation`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/parallel/communicator.h"

namespace cnntrain::cli {

/// The machine on which a command line runs.
struct RecipeHost {
    int workers = 1;  // processes or replicas that share each batch
    int cores = 1;    // cores that this process may use
    int rank = 0;     // rank of this process
};
RecipeHost recipe_host(const comm::Launched& launched);

/// Splits words at a no-break space between a flag such as "--train_batch_size" and its value, which word processors
/// insert, and drops no-break spaces at either end of a word.
std::vector<std::string> without_no_break_spaces(const std::vector<std::string>& words);

struct RecipeLine {
    std::optional<options::HelpWish> help_wish = {};  // if set, no other member is filled in
    std::vector<std::string> options;  // options for our command; those that the user gave in our spelling come last
    std::vector<std::string> notices;
};

/// `files`: the file system that holds the model_dir. `called`: the program as typed, for errors. Throws Error(usage)
/// for unknown flags, for a batch that the workers cannot share evenly (naming the nearest numbers of workers that can)
/// and for a missing folder; Error(unsupported) for --use_tpu.
RecipeLine resnet_main_line(const std::string& called, const std::vector<std::string>& words, const RecipeHost& host,
                            const FileSystem& files);
RecipeLine resnet_eval_line(const std::string& called, const std::vector<std::string>& words, const RecipeHost& host,
                            const FileSystem& files);

/// Weight decay for the sum of squared weights that both programs add to the loss.
inline constexpr double kRecipeWeightDecay = 5e-5;

/// Splits a worker's share of a batch into `count` micro-batches of `images`: count * images = share, with the largest
/// `images` that does not exceed `most`.
struct MicroBatches {
    std::int64_t images = 1;
    std::int64_t count = 1;
};
MicroBatches micro_batches_of(std::int64_t share, std::int64_t most);

}  // namespace cnntrain::cli
