#include "comm/transport.h"

#include <algorithm>
#include <map>

namespace cnntrain::comm {

int Nodes::local_rank(int rank) const {
    const std::vector<int>& node = members[static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)])];
    return static_cast<int>(std::ranges::find(node, rank) - node.begin());
}

Nodes group_nodes(std::span<const std::uint64_t> keys, int ranks_per_node) {
    Nodes nodes;
    std::map<std::uint64_t, std::size_t> open;  // node that takes the next rank, by key
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
        const auto found = open.find(keys[rank]);
        const bool full = found != open.end() && ranks_per_node > 0 &&
                          nodes.members[found->second].size() == static_cast<std::size_t>(ranks_per_node);
        if (found == open.end() || full) {
            open[keys[rank]] = nodes.members.size();
            nodes.members.emplace_back();
        }
        const std::size_t node = open[keys[rank]];
        nodes.members[node].push_back(static_cast<int>(rank));
        nodes.node_of.push_back(static_cast<int>(node));
    }
    return nodes;
}

}  // namespace cnntrain::comm
