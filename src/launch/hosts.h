// Names of hosts and networks, as texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// "a,node[0-2,4]" as a, node0, node1, node2, node4; numbers keep their leading zeros. Error(usage).
std::vector<std::string> expand_hosts(std::string_view list);

/// The first word of every line; "#" begins a comment.
std::vector<std::string> hosts_of_file(std::string_view text);

/// Why this text can be no host: a placeholder, a variable that was not replaced, a malformed address. "" when it can.
std::string why_no_host(const std::string& name);

/// The same check for the networks of an option like btl_tcp_if_include: "eth0,10.1.0.0/16".
std::string why_no_networks(const std::string& list);

}  // namespace cnntrain::launch
