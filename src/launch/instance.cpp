// What a rank of mpirun does to become an instance: it sets the variables that follow from its rank, and becomes the
// program. So one part of mpirun's line serves all ranks: Open MPI 5.0.7 crashes on lines of several parts.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cnntrain/base/error.h"
#include "cnntrain/config/line.h"
#include "cnntrain/launch/poprun.h"
#include "launch/poprun_options.h"

namespace cnntrain::launch {
namespace {

int number_in(const Environment& environment, const std::string& variable, int least) {
    constexpr int kMost = 1'000'000;
    const auto found = environment.find(variable);
    if (found == environment.end()) {
        refuse_line(std::string(kInstanceWord) + " belongs into lines of mpirun that poprun writes: " + variable +
                    " is not set");
    }
    return static_cast<int>(config::whole_number(variable, found->second, least, kMost));
}

}  // namespace

Assignments own_variables(const Instance& instance) {
    return {{"POPDIST_REPLICA_INDEX_OFFSET", std::to_string(instance.first_replica)},
            {"POPDIST_LOCAL_INSTANCE_INDEX", std::to_string(instance.local_index)}};
}

Instance instance_of_rank(const Environment& environment) {
    Instance instance;
    instance.replicas = number_in(environment, kLocalReplicas, 1);
    instance.first_replica = number_in(environment, "OMPI_COMM_WORLD_RANK", 0) * instance.replicas;
    instance.local_index = number_in(environment, "OMPI_COMM_WORLD_LOCAL_RANK", 0);
    return instance;
}

int become_instance(std::vector<std::string> program, const Environment& environment) {
    if (program.empty()) refuse_line(std::string(kInstanceWord) + " expects a program");
    for (const auto& [name, value] : own_variables(instance_of_rank(environment)))
        setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (std::string& word : program)
        words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words.front(), words.data());
    return errno;
}

}  // namespace cnntrain::launch
