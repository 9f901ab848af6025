// Facts about this machine, from the system.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/launch/mpi.h"
#include "cnntrain/launch/process.h"

namespace cnntrain::launch {
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
