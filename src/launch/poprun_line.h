// Names of hosts and networks in poprun lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// "a,node[0-2,4]" gives a, node0, node1, node2, node4; numbers keep leading zeros. Throws Error(usage).
std::vector<std::string> expand_hosts(std::string_view list);

/// The first word of each line; "#" starts a comment.
std::vector<std::string> hosts_of_file(std::string_view text);

/// Why this text cannot be a host: a placeholder, a variable that was not replaced, a malformed address. "" if it can
/// be.
std::string why_no_host(const std::string& name);

/// The same check for the networks of options like btl_tcp_if_include: "eth0,10.1.0.0/16".
std::string why_no_networks(const std::string& list);
/// Accepts placeholders and variables: a launch on one host chooses no network, and documented lines have them.
std::string why_malformed_networks(const std::string& list);

[[noreturn]] void refuse_line(const std::string& message);

}  // namespace cnntrain::launch
