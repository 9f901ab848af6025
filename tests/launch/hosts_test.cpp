// Names of hosts and networks.
#include "launch/poprun_line.h"

#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::launch {
namespace {

TEST(Hosts, ListsAreExpanded) {
    EXPECT_THAT(expand_hosts("a,b.c,10.1.2.3"), ElementsAre("a", "b.c", "10.1.2.3"));
    EXPECT_THAT(expand_hosts("node[0-2,4],x"), ElementsAre("node0", "node1", "node2", "node4", "x"));
    EXPECT_THAT(expand_hosts("n[08-10]-a"), ElementsAre("n08-a", "n09-a", "n10-a"));
    EXPECT_THAT(expand_hosts("a,,b"), ElementsAre("a", "", "b"));
}

TEST(Hosts, MalformedListsAreRefused) {
    for (const char* list : {"a[0-2", "a]0[", "a[2-1]", "a[x]", "a[]", "a[0-99999999]", "a[1,2,]"})
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { expand_hosts(list); }), HasSubstr(list));
}

TEST(Hosts, FilesHaveOneALine) {
    EXPECT_THAT(hosts_of_file("# ours\na slots=4\n\n  b # the second\n"), ElementsAre("a", "b"));
}

TEST(Hosts, WhatNobodyHasReplacedIsNoHost) {
    for (const char* name : {"a", "host-1.example.org", "10.1.2.3", "fe80::1", "node_1", "localhost"})
        EXPECT_EQ(why_no_host(name), "") << name;
    for (const char* name : {"xxx.xxx.xxx.1", "xxx.xxx.xx4", "xxx.xxx.xxx.xx1"})
        EXPECT_THAT(why_no_host(name), HasSubstr("placeholder")) << name;
    EXPECT_THAT(why_no_host("$HOSTS"), HasSubstr("not set"));
    EXPECT_THAT(why_no_host("${HOSTS}"), HasSubstr("not set"));
    EXPECT_THAT(why_no_host(""), HasSubstr("empty"));
    for (const char* name : {"10.1.2", "10.1.2.256", "1.2.3.4.5", "10"})
        EXPECT_THAT(why_no_host(name), HasSubstr("four numbers")) << name;
    for (const char* name : {"a:4", "<host1>", "a b"})
        EXPECT_NE(why_no_host(name), "") << name;
}

TEST(Networks, AreInterfacesOrSubnets) {
    for (const char* list : {"eth0", "10.1.0.0/16", "eth0,10.1.2.0/24", "fe80::/64"})
        EXPECT_EQ(why_no_networks(list), "") << list;
    EXPECT_THAT(why_no_networks("xxx.xxx.xxx.0/24"), HasSubstr("placeholder"));
    EXPECT_THAT(why_no_networks("$TCP_IF_INCLUDE"), HasSubstr("not set"));
    for (const char* list :
         {"10.1.2/24", "10.1.2.0/33", "10.1.2.0/x", "10.1.2.0/24,a/b", "999.1.2.0/24", "999.1.2.3", "10.1.2.0"}) {
        EXPECT_THAT(why_no_networks(list), HasSubstr("10.1.2.0/24")) << list;
        EXPECT_THAT(why_malformed_networks(list), HasSubstr("10.1.2.0/24")) << list;
    }
    for (const char* list : {"eth0", "xxx.xxx.xxx.0/24", "$TCP_IF_INCLUDE"})
        EXPECT_EQ(why_malformed_networks(list), "") << list;
}

}  // namespace
}  // namespace cnntrain::launch
