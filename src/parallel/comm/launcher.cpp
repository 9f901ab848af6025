#include "cnntrain/parallel/communicator.h"

#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::comm {
namespace {

[[noreturn]] void fail(const std::string& message) {
    throw Error(ErrorKind::usage, message +
                                      "; start the line again with mpirun, srun or cnntrain poprun, or unset these "
                                      "variables to run one process by itself");
}

/// Reads numbers from environment variables; errors name the variable.
class Numbers {
public:
    explicit Numbers(const Variables& environment) : environment_(&environment) {}

    bool has(const std::string& variable) const { return environment_->contains(variable); }
    std::optional<int> at_least(int least, const std::string& variable) const {
        const auto found = environment_->find(variable);
        if (found == environment_->end()) return std::nullopt;
        const auto value = as_number<int>(found->second);
        if (!value || *value < least) {
            fail("the environment says " + variable + "=" + found->second + ", expected a whole number of at least " +
                 std::to_string(least));
        }
        return value;
    }
    int required(int least, const std::string& variable, const std::string& because) const {
        const auto value = at_least(least, variable);
        if (!value) fail("the environment has " + because + " but not " + variable);
        return *value;
    }
    const std::string& text(const std::string& variable) const { return environment_->at(variable); }

private:
    const Variables* environment_;
};

void check_below(int index, const std::string& index_variable, int count, const std::string& count_variable) {
    if (index < count) return;
    fail("the environment says " + index_variable + "=" + std::to_string(index) + " and " + count_variable + "=" +
         std::to_string(count) + ", expected a number from 0 to " + std::to_string(count - 1));
}

struct LauncherVariables {
    Launcher launcher;
    const char* rank;
    const char* size;
    const char* local_rank;
    const char* local_size;
};

constexpr LauncherVariables kVariables[] = {
    {Launcher::open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {Launcher::pmi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {Launcher::slurm, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
};

/// The number of tasks of each node, from Slurm's list: "2(x3),1" gives 2, 2, 2, 1. Empty if the text is not such a
/// list.
std::vector<int> tasks_per_node(std::string_view list) {
    std::vector<int> tasks;
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), item.size() + 1));
        const std::size_t open = item.find("(x");
        const auto count = as_number<int>(item.substr(0, open));
        const bool repeated = open != std::string_view::npos;
        const auto times = repeated ? as_number<int>(item.substr(open + 2, item.size() - open - 3)) : 1;
        const bool good = count && times && *count > 0 && *times > 0 && *times < 1'000'000;
        if (!good || (repeated && item.back() != ')')) return {};
        tasks.insert(tasks.end(), static_cast<std::size_t>(*times), *count);
    }
    return tasks;
}

std::optional<int> slurm_local_size(const Numbers& numbers, const char* variable) {
    const auto node = numbers.at_least(0, "SLURM_NODEID");
    if (!node || !numbers.has(variable)) return std::nullopt;
    const std::vector<int> tasks = tasks_per_node(numbers.text(variable));
    if (static_cast<std::size_t>(*node) >= tasks.size()) {
        fail("the environment says SLURM_NODEID=" + std::to_string(*node) + " and " + variable + "=" +
             numbers.text(variable) + ", expected a list with a number of tasks for this node");
    }
    return tasks[static_cast<std::size_t>(*node)];
}

bool started_by(const LauncherVariables& variables, const Numbers& numbers) {
    if (variables.launcher == Launcher::slurm && !numbers.has("SLURM_STEP_ID")) return false;
    return numbers.has(variables.rank) || numbers.has(variables.size);
}

World read_world(const LauncherVariables& variables, const Numbers& numbers) {
    World world;
    world.launcher = variables.launcher;
    world.rank = numbers.required(0, variables.rank, variables.size);
    world.size = numbers.required(1, variables.size, variables.rank);
    check_below(world.rank, variables.rank, world.size, variables.size);
    world.local_rank = numbers.at_least(0, variables.local_rank);
    world.local_size = variables.launcher == Launcher::slurm ? slurm_local_size(numbers, variables.local_size)
                                                             : numbers.at_least(1, variables.local_size);
    if (!world.local_size) return world;
    check_below(*world.local_size - 1, std::string(variables.local_size) + " - 1", world.size, variables.size);
    if (world.local_rank) check_below(*world.local_rank, variables.local_rank, *world.local_size, variables.local_size);
    return world;
}

int quotient(int total, const std::string& total_variable, int part, const std::string& part_variable) {
    if (total % part == 0) return total / part;
    fail("the environment says " + total_variable + "=" + std::to_string(total) + " and " + part_variable + "=" +
         std::to_string(part) + ", expected the first to be a multiple of the second");
}

std::optional<PopDist> read_popdist(const Numbers& numbers) {
    constexpr const char* kTotal = "POPDIST_NUM_TOTAL_REPLICAS";
    constexpr const char* kLocal = "POPDIST_NUM_LOCAL_REPLICAS";
    constexpr const char* kOffset = "POPDIST_REPLICA_INDEX_OFFSET";
    constexpr const char* kUniform = "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE";
    const auto total = numbers.at_least(1, kTotal);
    if (!total) return std::nullopt;
    PopDist popdist;
    popdist.replicas = *total;
    popdist.local_replicas = numbers.required(1, kLocal, kTotal);
    popdist.ipus_per_replica = numbers.at_least(1, "POPDIST_NUM_IPUS_PER_REPLICA").value_or(1);
    if (popdist.replicas == popdist.local_replicas) return popdist;

    if (numbers.required(0, kUniform, kTotal) != 1) {
        fail("the environment says " + std::string(kUniform) + "=" + numbers.text(kUniform) +
             ": instances with different numbers of replicas are not supported, expected 1");
    }
    const int offset = numbers.required(0, kOffset, kTotal);
    popdist.instances = quotient(popdist.replicas, kTotal, popdist.local_replicas, kLocal);
    popdist.instance = quotient(offset, kOffset, popdist.local_replicas, kLocal);
    check_below(offset, kOffset, popdist.replicas, kTotal);
    popdist.local_instance = numbers.required(0, "POPDIST_LOCAL_INSTANCE_INDEX", kTotal);
    check_below(popdist.local_instance, "POPDIST_LOCAL_INSTANCE_INDEX", popdist.instances, "the number of instances");
    return popdist;
}

void check_instances(const PopDist& popdist, const std::optional<World>& world) {
    const std::string instance = "POPDIST_* variables of instance " + std::to_string(popdist.instance) + " of " +
                                 std::to_string(popdist.instances);
    if (!world) {
        if (popdist.instances > 1)
            fail("the environment has " + instance + " but no processes that can reach each other");
        return;
    }
    if (world->size != popdist.instances || world->rank != popdist.instance) {
        fail("the environment has " + instance + " but " + name(world->launcher) + " started rank " +
             std::to_string(world->rank) + " of " + std::to_string(world->size));
    }
    if (world->local_rank.value_or(popdist.local_instance) != popdist.local_instance) {
        fail("the environment says POPDIST_LOCAL_INSTANCE_INDEX=" + std::to_string(popdist.local_instance) + " but " +
             name(world->launcher) + " started local rank " + std::to_string(*world->local_rank));
    }
}

}  // namespace

const char* name(Launcher launcher) {
    constexpr const char* kNames[] = {"Open MPI", "a PMI launcher", "Slurm"};
    return entry_of(kNames, launcher);
}

Launched read_launched(const Variables& environment) {
    const Numbers numbers(environment);
    Launched launched;
    for (const LauncherVariables& variables : kVariables) {
        if (!started_by(variables, numbers)) continue;
        launched.world = read_world(variables, numbers);
        break;
    }
    launched.popdist = read_popdist(numbers);
    if (launched.popdist) check_instances(*launched.popdist, launched.world);
    return launched;
}

}  // namespace cnntrain::comm
