#include "launch/hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>

#include "cnntrain/base/error.h"

namespace cnntrain::launch {
namespace {

constexpr std::size_t kMostHosts = 65'536;

[[noreturn]] void refuse_list(std::string_view list, const std::string& why) {
    throw Error(ErrorKind::usage, "poprun: the hosts '" + std::string(list) + "': " + why);
}

/// Splits at commas outside brackets.
std::vector<std::string_view> split_hosts(std::string_view list) {
    std::vector<std::string_view> items;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
        const bool end = i == list.size();
        if (!end && list[i] == '[') ++depth;
        if (!end && list[i] == ']') --depth;
        if (!end && (list[i] != ',' || depth > 0)) continue;
        items.push_back(list.substr(begin, i - begin));
        begin = i + 1;
    }
    return items;
}

std::vector<std::string_view> split_at_commas(std::string_view list) {
    std::vector<std::string_view> items;
    for (;;) {
        const std::size_t comma = list.find(',');
        items.push_back(list.substr(0, comma));
        if (comma == std::string_view::npos) return items;
        list.remove_prefix(comma + 1);
    }
}

std::optional<unsigned> whole_number(std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// The numbers of "0-2", or of "4", with as many digits as the first one has.
std::vector<std::string> numbers_of(std::string_view range, std::string_view list) {
    const std::size_t dash = range.find('-');
    const std::string_view first_text = range.substr(0, dash);
    const auto first = whole_number(first_text);
    const auto last = dash == std::string_view::npos ? first : whole_number(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostHosts)
        refuse_list(list, "expected numbers like [0-2,4] in the brackets, got '" + std::string(range) + "'");
    std::vector<std::string> numbers;
    for (unsigned i = *first; i <= *last; ++i) {
        std::string text = std::to_string(i);
        if (text.size() < first_text.size()) text.insert(0, first_text.size() - text.size(), '0');
        numbers.push_back(text);
    }
    return numbers;
}

bool is_digits_and_dots(const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

bool is_address(int family, const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    return inet_pton(family, text.c_str(), address.data()) == 1;
}

/// Describes mistakes that names of hosts and networks may have.
std::string why_not_replaced(const std::string& name) {
    if (name.empty()) return "an empty name";
    if (name.find('$') != std::string::npos) return "a variable that is not set, or that quotes protect from the shell";
    if (name.find("xxx") != std::string::npos) return "a placeholder, to be replaced";
    return "";
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view list) {
    std::vector<std::string> hosts;
    for (const std::string_view item : split_hosts(list)) {
        const std::size_t open = item.find('[');
        const std::size_t close = item.find(']');
        if (open == std::string_view::npos && close == std::string_view::npos) {
            hosts.emplace_back(item);
            continue;
        }
        if (open == std::string_view::npos || close == std::string_view::npos || close < open)
            refuse_list(list, "a bracket is never closed or opened");
        for (const std::string_view range : split_at_commas(item.substr(open + 1, close - open - 1))) {
            for (const std::string& number : numbers_of(range, list))
                hosts.push_back(std::string(item.substr(0, open)) + number + std::string(item.substr(close + 1)));
        }
        if (hosts.size() > kMostHosts) refuse_list(list, "more than " + std::to_string(kMostHosts));
    }
    return hosts;
}

std::vector<std::string> hosts_of_file(std::string_view text) {
    std::vector<std::string> hosts;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string host;
        if (words >> host) hosts.push_back(host);
    }
    return hosts;
}

std::string why_no_host(const std::string& name) {
    std::string unreplaced = why_not_replaced(name);
    if (!unreplaced.empty()) return unreplaced;
    if (is_digits_and_dots(name)) return is_address(AF_INET, name) ? "" : "an address has four numbers from 0 to 255";
    if (name.find(':') != std::string::npos) return is_address(AF_INET6, name) ? "" : "no address of IPv6";
    const bool plain = std::ranges::all_of(name, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    });
    return plain ? "" : "host names have letters, digits, dots and hyphens only";
}

std::string why_malformed_networks(const std::string& list) {
    for (const std::string_view item : split_at_commas(list)) {
        const std::string name(item);
        if (!why_not_replaced(name).empty()) continue;
        const std::size_t slash = name.find('/');
        const bool is_interface = slash == std::string::npos && !is_digits_and_dots(name);
        if (is_interface) continue;
        constexpr unsigned kBits4 = 32;
        constexpr unsigned kBits6 = 128;
        const std::string address = name.substr(0, slash);
        const auto bits = slash == std::string::npos ? std::nullopt : whole_number(name.substr(slash + 1));
        const bool good = bits && ((is_address(AF_INET, address) && *bits <= kBits4) ||
                                   (is_address(AF_INET6, address) && *bits <= kBits6));
        if (!good) return "a subnet is written like 10.1.2.0/24";
    }
    return "";
}

std::string why_no_networks(const std::string& list) {
    for (const std::string_view item : split_at_commas(list)) {
        std::string unreplaced = why_not_replaced(std::string(item));
        if (!unreplaced.empty()) return unreplaced;
    }
    return why_malformed_networks(list);
}

}  // namespace cnntrain::launch
