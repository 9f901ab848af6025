// Converts a poprun request to instances on hosts and to the mpirun command line that starts them.
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "cnntrain/base/error.h"
#include "cnntrain/base/numbers.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/options/line.h"
#include "launch/poprun_line.h"
#include "launch/process.h"

namespace cnntrain::launch {
namespace {

using Words = std::vector<std::string>;

constexpr int kUsage = 2;
constexpr int kUnsupported = 4;
constexpr int kNoProgram = 127;

void check_numbers(const PoprunRequest& request) {
    const int instances = request.instances;
    if (request.replicas % instances != 0) {
        refuse_line("--num-replicas " + std::to_string(request.replicas) + " cannot be divided among --num-instances " +
                    std::to_string(instances) + "; possible are --num-replicas " +
                    joined(multiples_near(instances, request.replicas), " or ") + ", or --num-instances " +
                    joined(divisors_near(request.replicas, instances), " or "));
    }
    if (request.ilds && instances % *request.ilds != 0) {
        refuse_line("--num-ilds " + std::to_string(*request.ilds) + " does not divide --num-instances " +
                    std::to_string(instances) + "; possible are " +
                    joined(divisors_near(instances, *request.ilds), " or "));
    }
    if (request.only_output_from && *request.only_output_from >= instances) {
        refuse_line("--only-output-from-instance " + std::to_string(*request.only_output_from) +
                    ": instances are numbered from 0 to " + std::to_string(instances - 1));
    }
}

/// The values of --mca options that choose networks.
Words network_choices(Words words) {
    Words values;
    for (const std::string& dropped : drop_network_choices(words))
        values.push_back(dropped.substr(dropped.find(' ') + 1));
    return values;
}

/// Checks all hosts and networks in the launcher's options for names that cannot be valid.
void check_places(const PoprunRequest& request, bool here) {
    Words mistakes;
    const auto check = [&](const std::string& option, const std::string& text, const std::string& why) {
        if (!why.empty()) mistakes.push_back("\n  " + option + ": '" + text + "': " + why);
    };
    for (const std::string& host : request.hosts)
        check("--host", host, why_no_host(host));
    if (!request.vipu_server_host.empty())
        check("--vipu-server-host", request.vipu_server_host, why_no_host(request.vipu_server_host));
    const auto why_networks_are_wrong = here ? why_malformed_networks : why_no_networks;
    if (!request.host_subnet.empty())
        check("--host-subnet", request.host_subnet, why_networks_are_wrong(request.host_subnet));
    for (const Words* words : {&request.global_args, &request.local_args}) {
        for (const std::string& networks : network_choices(*words))
            check("--mca", networks, why_networks_are_wrong(networks));
    }
    if (!mistakes.empty()) refuse_line("names of hosts and networks that cannot be right:" + joined(mistakes, ""));
}

class Planner {
public:
    Planner(const PoprunRequest& request, const Machine& machine) : request_(request), machine_(machine) {}

    Plan plan() {
        check_numbers(request_);
        plan_.notices = request_.notices;
        if (!request_.without_effect.empty())
            plan_.notices.push_back("without effect on CPUs: " + joined(request_.without_effect));
        plan_.open_mpi = machine_.open_mpi;
        plan_.replicas = request_.replicas;
        plan_.ilds = request_.ilds.value_or(1);
        plan_.environment = machine_.environment;
        plan_.folder = machine_.folder;
        place();
        plan_words();
        plan_program();
        plan_variables();
        for (int i = 0; i < request_.instances; ++i)
            add_instance(i);
        fit_machine();
        return std::move(plan_);
    }

private:
    void obstruct(int exit_code, std::string message, bool is_of_cores = false) {
        plan_.obstacles.push_back({exit_code, std::move(message), is_of_cores});
    }

    void place() {
        const bool named = !request_.hosts.empty();
        Words unknown;
        for (const std::string& host : request_.hosts) {
            if (!why_no_host(host).empty()) {
                plan_.here = false;
                continue;
            }
            const HostPlace place = machine_.look_up(host);
            plan_.here = plan_.here && place == HostPlace::here;
            if (place == HostPlace::unknown) unknown.push_back(host);
        }
        check_places(request_, plan_.here);
        if (!unknown.empty()) obstruct(kUsage, "no such host: " + joined(unknown));
        if (plan_.here) {
            if (named) plan_.notices.push_back("all hosts are this one: instances run here, and --host is left out");
            plan_.hosts = {{machine_.name, request_.instances}};
            return;
        }
        const auto count = static_cast<int>(request_.hosts.size());
        if (request_.instances % count != 0) {
            refuse_line("--num-instances " + std::to_string(request_.instances) + " cannot be divided among " +
                        counted(count, "host") + "; possible are " +
                        joined(multiples_near(count, request_.instances), " or "));
        }
        for (const std::string& host : request_.hosts)
            add_host(host, request_.instances / count);
    }

    /// A repeated host gets more instances.
    void add_host(const std::string& name, int instances) {
        auto found = std::ranges::find(plan_.hosts, name, &PlannedHost::name);
        if (found == plan_.hosts.end()) found = plan_.hosts.insert(found, {name, 0});
        found->instances += instances;
    }

    void plan_words() {
        plan_.global_args = request_.global_args;
        plan_.local_args = request_.local_args;
        const auto binds = [](const std::string& word) { return word == "--bind-to" || word == "-bind-to"; };
        plan_.binds = std::ranges::any_of(plan_.global_args, binds) || std::ranges::any_of(plan_.local_args, binds);
        if (plan_.here) {
            Words dropped = drop_network_choices(plan_.global_args);
            for (const std::string& more : drop_network_choices(plan_.local_args))
                dropped.push_back(more);
            if (!dropped.empty())
                plan_.notices.push_back("on one host networks are not chosen; left out: " + joined(dropped));
        } else if (!request_.host_subnet.empty()) {
            for (const char* option : {"oob_tcp_if_include", "btl_tcp_if_include"})
                plan_.global_args.insert(plan_.global_args.end(), {"--mca", option, request_.host_subnet});
        }
        const Words unset = drop_unset_exports(plan_.local_args, machine_.environment);
        if (!unset.empty()) plan_.remarks.push_back("not set, so not exported: " + joined(unset));
        for (const char* name : {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH"}) {
            const bool given = std::ranges::find(plan_.local_args, name) != plan_.local_args.end();
            if (!given && machine_.environment.contains(name))
                plan_.local_args.insert(plan_.local_args.end(), {"-x", name});
        }
    }

    void plan_program() {
        plan_.starter = machine_.program;
        plan_.program = with_own_commands(request_.program, machine_.program);
        plan_.only_describes = only_describes(plan_.program, machine_.program);
        if (plan_.only_describes && request_.instances > 1) {
            plan_.notices.push_back("the program only says what it would do: it runs once, here, as instance 0 of " +
                                    std::to_string(request_.instances));
        }
        if (find_program(plan_.program.front(), machine_.environment).empty())
            obstruct(kNoProgram, plan_.program.front() + ": there is no such program");
        if (std::ranges::find(plan_.program, ":") != plan_.program.end())
            refuse_line("the program's argument ':' cannot be passed on: mpirun takes it for the end of a part");
    }

    void add_instance(int index) {
        Instance instance;
        int before = 0;  // number of instances on earlier hosts
        while (index - before >= plan_.hosts[instance.host].instances)
            before += plan_.hosts[instance.host++].instances;
        instance.local_index = index - before;
        instance.replicas = request_.replicas / request_.instances;
        instance.first_replica = index * instance.replicas;
        plan_.instances.push_back(instance);
    }

    void plan_variables() {
        const auto set = [&](const char* name, int value) {
            plan_.variables.emplace_back(name, std::to_string(value));
        };
        set("POPDIST_NUM_TOTAL_REPLICAS", request_.replicas);
        set(kLocalReplicas, request_.replicas / request_.instances);
        set("POPDIST_NUM_IPUS_PER_REPLICA", request_.ipus_per_replica);
        set("POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", 1);
        if (!request_.executable_cache_path.empty())
            plan_.variables.emplace_back("POPDIST_EXECUTABLE_CACHE_PATH", request_.executable_cache_path);
        plan_.variables.insert(plan_.variables.end(), request_.exports.begin(), request_.exports.end());
        if (request_.placement == Placement::disabled) plan_.variables.emplace_back(kPlacementVariable, "disabled");
    }

    /// Checks the request against this machine's limits and adds the options that mpirun needs here.
    void fit_machine() {
        if (!plan_.open_mpi) {
            if (request_.instances > 1 || !plan_.here) {
                obstruct(kUnsupported,
                         "Open MPI's mpirun is not there: install it (Debian: openmpi-bin), or run one instance");
            } else {
                plan_.notices.emplace_back("Open MPI's mpirun is not there: the one instance is started without it");
            }
            return;
        }
        const RootLaunch root = root_launch(machine_, request_.allow_run_as_root);
        plan_.adds_root_option = root == RootLaunch::add_option;
        if (root == RootLaunch::refused) {
            obstruct(kUsage,
                     "root does not launch unless it is told to: --allow-run-as-root yes, or "
                     "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
        }
        if (!plan_.here || request_.instances <= machine_.cores) return;
        plan_.oversubscribes = true;
        const std::string crowd = counted(request_.instances, "instance") + " on " + counted(machine_.cores, "core");
        if (request_.instances > kMostRanksPerCore * machine_.cores) {
            obstruct(kUsage,
                     crowd + ": at most " + std::to_string(kMostRanksPerCore * machine_.cores) + " can run here",
                     /*is_of_cores=*/true);
        } else {
            plan_.notices.push_back(crowd + ": they will take turns (--oversubscribe)");
        }
    }

    const PoprunRequest& request_;
    const Machine& machine_;
    Plan plan_;
};

}  // namespace

Plan plan_launch(const PoprunRequest& request, const Machine& machine) {
    return Planner(request, machine).plan();
}

std::vector<std::string> mpirun_words(const Plan& plan) {
    CNNTRAIN_CHECK(plan.open_mpi.has_value(), "a plan with mpirun");
    Words words = {"mpirun", "--tag-output"};
    const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
    if (!plan.binds) add({"--bind-to", "none"});
    if (plan.adds_root_option) add({"--allow-run-as-root"});
    if (plan.oversubscribes) add({kOversubscribe});
    add(plan.global_args);
    add({"-np", std::to_string(plan.instances.size())});
    if (!plan.here) {
        Words slots;
        for (const PlannedHost& host : plan.hosts)
            slots.push_back(host.name + ":" + std::to_string(host.instances));
        add({"--host", joined(slots, ",")});
    }
    for (const auto& [name, value] : plan.variables)
        add({"-x", name + "=" + value});
    add(plan.local_args);
    add({plan.starter, std::string(kInstanceWord)});
    add(plan.program);
    return words;
}

// Draws the box that shows which replicas belong to which host, ILD and instance.

namespace {

/// A cell of a row; its width is proportional to the number of its replicas.
struct Cell {
    std::string text;
    int replicas = 1;
};

struct Row {
    std::string title;
    std::vector<Cell> cells;
};

std::vector<Row> rows_of(const Plan& plan) {
    std::vector<Row> rows = {{"hosts", {}}, {"ILDs", {}}, {"instances", {}}, {"replicas", {}}};
    const int per_instance = plan.replicas / static_cast<int>(plan.instances.size());
    for (const PlannedHost& host : plan.hosts)
        rows[0].cells.push_back({host.name, host.instances * per_instance});
    for (int i = 0; i < plan.ilds; ++i)
        rows[1].cells.push_back({std::to_string(i), plan.replicas / plan.ilds});
    for (std::size_t i = 0; i < plan.instances.size(); ++i)
        rows[2].cells.push_back({std::to_string(i), plan.instances[i].replicas});
    for (int i = 0; i < plan.replicas; ++i)
        rows[3].cells.push_back({std::to_string(i), 1});
    return rows;
}

std::string centred(const std::string& text, std::size_t width) {
    const std::size_t blanks = width - std::min(width, text.size());
    return std::string(blanks / 2, ' ') + text + std::string(blanks - blanks / 2, ' ');
}

/// Width of one replica's cell without the bar after it; every text gets a blank on both sides.
std::size_t replica_width(const std::vector<Row>& rows) {
    std::size_t width = 0;
    for (const Row& row : rows) {
        for (const Cell& cell : row.cells) {
            const auto replicas = static_cast<std::size_t>(cell.replicas);
            const std::size_t needed = cell.text.size() + 2 - std::min(cell.text.size() + 2, replicas - 1);
            width = std::max(width, (needed + replicas - 1) / replicas);
        }
    }
    return width;
}

}  // namespace

std::string topology_text(const Plan& plan) {
    constexpr std::size_t kTitle = 11;
    const std::vector<Row> rows = rows_of(plan);
    const std::size_t width = replica_width(rows);
    const std::size_t inner = static_cast<std::size_t>(plan.replicas) * (width + 1) - 1;
    const std::string rule(kTitle + inner + 3, '=');
    const std::string dashes = "|" + std::string(kTitle, '-') + "|" + std::string(inner, '-') + "|\n";
    std::string text = rule + "\n" + centred("poprun topology", rule.size());
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n" + rule + "\n";
    for (const Row& row : rows) {
        if (&row != &rows.front()) text += dashes;
        std::string title = " " + row.title;
        title.resize(kTitle, ' ');
        text += "|" + title + "|";
        for (const Cell& cell : row.cells)
            text += centred(cell.text, static_cast<std::size_t>(cell.replicas) * (width + 1) - 1) + "|";
        text += "\n";
    }
    return text + rule + "\n";
}

// Turns a rank of mpirun into an instance: sets the variables that follow from the rank, and becomes the program. So
// one part of mpirun's line serves all ranks: Open MPI 5.0.7 crashes on lines of several parts.

namespace {

int number_in(const Environment& environment, const std::string& variable, int least) {
    constexpr int kMost = 1'000'000;
    const auto found = environment.find(variable);
    if (found == environment.end()) {
        refuse_line(std::string(kInstanceWord) + " belongs into lines of mpirun that poprun writes: " + variable +
                    " is not set");
    }
    return static_cast<int>(options::whole_number(variable, found->second, least, kMost));
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

// Facts about this machine, from the system.

namespace {

/// "" for addresses other than IP addresses.
std::string address_text(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address == nullptr) return "";
    const void* bytes = nullptr;
    if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    if (address->sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (bytes == nullptr || inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr) return "";
    return text.data();
}

std::set<std::string> own_addresses() {
    std::set<std::string> addresses;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return addresses;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
        addresses.insert(address_text(entry->ifa_addr));
    freeifaddrs(list);
    return addresses;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

HostPlace look_up(const std::string& host, const std::string& own_name, const std::set<std::string>& own) {
    if (host == "localhost" || host == own_name || host == own_name.substr(0, own_name.find('.')))
        return HostPlace::here;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return HostPlace::unknown;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
        const std::string address = address_text(entry->ai_addr);
        if (address.starts_with("127.") || own.contains(address)) return HostPlace::here;
    }
    return HostPlace::elsewhere;
}

bool in_container(const Environment& environment) {
    std::error_code ignored;
    for (const char* file : {"/.dockerenv", "/run/.containerenv"}) {
        if (std::filesystem::exists(file, ignored)) return true;
    }
    if (environment.contains("KUBERNETES_SERVICE_HOST") || environment.contains("container")) return true;
    std::ostringstream groups;
    groups << std::ifstream("/proc/1/cgroup").rdbuf();
    for (const char* word : {"docker", "kubepods", "containerd", "libpod", "lxc"}) {
        if (groups.str().find(word) != std::string::npos) return true;
    }
    return false;
}

std::optional<OpenMpi> installed_open_mpi(const Environment& environment) {
    constexpr double kMostSeconds = 20;
    ProcessRequest request;
    request.words = {"mpirun", "--version"};
    request.environment = environment;
    request.folder = "/";
    request.timeout_seconds = kMostSeconds;
    if (find_program("mpirun", environment).empty()) return std::nullopt;
    return open_mpi_version(run_process(request).out);
}

}  // namespace

Machine this_machine(Environment environment, const std::string& program) {
    Machine machine;
    machine.program = program;
    std::error_code ignored;
    machine.folder = std::filesystem::current_path(ignored).string();
    machine.name = host_name();
    machine.cores = available_cores();
    machine.is_root = geteuid() == 0;
    machine.in_container = in_container(environment);
    machine.open_mpi = installed_open_mpi(environment);
    machine.look_up = [name = machine.name, own = own_addresses()](const std::string& host) {
        return look_up(host, name, own);
    };
    machine.environment = std::move(environment);
    return machine;
}

}  // namespace cnntrain::launch
