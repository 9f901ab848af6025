#include "train/runs/first_weights.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/patterns.h"
#include "cnntrain/checkpoint/class_names.h"
#include "train/runs/ranks.h"
#include "train/runs/weights.h"

namespace cnntrain::train {
namespace {

std::vector<std::string> parameter_names(const graph::Graph& graph) {
    std::vector<std::string> names;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter))
        names.push_back(graph.value(id).name);
    return names;
}

/// The first names of a list.
std::string first_of(std::vector<std::string> names) {
    constexpr std::size_t kShown = 10;
    const std::string all = std::to_string(names.size());
    if (names.size() <= kShown) return listed(names);
    names.resize(kShown);
    return joined(names) + ", ... (" + all + ")";
}

void tell_of_differences(const FirstWeightsRun& run, const CompletedWeights& first, const std::string& path) {
    std::vector<std::string> missing;
    std::ranges::set_difference(first.drawn, first.replaced, std::back_inserter(missing));
    if (!missing.empty()) run.observers.line("Drawn anew, because " + path + " does not have them: " + joined(missing));
    if (!first.replaced.empty())
        run.observers.line("Drawn anew, because " + path + " has them for other classes: " + joined(first.replaced));
    const std::vector<std::string> theirs = checkpoint::class_names(first.checkpoint.metadata);
    const std::vector<std::string> classes = run.task.class_names();
    if (!theirs.empty() && !classes.empty() && theirs != classes)
        run.observers.line("Classes of " + path + ": " + first_of(theirs) + "; of the data: " + first_of(classes));
    if (!first.extended.empty()) {
        run.observers.line("The last layer keeps what " + path + " has of " +
                           counted(std::ssize(classes) - std::ssize(first.new_classes), "class", "es") +
                           "; drawn anew: " + (first.new_classes.empty() ? "none" : first_of(first.new_classes)));
    }
    if (first.reordered)
        run.observers.line("The last layer of " + path + " has the same classes in another order, and is reordered.");
    if (!first.left_out.empty()) {
        run.observers.line("Not read from " + path +
                           ", because the network does not have them: " + joined(first.left_out));
    }
    const Patterns frozen(run.settings.optimiser.freeze, "--freeze");
    std::vector<std::string> untrained;
    std::ranges::copy_if(first.drawn, std::back_inserter(untrained),
                         [&](const std::string& name) { return frozen.match(name); });
    if (!untrained.empty())
        log::warning("--freeze keeps variables as they were drawn, at random: " + joined(untrained));
}

/// For --init-strict.
void refuse_differences(const CompletedWeights& first, const std::string& path) {
    if (first.drawn.empty() && first.left_out.empty() && first.extended.empty() && !first.reordered) return;
    std::string what;
    if (!first.drawn.empty()) what += "; they lack, or have for other classes, " + joined(first.drawn);
    if (!first.extended.empty()) what += "; they have other classes in " + joined(first.extended);
    if (first.reordered) what += "; they have the classes in another order";
    if (!first.left_out.empty()) what += "; the network does not have " + joined(first.left_out);
    throw Error(ErrorKind::usage, "--init-strict: the weights in " + path + " do not fit the network" + what +
                                      "; without --init-strict, training begins with what fits");
}

}  // namespace

void load_first_weights(backend::Executable& executable, const graph::Graph& graph, const FirstWeightsRun& run) {
    initialise(executable, graph, run.seed);
    initialise_masters(executable, graph, run.seed);
    run.observers.weights_initialised(parameter_names(graph));
    if (!run.settings.training.init_path || !is_first(run.host)) return;  // other ranks receive them from rank 0
    const std::string& path = *run.settings.training.init_path;
    const CompletedWeights first =
        completed(in_own_layout(first_checkpoint(*run.host.files, path, run.settings), graph, path), graph,
                  run.task.first_weights(), run.seed, path);
    if (run.settings.training.init_strict) refuse_differences(first, path);
    tell_of_differences(run, first, path);
    const checkpoint::Checkpoint& checkpoint = first.checkpoint;
    if (run.task.takes_over_optimiser() && holds_slots(graph, checkpoint)) {
        load_all(executable, graph, checkpoint, path);
        return;
    }
    load_model(executable, graph, checkpoint, path, run.settings.run);
    load_masters(executable, graph, checkpoint);
}

}  // namespace cnntrain::train
